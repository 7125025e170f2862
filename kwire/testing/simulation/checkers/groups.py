"""Checkers of groups: committed offsets, memberships, and the records of share groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..cluster import DELIVERY_LIMIT
from ..history import (
    Fault,
    FinalGroup,
    HistoryEvent,
    MemberUnknown,
    OffsetCommitted,
    OffsetCommitting,
    OffsetFetched,
    ShareAcknowledged,
    ShareDelivered,
    StillMember,
    TopicPartition,
)
from ..schedule import PARTITIONS, TOPIC
from ..share_consumers import ACCEPT, REJECT
from .violation import HistoryFacts, Invariant, Problem


def check_committed_offsets(facts: HistoryFacts) -> Iterator[Problem]:
    """A committed offset never goes back: who fetches it after a commit was acknowledged, gets this offset or a later
    one, except that of a commit whose answer was lost, which may arrive late."""
    attempts = Counter(map(_identify_commit, facts.history.of(OffsetCommitting)))
    attempts.subtract(map(_identify_commit, facts.history.of(OffsetCommitted)))
    unanswered = {(group, partition, offset) for (group, partition, offset, _), count in attempts.items() if count > 0}
    commits = facts.history.of(OffsetCommitted)
    for asked_at, group, partition, offset, event in _list_seen_offsets(facts):
        of_partition = [commit for commit in commits if (commit.group, commit.partition) == (group, partition)]
        earlier = [commit for commit in of_partition if commit.time <= asked_at]
        latest = max(earlier, key=lambda commit: commit.offset, default=None)
        if latest is not None and offset < latest.offset and (group, partition, offset) not in unanswered:
            text = f"group {group} has offset {offset} of {partition}, but {latest.offset} was committed"
            yield Problem(text, (latest, event))


def _identify_commit(event: OffsetCommitting | OffsetCommitted) -> tuple[str, TopicPartition, int, int]:
    return event.group, event.partition, event.offset, event.generation


def _list_seen_offsets(facts: HistoryFacts) -> Iterator[tuple[float, str, TopicPartition, int, HistoryEvent]]:
    for fetched in facts.history.of(OffsetFetched):
        yield fetched.asked, fetched.group, fetched.partition, fetched.offset, fetched
    for group in facts.history.of(FinalGroup):
        if group.kind in ("classic", "consumer"):
            offsets = dict(group.offsets)
            for index in range(PARTITIONS):
                yield group.time, group.group, TopicPartition(TOPIC, index), offsets.get(index, -1), group


def check_members(facts: HistoryFacts) -> Iterator[Problem]:
    """A group does not forget a member before its session times out. (Brokers that all restart may forget a member that
    joined in a rebalance that was not completed, as in Kafka.)"""
    restarts = [event.time for event in facts.history.of(Fault) if event.text.startswith("restart")]
    for event in facts.history.of(MemberUnknown):
        is_restarted = any(event.kept <= at <= event.time for at in restarts)
        if event.time - event.kept < event.timeout and not is_restarted:
            seconds = event.time - event.kept
            yield Problem(f"{event.client} was a member {seconds:.3f} s before, and was forgotten", (event,))


def check_groups(facts: HistoryFacts) -> Iterator[Problem]:
    """After all faults, each group is stable, its members are the clients that run, and each partition is assigned: to
    one member, except in share groups."""
    running: dict[str, set[str]] = {}
    for event in facts.history.of(StillMember):
        running.setdefault(event.group, set()).add(event.client)
    for group in facts.history.of(FinalGroup):
        members = dict(group.members)
        if group.kind == "offsets" or group.group not in running:
            continue
        if members.keys() != running[group.group]:
            text = f"group {group.group} has the members {sorted(members)}, but {sorted(running[group.group])} run"
            yield Problem(text, (group,))
        elif group.state != "Stable":
            yield Problem(f"group {group.group} is {group.state}", (group,))
        assigned = Counter(index for own in members.values() for index in own)
        if set(assigned) != set(range(PARTITIONS)) or (group.kind != "share" and max(assigned.values()) > 1):
            yield Problem(f"the partitions of group {group.group} are assigned {dict(assigned)} times", (group,))


def check_share_acknowledgements(facts: HistoryFacts) -> Iterator[Problem]:
    """A record that a share group has accepted or rejected is not delivered to it again."""
    ended: dict[tuple[str, TopicPartition, int], ShareAcknowledged] = {}
    for event in facts.history.of(ShareAcknowledged):
        for offset, kind in event.types if not event.code else ():
            if kind in (ACCEPT, REJECT):
                ended.setdefault((event.group, event.partition, offset), event)
    for delivered in facts.history.of(ShareDelivered):
        for offset, value, _ in delivered.records:
            end = ended.get((delivered.group, delivered.partition, offset))
            if end is not None and end.time <= delivered.asked:
                text = f"{value.decode(errors='replace')} at {offset} was delivered after its acknowledgement"
                yield Problem(text, (end, delivered))


def check_share_deliveries(facts: HistoryFacts) -> Iterator[Problem]:
    """A share group delivers each record at least once, and not more often than its limit; in the end, each record has
    a final state. In a read_committed group, each record of a committed transaction."""
    delivered: dict[tuple[str, TopicPartition], set[bytes]] = {}
    for event in facts.history.of(ShareDelivered):
        for offset, value, count in event.records:
            delivered.setdefault((event.group, event.partition), set()).add(value)
            if count > DELIVERY_LIMIT:
                yield Problem(f"{value.decode()} at {offset} was delivered {count} times", (event,))
    running = {event.group for event in facts.history.of(StillMember)}
    for group in facts.history.of(FinalGroup):
        if group.kind == "share" and group.group in running:
            yield from _check_drained(facts, group, delivered)


def _check_drained(
    facts: HistoryFacts, group: FinalGroup, delivered: dict[tuple[str, TopicPartition], set[bytes]]
) -> Iterator[Problem]:
    lags = {index: lag for index, lag in group.offsets if lag > 0}  # -1: nothing was delivered yet
    if lags:
        yield Problem(f"group {group.group} has records without a final state: {lags}", (group,))
        return
    for partition, values in _values_for(facts, group.group).items():
        missing = values - delivered.get((group.group, partition), set())
        if missing:
            names = ", ".join(sorted(value.decode(errors="replace") for value in missing))
            yield Problem(f"{names} in {partition} was never delivered to group {group.group}", (group,))


def _values_for(facts: HistoryFacts, group: str) -> dict[TopicPartition, set[bytes]]:
    if group == "share-committed":
        return {partition: {value for _, value in log.committed} for partition, log in facts.logs.items()}
    return {partition: {value for _, value in rows} for partition, rows in facts.final_values.items()}


GROUP_INVARIANTS = (
    Invariant("committed offsets never go back", check_committed_offsets.__doc__ or "", check_committed_offsets),
    Invariant("groups remember their members", check_members.__doc__ or "", check_members),
    Invariant("groups become stable", check_groups.__doc__ or "", check_groups),
    Invariant(
        "acknowledged share records stay away", check_share_acknowledgements.__doc__ or "", check_share_acknowledgements
    ),
    Invariant("share records are delivered", check_share_deliveries.__doc__ or "", check_share_deliveries),
)
