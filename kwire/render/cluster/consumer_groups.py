"""Consumer groups as text and as JSON: members and what they read, partitions with committed offsets and lag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from ...cluster.consumer_groups.group import CapturedGroup
from ...cluster.consumer_groups.rows import MemberRow, PartitionRow
from ...cluster.consumer_groups.tracker import GroupTracker
from ..colours import PLAIN, Style
from ..escaping import escape_line
from ..table import table
from ..value_text import count_text

_HELD = ("member", "rack", "from", "until", "has", "near", "lag")
_READ = ("member", "from", "read", "across", "bytes", "bytes across")


def group_lines(groups: GroupTracker, wanted: str | None = None, style: Style = PLAIN) -> Iterator[str]:
    """Yield the lines of all groups with known content, or of the wanted one."""
    shown = [group for name, group in sorted(groups.groups.items()) if group.is_known and wanted in (None, name)]
    for index, group in enumerate(shown):
        if index:
            yield ""
        yield style.paint("title", escape_line(_group_title(group)))
        history = groups.history(group.group_id)
        if history:
            yield from table(_HELD, [_member_row(row) for row in history], style, right=3)
            if reading := [_reading_row(row) for row in history if row.read_partitions]:
                yield from table(_READ, reading, style, right=4)
            yield from _lists(history)
        yield from _streams_lines(group)
        partitions = [row for row in groups.partitions(group.group_id) if row.committed is not None or row.read_from]
        if partitions:
            head = ("partition", "committed", "end", "lag", "leader", "read from", "racks of replicas")
            yield from table(head, [_lag_row(row) for row in partitions], style)
    if groups.ambiguous:
        count = count_text(groups.ambiguous, "Fetch response")
        yield f"{count} of partitions that members of several groups with one client id have: not counted"
    if groups.unreadable:
        yield f"{count_text(groups.unreadable, 'subscription')} or assignments did not decode"


def _group_title(group: CapturedGroup) -> str:
    words = {
        "consumer": "consumer group (KIP-848)",
        "share": "share group (KIP-932)",
        "streams": "streams group (KIP-1071)",
    }
    parts = [f"{group.group_id}: {words.get(group.protocol, 'classic group')}"]
    if group.generation is not None:
        parts.append(f"{'generation' if group.protocol == 'classic' else 'epoch'} {group.generation}")
    parts += [text for text in (group.assignor, group.state) if text]
    return ", ".join([*parts, count_text(len(group.members), "member")])


def _member_row(row: MemberRow) -> Sequence[str]:
    return (
        row.instance_id or _short_id(row.member_id, row.client_id),
        row.rack or "-",
        _seconds_text(row.since),
        _seconds_text(row.until),
        _number_text(None if row.partitions is None else len(row.partitions)),
        _number_text(row.local_partitions),
        _number_text(row.lag),
    )


def _reading_row(row: MemberRow) -> Sequence[str]:
    return (
        row.instance_id or _short_id(row.member_id, row.client_id),
        _seconds_text(row.since),
        str(row.read_partitions),
        _number_text(row.read_across),
        str(row.bytes_read),
        _number_text(row.bytes_across),
    )


def _short_id(member_id: str, client_id: str | None) -> str:
    """Return the distinctive part of a member id: most ids are a client id and a UUID."""
    if client_id and member_id.startswith(f"{client_id}-"):
        return f"{client_id}-{member_id[len(client_id) + 1 :][:8]}"
    return member_id


def _lists(history: Iterable[MemberRow]) -> Iterator[str]:
    """Yield the current assignment of partitions to members."""
    for row in history:
        if row.until is None and row.partitions:
            yield escape_line(f"  {_short_id(row.member_id, row.client_id)} has {' '.join(row.partitions)}")


def _streams_lines(group: CapturedGroup) -> Iterator[str]:
    """Yield the tasks of a streams group's members, its topology, and what is wrong with it."""
    for member in group.members.values():
        for role in ("active", "standby", "warmup"):
            tasks = [str(task) for task in member.tasks or () if task.role == role]
            if tasks:
                name = member.instance_id or _short_id(member.member_id, member.client_id)
                yield escape_line(f"  {name} has {role} tasks {' '.join(tasks)}")
    if group.topology:
        yield f"  topology epoch {group.topology_epoch}"
    for part in group.topology:
        facts = (("reads", part.reads), ("writes", part.writes), ("changelogs", part.changelogs))
        words = [f"{verb} {' '.join(names)}" for verb, names in facts if names]
        yield escape_line(f"  subtopology {part.name} {', '.join(words)}")
    if group.problems:
        yield f"  problems: {', '.join(group.problems)}"


def _lag_row(row: PartitionRow) -> Sequence[str]:
    racks = "-" if row.replica_racks is None else " ".join(rack or "-" for rack in row.replica_racks)
    return (
        f"{row.topic}-{row.partition}",
        _number_text(row.committed),
        _number_text(row.end),
        _number_text(row.lag),
        _number_text(row.leader),
        " ".join(map(str, row.read_from)) or "-",
        racks,
    )


def _number_text(value: int | None) -> str:
    return "-" if value is None else str(value)


def _seconds_text(seconds: float | None) -> str:
    return "-" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S.%f}"[:-3]


def group_json(groups: GroupTracker, wanted: str | None = None) -> dict[str, Any]:
    """Return groups, the periods of their members, and their partitions as JSON."""
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
                **_streams_json(group),
            }
            for group in shown
        ],
        "tasks": [row for group in shown for row in _task_rows(group)],
        "members": [row._asdict() for row in groups.history() if row.group in names],
        "partitions": [row._asdict() for row in groups.partitions() if row.group in names],
    }


def _streams_json(group: CapturedGroup) -> dict[str, Any]:
    """Return what only streams groups have; nothing for other groups."""
    if group.protocol != "streams":
        return {}
    subtopologies = [part._asdict() for part in group.topology]
    return {"topology_epoch": group.topology_epoch, "topology": subtopologies, "problems": list(group.problems)}


def _task_rows(group: CapturedGroup) -> Iterator[dict[str, Any]]:
    """Yield the tasks of a streams group's members."""
    for member in group.members.values():
        who = {"group": group.group_id, "member_id": member.member_id, "process_id": member.process_id}
        for task in member.tasks or ():
            yield {**who, "topology_epoch": member.topology_epoch, **task._asdict()}
