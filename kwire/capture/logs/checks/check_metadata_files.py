"""Checks meta.properties, partition.metadata and quorum-state."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import cast

from ..disk_entry import PartitionMetadata
from .inconsistency import Batches, Entries, Inconsistency

_NEEDED = {"0": ("broker.id",), "1": ("cluster.id", "node.id")}


def parse_topic_id(text: str) -> bytes | None:
    """Return the 16 bytes of an id in Kafka's format (base64); None if the text is not an id."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return data if len(data) == 16 else None


def check_quorum_state(entries: Entries, batches: Batches | None) -> Iterator[Inconsistency]:
    """Check that the epoch of a quorum state is not older than the log's, and that its leader is a voter."""
    greatest = max((batch.partition_leader_epoch for batch in batches or ()), default=-1)
    for entry in entries:
        state = entry.fields
        if state["leaderEpoch"] < greatest:
            yield Inconsistency(0, "leaderEpoch", f"epoch {state['leaderEpoch']}; the log has epoch {greatest}")
        voters = [voter["voterId"] for voter in state.get("currentVoters") or ()]
        if voters and state["leaderId"] not in (-1, *voters):
            yield Inconsistency(0, "leaderId", f"leader {state['leaderId']} is not one of the voters {voters}")


def check_properties(entries: Entries, batches: Batches | None) -> Iterator[Inconsistency]:
    """Check that version 0 (ZooKeeper) has a broker id, and version 1 (KRaft) a node id and a cluster id.

    Directory ids must be UUIDs.
    """
    for entry in entries:
        properties = entry.fields
        version = properties.get("version")
        if version not in _NEEDED:
            problem = "there is none" if version is None else f"version {version}; 0 and 1 are known"
            yield Inconsistency(0, "version", problem)
            continue
        for name in _NEEDED[version]:
            if not properties.get(name):
                yield Inconsistency(0, name, f"version {version} needs {name}")
        for name in ("broker.id", "node.id"):
            if not properties.get(name, "0").isdecimal():
                yield Inconsistency(0, name, f"{properties[name]} is not the id of a node")
        if "directory.id" in properties and parse_topic_id(properties["directory.id"]) is None:
            yield Inconsistency(0, "directory.id", f"{properties['directory.id']} is not a UUID in base64")


def check_partition_metadata(entries: Entries, batches: Batches | None) -> Iterator[Inconsistency]:
    """Check the version and the topic id of a partition.metadata."""
    for entry in entries:
        value = cast(PartitionMetadata, entry.value)
        if value.version != 0:
            yield Inconsistency(0, "version", f"version {value.version}; 0 is known")
        if not any(parse_topic_id(value.topic_id) or b""):
            yield Inconsistency(0, "topic_id", f"{value.topic_id} is the id of no topic")
