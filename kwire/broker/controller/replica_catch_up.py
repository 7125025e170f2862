"""Makes the replicas of a partition identical: chooses the best log, truncates the others where they differ, and copies
what they lack. Such replicas join the ISR.
"""

from __future__ import annotations

from collections import Counter

from ...cluster.state import NO_LEADER
from ...codecs.records import parse_records
from ..log.replica_log import ReplicaLog
from ..node import LogDir
from .kraft_controller import KRaftController
from .metadata_journal import Notes
from .partition import Partition

_PORTION = 1 << 20
_HIGHEST_EPOCH = 2**31 - 2**20  # leaves room for a million leader elections


class _SourceFailed(Exception):
    """Raised if the log that is being copied can no longer be read."""


def source_of(partition: Partition) -> int | None:
    """Return the broker whose log the others must copy; None if no replica of the ISR is online.

    Every replica of the ISR has all acknowledged records, so the one with the longest log is chosen. A replica outside
    the ISR is chosen only if all replicas of the ISR are damaged. Gaps inside a segment count as damage, because they
    may be damaged base offsets.
    """
    logs = partition.online_logs()
    in_sync = [node_id for node_id in partition.isr if node_id in logs]
    if not in_sync:
        return None
    is_any_whole = any(not logs[node_id].damage for node_id in in_sync)
    candidates = (
        in_sync if is_any_whole else [*in_sync, *(replica_id for replica_id in logs if replica_id not in in_sync)]
    )
    agreeing = Counter(map(_outline, (logs[node_id] for node_id in candidates)))

    def rank(node_id: int) -> tuple[bool, int, bool, int, bool, int]:
        log = logs[node_id]
        return not log.has_gaps, log.end, not log.holes, -log.start, log.epochs_ascend, agreeing[_outline(log)]

    return max(candidates, key=rank)


def _outline(log: ReplicaLog) -> int:
    return hash(tuple(entry.identity for entry in log.entries))


def mark_in_sync(partition: Partition) -> bool:
    """Add replicas that are identical to the source to the ISR; return whether there are other replicas.

    This must be journaled before `heal` truncates a log, so that the source is still known after an interruption.
    """
    source_id = source_of(partition)
    if source_id is None:
        return False
    logs = partition.online_logs()
    partition.isr = [node_id for node_id, log in logs.items() if node_id == source_id or _is_copy(log, logs[source_id])]
    return any(node_id not in partition.isr or log.damage for node_id, log in logs.items())


def heal(partition: Partition, note: Notes) -> list[LogDir]:
    """Truncate logs where they are damaged or differ from the source, and copy the missing batches from the source.

    If no replica of the ISR is online, the partition has no leader, because the other replicas may lack records.

    Args:
        partition: the partition, with its logs just opened.
        note: called with one line for each truncation and for missing data.

    Returns:
        The directories that failed.
    """
    failed: list[LogDir] = []
    for _ in partition.replicas:  # a failing source goes offline, and another one is chosen
        source_id = source_of(partition)
        if source_id is None:
            break
        try:
            failed += _copy_all(partition, source_id, note)
        except _SourceFailed:
            failed.append(partition.replicas[source_id].log_dir)
            failed[-1].is_offline = True
            continue
        logs = partition.online_logs()
        partition.isr = [node_id for node_id in partition.replicas if node_id in logs]
        epoch = max((entry.leader_epoch for entry in logs[source_id].entries[-1:]), default=-1)
        partition.leader_epoch = max(partition.leader_epoch, min(epoch, _HIGHEST_EPOCH))
        break
    partition.elect_leader()
    return failed


