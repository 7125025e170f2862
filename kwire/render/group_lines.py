"""Consumer groups as text and JSON: members with racks, lag, and what is read across racks (KIP-881)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from ..cluster.consumer_groups import ConsumerGroups
from ..cluster.group_state import GroupState, MemberRow, PartitionRow
from .record_text import safe
from .style import PLAIN, Style, table
from .values import count_text

_HEAD = ("member", "rack", "from", "until", "partitions", "in rack", "read", "across", "bytes", "bytes across", "lag")


def group_lines(groups: ConsumerGroups, wanted: str | None = None, style: Style = PLAIN) -> Iterator[str]:
    """Yield the lines of all groups of which something is known, or of one."""
    shown = [group for name, group in sorted(groups.groups.items()) if group.is_known and wanted in (None, name)]
    for index, group in enumerate(shown):
        if index:
            yield ""
        yield style.paint("title", safe(_title(group)))
        history = groups.history(group.group_id)
        if history:
            yield from table(_HEAD, [_member(row) for row in history], style, right=7)
            yield from _lists(history)
        partitions = [row for row in groups.partitions(group.group_id) if row.committed is not None or row.read_from]
        if partitions:
            head = ("partition", "committed", "end", "lag", "leader", "read from", "racks of replicas")
            yield from table(head, [_partition(row) for row in partitions], style)
    if groups.ambiguous:
        count = count_text(groups.ambiguous, "Fetch answer")
        yield f"{count} of partitions that members of several groups with one client id have: counted for none"
    if groups.unreadable:
        yield f"{count_text(groups.unreadable, 'subscription')} or assignments did not decode"


def _title(group: GroupState) -> str:
    words = {
        "consumer": "consumer group (KIP-848)",
        "share": "share group (KIP-932)",
    }
    parts = [f"{group.group_id}: {words.get(group.protocol, 'classic group')}"]
    if group.generation is not None:
        parts.append(f"{'generation' if group.protocol == 'classic' else 'epoch'} {group.generation}")
    parts += [text for text in (group.assignor, group.state) if text]
    return ", ".join([*parts, count_text(len(group.members), "member")])


def _member(row: MemberRow) -> Sequence[str]:
    return (
        row.instance_id or _short(row.member_id, row.client_id),
        row.rack or "-",
        _time(row.since),
        _time(row.until),
        _number(None if row.partitions is None else len(row.partitions)),
        _number(row.local_partitions),
        str(row.read_partitions),
        _number(row.read_across),
        str(row.bytes_read),
        _number(row.bytes_across),
        _number(row.lag),
    )


def _short(member_id: str, client_id: str | None) -> str:
    """Return what tells members apart: most ids are a client id and a UUID."""
    if client_id and member_id.startswith(f"{client_id}-"):
        return f"{client_id}-{member_id[len(client_id) + 1 :][:8]}"
    return member_id


def _lists(history: Iterable[MemberRow]) -> Iterator[str]:
    """Yield who has which partitions now."""
    for row in history:
        if row.until is None and row.partitions:
            yield f"  {safe(_short(row.member_id, row.client_id))} has {safe(' '.join(row.partitions))}"


def _partition(row: PartitionRow) -> Sequence[str]:
    racks = "-" if row.replica_racks is None else " ".join(rack or "-" for rack in row.replica_racks)
    return (
        f"{row.topic}-{row.partition}",
        _number(row.committed),
        _number(row.end),
        _number(row.lag),
        _number(row.leader),
        " ".join(map(str, row.read_from)) or "-",
        racks,
    )


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S.%f}"[:-3]


def group_json(groups: ConsumerGroups, wanted: str | None = None) -> dict[str, Any]:
    """Return the groups, their members from when to when, and their partitions as JSON."""
    shown = [group for name, group in sorted(groups.groups.items()) if group.is_known and wanted in (None, name)]
    names = {group.group_id for group in shown}
    return {
        "groups": [
            {
                "group": group.group_id,
                "protocol": group.protocol,
                "state": group.state,
                "generation": group.generation,
                "assignor": group.assignor,
                "members": len(group.members),
            }
            for group in shown
        ],
        "members": [row._asdict() for row in groups.history() if row.group in names],
        "partitions": [row._asdict() for row in groups.partitions() if row.group in names],
    }
