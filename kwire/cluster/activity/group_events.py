"""Events of consumer groups: joins, leaves, rebalances with their reason, assignments, commits.

The state of the groups is that of `GroupTracker`: an event is what a response changed there.
"""

from __future__ import annotations

from typing import Any

from ...messages import JoinGroupRequest
from ...protocol import Request, Response, Result
from ..consumer_groups.group import CapturedGroup
from ..consumer_groups.tracker import GroupTracker
from .activity_event import CLIENT, GROUP, TOPIC, ActivityEvent, ActivityLog, subject

JOINS = (
    "JoinGroupRequest",
    "ConsumerGroupHeartbeatRequest",
    "ShareGroupHeartbeatRequest",
    "StreamsGroupHeartbeatRequest",
)
FOLLOWS = "group is already rebalancing"  # ConsumerCoordinator's reason of members that others made join again
LISTED = 6  # partitions that the text of an event names


class GroupEvents:
    """Follows groups, and adds what happens in them to a log.

    Args:
        log: receives the events.

    Attributes:
        tracker: the state of the groups.
    """

    def __init__(self, log: ActivityLog) -> None:
        self.tracker: GroupTracker = GroupTracker(has_several_files=True)
        self._log = log
        self._reasons: dict[str, list[str]] = {}  # by group: why its next rebalance takes place
        self._asked: dict[tuple[object, int | None], Request[Any]] = {}

    def add(self, result: Result) -> None:
        """Process the next frame."""
        source = result.frame.source
        connection = source.file or "", source.connection_key
        if isinstance(result, Request):
            if hasattr(result.message, "group_id"):
                self._asked[connection, result.correlation_id] = result
            if isinstance(result.message, JoinGroupRequest):
                self._note_join(result)
            self.tracker.apply(result)
            return
        request = self._asked.pop((connection, result.correlation_id), None) if isinstance(result, Response) else None
        group_id = None if request is None else request.message.group_id
        before = _Members(self.tracker.groups.get(group_id or ""))
        self.tracker.apply(result)
        if isinstance(result, Response) and request is not None and group_id:
            self._compare(request, result, before, _Members(self.tracker.groups.get(group_id)))

    def forget(self, file: str, connection: object) -> None:
        """Drop the requests of a connection of a file that has ended."""
        for key in [key for key in self._asked if key[0] == (file, connection)]:
            del self._asked[key]

    def _note_join(self, request: Request[Any]) -> None:
        """Note why a JoinGroup makes its group rebalance: it is a new member, or what its client says (KIP-800)."""
        message = request.message
        group = self.tracker.groups.get(message.group_id)
        stated: str = getattr(message, "reason", None) or ""
        if group is None or message.member_id not in group.members:
            stated = "a member joined"
        if stated:
            reasons = self._reasons.setdefault(message.group_id, [])
            reasons.append(f"{stated} {_client_text(request.client.client_id)}")

    def _take_reasons(self, group_id: str) -> str:
        """Return why a group rebalanced, as text."""
        reasons = list(dict.fromkeys(self._reasons.pop(group_id, [])))
        causes = [reason for reason in reasons if not reason.startswith(FOLLOWS)]
        return f", reason: {'; '.join(causes or reasons)}" if reasons else ""

    def _compare(self, request: Request[Any], response: Response, before: _Members, after: _Members) -> None:
        """Add the events of a response, given the group before and after it."""
        group_id: str = request.message.group_id
        error = getattr(response.message, "error_code", 0)
        name = type(request.message).__name__
        if name in ("OffsetCommitRequest", "TxnOffsetCommitRequest") and not error:
            self._add_commit(request, response)
        if error:
            return
        self._compare_members(request, response, before, after)
        if after.generation != before.generation and after.generation is not None:
            listed = len(getattr(response.message, "members", ()))
            members = f", {listed} member{'s' * (listed != 1)}" if listed else ""
            text = f"rebalance, generation {after.generation}{members}{self._take_reasons(group_id)}"
            self._add(request, response, text, "rebalance")
        for member, partitions in after.names.items():
            if partitions is not None and partitions != before.names.get(member):
                self._add(request, response, f"{_member(member)} gets {_partitions(partitions)}", "assignment")

    def _compare_members(self, request: Request[Any], response: Response, before: _Members, after: _Members) -> None:
        name = type(request.message).__name__
        reasons = self._reasons.setdefault(request.message.group_id, [])
        for member in after.names.keys() - before.names.keys():
            if name in JOINS:
                self._add(request, response, f"{_member(member)} joins {_client_text(request.client.client_id)}")
        for member in before.names.keys() - after.names.keys():
            has_left = name == "LeaveGroupRequest" or name not in JOINS or request.message.member_id == member
            stated = _leave_reason(request, member)
            how = f"leaves{stated}" if has_left else "is gone without a LeaveGroup (session or rebalance timeout)"
            self._add(request, response, f"{_member(member)} {how}")
            reasons.append(f"{_member(member)} {'left' if has_left else 'is gone'}")

    def _add_commit(self, request: Request[Any], response: Response) -> None:
        rows = [
            f"{self.tracker.topic(topic)}-{partition.partition_index}@{partition.committed_offset}"
            for topic in request.message.topics
            for partition in topic.partitions
        ]
        topics = [self.tracker.topic(topic) for topic in request.message.topics]
        more = f" and {len(rows) - LISTED} more" if len(rows) > LISTED else ""
        self._add(request, response, f"commits {', '.join(rows[:LISTED])}{more}", "commit", *subject(TOPIC, *topics))

    def _add(self, request: Request[Any], response: Response, text: str, kind: str = "group", *subjects: str) -> None:
        source = response.frame.source
        group_id = request.message.group_id
        named = {*subject(GROUP, group_id), *subject(CLIENT, request.client.client_id), *subjects}
        event = ActivityEvent(
            kind, f"group {group_id}: {text}", source.time, source.file or "", source.frame, frozenset(named)
        )
        self._log.add(event)


class _Members:
    """The members of a group at one time, with their partitions, and the generation."""

    def __init__(self, group: CapturedGroup | None) -> None:
        members = {} if group is None else group.members
        self.generation: int | None = None if group is None else group.generation
        self.names: dict[str, tuple[tuple[str, int], ...] | None] = {
            name: member.partitions for name, member in members.items()
        }


def _leave_reason(request: Request[Any], member_id: str) -> str:
    for member in getattr(request.message, "members", ()) or ():
        reason: Any = getattr(member, "reason", None)
        if reason and member_id in (member.member_id, ""):
            return f", reason: {reason}"
    return ""


def _member(member_id: str) -> str:
    return f"member {member_id}" if len(member_id) <= 40 else f"member {member_id[:36]}..."


def _client_text(client: str | None) -> str:
    return f"(client {client})" if client else "(no client id)"


def _partitions(partitions: tuple[tuple[str, int], ...]) -> str:
    names = [f"{topic}-{index}" for topic, index in partitions]
    if not names:
        return "no partitions"
    return ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