def _copy_all(partition: Partition, source_id: int, note: Notes) -> list[LogDir]:
    failed = []
    logs = partition.online_logs()
    source = logs[source_id]
    for first, last in source.holes:
        note(_where(partition, source_id, f"offsets {first} to {last} are missing; a segment may have been deleted"))
    for node_id in sorted(logs, key=lambda replica_id: replica_id != source_id):
        log, log_dir = logs[node_id], partition.replicas[node_id].log_dir
        try:
            if node_id == source_id:
                _cut(partition, node_id, len(log.entries), note)
            elif not _is_copy(log, source):
                _cut(partition, node_id, _count_kept(log, source), note, source_id)
                _copy(partition, node_id, source_id, note)
        except OSError:
            log_dir.is_offline = True
            failed.append(log_dir)
            if node_id == source_id:
                raise _SourceFailed from None
    return failed


def catch_up(controller: KRaftController, partition: Partition, node_id: int) -> None:
    """Copy the leader's log to a broker's replica, and add it to the ISR; if there is no leader, the replica becomes
    the leader if it is eligible."""
    replica = partition.replicas[node_id]
    if replica.log is None:
        controller.open_log(replica, partition.topic, partition.index)
    if partition.leader in (node_id, NO_LEADER) or not replica.is_online or replica.log is None:
        partition.elect_leader()
        return
    source = partition.replicas[partition.leader].log
    assert source is not None
    try:
        if not _is_copy(replica.log, source):
            _cut(partition, node_id, _count_kept(replica.log, source), controller.notes.append, partition.leader)
            _copy(partition, node_id, partition.leader, controller.notes.append)
        partition.isr = [replica_id for replica_id in partition.replicas if replica_id in (*partition.isr, node_id)]
    except OSError:
        controller.fail(replica.log_dir)
    except _SourceFailed:
        controller.fail(partition.replicas[partition.leader].log_dir)


def _is_copy(log: ReplicaLog, source: ReplicaLog) -> bool:
    is_whole = not log.damage and log.end == source.end and log.start <= source.start
    return is_whole and log.like(source) == len(log.entries)


def _count_kept(log: ReplicaLog, source: ReplicaLog) -> int:
    """Return the number of batches to keep; 0 if records would be missing before or after them."""
    return log.like(source) if log.start <= source.start <= log.end else 0


def _cut(partition: Partition, node_id: int, count: int, note: Notes, source_id: int | None = None) -> None:
    """Truncate a log to `count` batches and remove damaged bytes; report the lost records with `note`."""
    log = partition.online_logs()[node_id]
    if count == len(log.entries) and not log.damage:
        return
    offset = log.entries[count].base_offset if count < len(log.entries) else log.end
    size = log.store.size() if log.damage else log.size
    lost = size - sum(entry.size for entry in log.entries[:count])
    is_damaged = log.damage and count == len(log.entries)
    reason = log.damage if is_damaged else f"broker {source_id} has other records there"
    note(_where(partition, node_id, f"cut at offset {offset}, {lost} bytes lost: {reason}"))
    log.truncate(count)


def _copy(partition: Partition, node_id: int, source_id: int, note: Notes) -> None:
    """Append the source's batches that follow the end of a log."""
    logs = partition.online_logs()
    log, source = logs[node_id], logs[source_id]
    at, before = max(log.end, source.start), log.size
    while at < source.end:
        try:
            data = source.read(at, source.measure(at, _PORTION))
        except OSError:
            partition.replicas[source_id].log_dir.is_offline = True
            raise _SourceFailed from None
        for batch in parse_records(data):
            log.append(batch)
        at = log.end
    if log.size > before:
        note(_where(partition, node_id, f"{log.size - before} bytes copied from broker {source_id}"))


def copy_log(source: ReplicaLog, log: ReplicaLog) -> None:
    """Append the batches of a log to an empty log."""
    at = source.start
    while at < source.end:
        data = source.read(at, source.measure(at, _PORTION))
        for batch in parse_records(data):
            log.append(batch)
        at = max(log.end, at + 1)
    log.delete_before(source.start)


def _where(partition: Partition, node_id: int, text: str) -> str:
    path = partition.replicas[node_id].log_dir.path
    return f"{partition.topic}-{partition.index}: {text} (broker {node_id}, {path})"
