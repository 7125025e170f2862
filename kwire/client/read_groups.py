"""Reads the groups of a live cluster: classic, consumer, share and streams groups, their members, offsets and lag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import messages
from ..cluster import ClusterState
from ..cluster.assignors.members import TopicPartition
from ..cluster.consumer_groups.captured_groups import CapturedGroups
from ..cluster.consumer_groups.live_answers import take_answer
from ..cluster.java.hash_order import string_hash
from ..codecs.message_codec import codec
from ..errors import CallError, EncodeError
from ..protocol.nested.topic_record_types import GROUPS
from .cluster_client import ClusterClient, group_by_topic, live_brokers

LATEST = -1  # the timestamp for which ListOffsets returns the end offset
AT_ONCE = 100  # groups in a request
# The type of a group in ListGroups (KIP-848) -> what describes groups of this type, and the field with their ids.
DESCRIPTIONS = {
    "classic": ("DescribeGroupsRequest", "groups"),
    "consumer": ("ConsumerGroupDescribeRequest", "groupIds"),
    "share": ("ShareGroupDescribeRequest", "groupIds"),
    "streams": ("StreamsGroupDescribeRequest", "groupIds"),
}


def ask_groups(cluster: ClusterClient, groups: CapturedGroups, group_id: str | None = None) -> list[str]:
    """Ask the brokers of a cluster for its groups.

    Args:
        cluster: the cluster.
        groups: receives the groups, and the state of the cluster.
        group_id: the only group to ask for; all by default.

    Returns:
        Sentences about what could not be read.

    Raises:
        CallError: no broker answers.
    """
    state = groups.cluster = cluster.state()
    groups.learn_brokers()
    for topic_id, name in state.topic_names.items():
        groups.learn_topic_id(topic_id, name)
    missing = list[str]()
    for node_id in sorted(live_brokers(state)):
        try:
            _ask_coordinator(cluster, groups, node_id, group_id)
        except CallError as error:
            missing.append(f"groups that broker {node_id} coordinates are missing: {error}")
    return [*missing, *_without_coordinator(state, group_id), *_ask_ends(cluster, groups, state)]


def _without_coordinator(state: ClusterState, group_id: str | None) -> Iterator[str]:
    """Yield which groups nobody coordinates, because their partition of the internal topic has no leader."""
    partitions = state.partitions(GROUPS)
    lost = [partition.index for partition in partitions if not partition.has_leader]
    if group_id is not None:
        # Kafka: GroupCoordinatorService.partitionFor; Utils.abs
        own = (string_hash(group_id) & 0x7FFFFFFF) % max(1, len(partitions))
        lost = [index for index in lost if index == own]
    if lost:
        names = ", ".join(f"{GROUPS}-{index}" for index in lost)
        yield f"groups without a coordinator are missing, for no broker leads {names}"


def _ask_coordinator(cluster: ClusterClient, groups: CapturedGroups, node_id: int, group_id: str | None) -> None:
    """Ask a broker for the groups that it coordinates."""
    listed = cluster.ask("ListGroupsRequest", {}, node_id).groups
    types = {row.group_id: row.group_type.lower() or "classic" for row in listed if group_id in (None, row.group_id)}
    for kind, (request, field) in DESCRIPTIONS.items():
        named = sorted(name for name, type_ in types.items() if type_ == kind)
        for start in range(0, len(named), AT_ONCE):
            take_answer(groups, cluster.ask(request, {field: named[start : start + AT_ONCE]}, node_id))
    for name, type_ in types.items():
        if type_ == "share":  # its offsets are no commits (KIP-932)
            body: dict[str, Any] = {"groups": [{"groupId": name, "topics": None}]}
            take_answer(groups, cluster.ask("DescribeShareGroupOffsetsRequest", body, node_id))
        else:
            # The first field is that of version 8 and later (KIP-709), the others are those of earlier versions.
            body = {"groups": [{"groupId": name, "topics": None}], "groupId": name, "topics": None}
            try:
                answer = cluster.ask("OffsetFetchRequest", body, node_id)
            except EncodeError:  # null does not stand for all topics yet (KIP-88)
                raise CallError(f"broker {node_id}", "it does not list offsets", "this needs Kafka 0.10.2") from None
            take_answer(groups, answer, messages.OffsetFetchRequest(group_id=name))


def _ask_ends(cluster: ClusterClient, groups: CapturedGroups, state: ClusterState) -> Iterator[str]:
    """Ask the leaders for the end offsets of the partitions that groups read; yield what could not be read."""
    live = live_brokers(state)
    by_leader: dict[int, set[TopicPartition]] = {}
    for row in groups.partitions():
        known = state.topics.get(row.topic, {}).get(row.partition)
        if known is not None and known.leader is not None and known.leader in live:
            by_leader.setdefault(known.leader, set()).add((row.topic, row.partition))
    for leader, partitions in sorted(by_leader.items()):
        topics = [
            {"name": topic, "partitions": [{"partitionIndex": index, "timestamp": LATEST} for index in indexes]}
            for topic, indexes in group_by_topic(sorted(partitions))
        ]
        request = {"replicaId": -1, "topics": topics}
        try:
            answer = cluster.ask("ListOffsetsRequest", request, leader)
        except CallError as error:
            yield f"end offsets of partitions that broker {leader} leads are missing: {error}"
        else:
            take_answer(groups, answer, codec("ListOffsetsRequest", 1).from_json(request, defaults=True))
