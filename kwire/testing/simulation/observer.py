"""Reads what the brokers have after all faults: logs, groups and committed offsets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from ... import messages
from ...codecs.records import parse_records
from ...protocol.nested import decode_control_record
from .consumers import read_records
from .history import FinalGroup, FinalLog, LoggedBatch, TopicPartition
from .model_client import RETRY_BACKOFF, ModelClient, Steps
from .schedule import PARTITIONS, TOPIC


class Observer(ModelClient):
    """Reads everything once, with public requests.

    Args:
        groups: the groups with their kinds: `classic`, `consumer`, `share`, or `offsets` of a group without members.
    """

    def __init__(self, name: str, rng: Random, groups: Sequence[tuple[str, str]]) -> None:
        super().__init__(name, rng, 0.0)
        self._groups = groups

    def run(self) -> Steps:
        """Read all partitions, then all groups."""
        while len(self.leaders) < PARTITIONS:
            yield from self.find_leaders()
        for index in range(PARTITIONS):
            yield from self._read_log(index)
        for group, kind in self._groups:
            yield from self._read_group(group, kind)

    def _fetch_all(self, index: int, isolation: int) -> Steps:
        """Return the rows of all fetches from the beginning to the end."""
        rows = []
        position = 0
        while True:
            fetch = messages.FetchRequest.FetchPartition(
                partition=index, fetch_offset=position, partition_max_bytes=1 << 20
            )
            topic = messages.FetchRequest.FetchTopic(topic=TOPIC, partitions=(fetch,))
            request = messages.FetchRequest(max_wait_ms=0, isolation_level=isolation, topics=(topic,), session_epoch=-1)
            response = yield from self.ask(self.leaders[index][0], request, 12)
            if response is None or response.responses[0].partitions[0].error_code:
                yield RETRY_BACKOFF
                yield from self.find_leaders()
                continue
            row = response.responses[0].partitions[0]
            rows.append(row)
            batches = list(parse_records(row.records or b""))
            if not batches:
                return rows
            position = batches[-1].last_offset + 1

    def _read_log(self, index: int) -> Steps:
        rows = yield from self._fetch_all(index, 0)
        batches = [_build_logged_batch(batch) for row in rows for batch in parse_records(row.records or b"")]
        end = rows[-1].high_watermark, rows[-1].last_stable_offset
        committed: list[tuple[int, bytes]] = []
        for row in (yield from self._fetch_all(index, 1)):
            aborted = [(batch.producer_id, batch.first_offset) for batch in row.aborted_transactions or ()]
            committed += read_records(row.records or b"", 0, aborted)[1]
        self.record(FinalLog(TopicPartition(TOPIC, index), *end, tuple(batches), tuple(committed)))

    def _read_group(self, group: str, kind: str) -> Steps:
        state = ""
        members = {}
        if kind != "offsets":
            describe: tuple[Any, int] = {
                "classic": (messages.DescribeGroupsRequest(groups=(group,)), 5),
                "consumer": (messages.ConsumerGroupDescribeRequest(group_ids=(group,)), 1),
                "share": (messages.ShareGroupDescribeRequest(group_ids=(group,)), 1),
            }[kind]
            response = None
            while response is None:
                response = yield from self.ask_coordinator(group, *describe)
            row = response.groups[0]
            state = row.group_state
            members = {member.client_id: tuple(_partitions_of(member, kind)) for member in row.members}
        offsets = yield from (self._fetch_share_lags(group) if kind == "share" else self._fetch_offsets(group))
        self.record(FinalGroup(group, kind, state, tuple(sorted(members.items())), offsets))

    def _fetch_offsets(self, group: str) -> Steps:
        wanted = messages.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=None)
        response = None
        while response is None or response.groups[0].error_code:
            request = messages.OffsetFetchRequest(groups=(wanted,), require_stable=False)
            response = yield from self.ask_coordinator(group, request, 9)
        rows = (row for topic in response.groups[0].topics for row in topic.partitions)
        return tuple((row.partition_index, row.committed_offset) for row in rows)

    def _fetch_share_lags(self, group: str) -> Steps:
        """Return how many records of each partition do not have a final state."""
        wanted = messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(
            group_id=group, topics=None
        )
        response = None
        while response is None:
            request = messages.DescribeShareGroupOffsetsRequest(groups=(wanted,))
            response = yield from self.ask_coordinator(group, request, 1)
        rows = (row for topic in response.groups[0].topics for row in topic.partitions)
        return tuple((row.partition_index, row.lag) for row in rows)


def _build_logged_batch(batch: Any) -> LoggedBatch:
    marker = -1
    values: tuple[bytes, ...] = ()
    records = list(batch.records())
    if batch.is_control:
        marker = decode_control_record(records[0].key or b"", records[0].value).type
    else:
        values = tuple(record.value or b"" for record in records)
    return LoggedBatch(batch.base_offset or 0, batch.producer_id, batch.producer_epoch, marker, values)


def _partitions_of(member: Any, kind: str) -> Iterable[int]:
    if kind == "classic":
        return list(member.member_assignment or b"")
    return sorted(index for row in member.assignment.topic_partitions for index in row.partitions)
