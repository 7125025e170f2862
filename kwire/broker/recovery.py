"""Start of a cluster: restores topics from journals and folders, and copies each partition's log from the best
replica."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial

from ..cluster import Partition as Recorded
from ..cluster.state import NO_LEADER
from ..records import parse_records
from .kraft_controller import Controller
from .metadata_journal import Known, Notes
from .partitions import INTERNAL, Partition, Topic
from .replica_log import Log
from .settings import LogDir
from .storage import Disk

_PORTION = 1 << 20
_HIGHEST_EPOCH = 2**31 - 2**20  # leaves room for a million elections


class _SourceFailed(Exception):
    """The log being copied can no longer be read."""


def source_of(partition: Partition) -> int | None:
    """Return the broker whose log the others must copy; None if no replica of the ISR is online.

    Every replica of the ISR has all acknowledged records, so the longest of their logs is chosen. A replica outside the
    ISR is chosen only if all replicas of the ISR are damaged. Gaps inside a segment may be damaged base offsets.
    """
    logs = partition.online_logs()
    in_sync = [node_id for node_id in partition.isr if node_id in logs]
    if not in_sync:
        return None
    is_any_whole = any(not logs[node_id].damage for node_id in in_sync)
    candidates = in_sync if is_any_whole else [*in_sync, *(one for one in logs if one not in in_sync)]
    agreeing = Counter(map(_outline, (logs[node_id] for node_id in candidates)))

    def rank(node_id: int) -> tuple[bool, int, bool, int, bool, int]:
        log = logs[node_id]
        return not log.has_gaps, log.end, not log.holes, -log.start, log.epochs_ascend, agreeing[_outline(log)]

    return max(candidates, key=rank)


def _outline(log: Log) -> int:
    return hash(tuple(entry.identity for entry in log.entries))


def mark_in_sync(partition: Partition) -> bool:
    """Add replicas that equal the source to the ISR; return whether others remain.

    This must be journaled before `heal` truncates anything, so that after an interruption the source is known.
    """
    source_id = source_of(partition)
    if source_id is None:
        return False
    logs = partition.online_logs()
    partition.isr = [one for one, log in logs.items() if one == source_id or _is_copy(log, logs[source_id])]
    return any(one not in partition.isr or log.damage for one, log in logs.items())


def heal(partition: Partition, note: Notes) -> list[LogDir]:
    """Truncate logs where they are damaged or differ from the source, and copy the missing batches from it.

    If no replica of the ISR is online, the partition has no leader, because the other replicas may lack records.

    Args:
        partition: the partition, with newly opened logs.
        note: called with a line for each truncation and for missing data.

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
    partition.elect()
    return failed


def _copy_all(partition: Partition, source_id: int, note: Notes) -> list[LogDir]:
    failed = []
    logs = partition.online_logs()
    source = logs[source_id]
    for first, last in source.holes:
        note(_where(partition, source_id, f"offsets {first} to {last} are missing, as if a segment was deleted"))
    for node_id in sorted(logs, key=lambda one: one != source_id):
        log, log_dir = logs[node_id], partition.replicas[node_id].log_dir
        try:
            if node_id == source_id:
                _cut(partition, node_id, len(log.entries), note)
            elif not _is_copy(log, source):
                _cut(partition, node_id, _kept(log, source), note, source_id)
                _copy(partition, node_id, source_id, note)
        except OSError:
            log_dir.is_offline = True
            failed.append(log_dir)
            if node_id == source_id:
                raise _SourceFailed from None
    return failed


def catch_up(controller: Controller, partition: Partition, node_id: int) -> None:
    """Make the replica of a broker a copy of the leader's log, and in sync; or make it the leader, if the partition has
    none and the replica is eligible."""
    replica = partition.replicas[node_id]
    if replica.log is None:
        controller.open_log(replica, partition.topic, partition.index)
    if partition.leader in (node_id, NO_LEADER) or not replica.is_online or replica.log is None:
        partition.elect()
        return
    source = partition.replicas[partition.leader].log
    assert source is not None
    try:
        if not _is_copy(replica.log, source):
            _cut(partition, node_id, _kept(replica.log, source), controller.notes.append, partition.leader)
            _copy(partition, node_id, partition.leader, controller.notes.append)
        partition.isr = [one for one in partition.replicas if one in (*partition.isr, node_id)]
    except OSError:
        controller.fail(replica.log_dir)
    except _SourceFailed:
        controller.fail(partition.replicas[partition.leader].log_dir)


def _is_copy(log: Log, source: Log) -> bool:
    is_whole = not log.damage and log.end == source.end and log.start <= source.start
    return is_whole and log.like(source) == len(log.entries)


def _kept(log: Log, source: Log) -> int:
    """Return how many batches can be kept; 0 if records would be missing before or after them."""
    return log.like(source) if log.start <= source.start <= log.end else 0


def _cut(partition: Partition, node_id: int, count: int, note: Notes, source_id: int | None = None) -> None:
    """Truncate a log to `count` batches and remove damaged bytes; the note describes the lost records."""
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
    """Append the source's batches after the end of a log."""
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


def copy_log(source: Log, log: Log) -> None:
    """Append the batches of another log to an empty log."""
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


Folders = dict[str, dict[int, dict[int, LogDir]]]  # by topic, partition and broker


def recover(controller: Controller) -> None:
    """Restore the topics in the directories, and make the replicas of each partition equal."""
    journals = controller.journals.open(controller.log_dirs(), Known, controller.notes.append)
    known = journals[0][1] if journals else Known()
    brought = (log_dir.disk.cluster_id() for log_dir in controller.log_dirs() if log_dir.works)
    controller.cluster_id = known.cluster_id or next(filter(None, brought), "")
    controller.acls.update(known.acls)
    controller.users.scram.update(known.scram)
    controller.group_configs.update({name: own for name, own in known.group_configs.items() if own})
    for names, values in known.state.settings.quotas.items():
        entity = frozenset((kind, name or None) for kind, name in names)
        controller.quotas.values[entity] = dict(values)
    ids = known.ids()
    for log_dir in controller.log_dirs():
        controller.guarded(log_dir, partial(_read_starts, log_dir))
    folders = _folders(controller, {id(log_dir): one.ids() for log_dir, one in journals}, ids)
    for name in sorted(ids.keys() | folders.keys()):
        topic_id = ids.get(name) or _brought_id(name, folders[name]) or controller.rng.randbytes(16)
        topic = Topic(name, topic_id, configs=known.configs.get(name, {}))
        if name in INTERNAL:
            topic.configs.setdefault("cleanup.policy", "compact")
        controller.topics[name] = controller.by_id[topic.topic_id] = topic
        held = folders.get(name, {})
        rows = known.state.partitions(name) if name in ids else _brought(held, controller.settings.most_partitions)
        for row in rows:
            _add(controller, topic, row, held.get(row.index, {}), is_known=name in ids)
    _heal(controller)
    controller.remember_all()


def _heal(controller: Controller) -> None:
    if [partition for partition in controller.partitions() if mark_in_sync(partition)]:
        controller.remember_all()
    for partition in controller.partitions():
        controller.fail(*heal(partition, controller.notes.append))
    controller.fail()


def _folders(controller: Controller, own_ids: dict[int, dict[str, bytes]], ids: dict[str, bytes]) -> Folders:
    """Return the contents of directories; set aside the folders of deleted topics.

    Args:
        controller: has the directories.
        own_ids: the topic ids in the journal of each directory.
        ids: the correct topic ids.
    """
    found: Folders = {}
    for node_id, node in controller.nodes.items():
        for log_dir in node.log_dirs:
            for name, index in controller.listed(log_dir):
                own_id = own_ids.get(id(log_dir), {}).get(name)
                if own_id is not None and own_id != ids.get(name):
                    controller.guarded(log_dir, partial(_set_aside, name, index))
                    continue
                found.setdefault(name, {}).setdefault(index, {}).setdefault(node_id, log_dir)
    return found


def _brought_id(name: str, held: dict[int, dict[int, LogDir]]) -> bytes | None:
    """Return the topic id that another program wrote into a folder."""
    found = (log_dir.disk.topic_id(name, index) for index, nodes in held.items() for log_dir in nodes.values())
    return next((topic_id for topic_id in found if topic_id), None)


def _brought(held: dict[int, dict[int, LogDir]], most: int) -> Iterable[Recorded]:
    """Derive the contents of a journal from folders."""
    for index in range(min(max(held) + 1, most)):
        ids = tuple(sorted(held.get(index, {})))
        yield Recorded("", index, replicas=ids, isr=ids)


def _add(controller: Controller, topic: Topic, row: Recorded, held: dict[int, LogDir], *, is_known: bool) -> None:
    """Open the replicas of a partition; a missing folder in a working directory is damage."""
    replicas = {}
    for node in (controller.nodes[node_id] for node_id in row.replicas if node_id in controller.nodes):
        log_dir = held.get(node.node_id) or node.failed()
        replica = replicas[node.node_id] = controller.replica(node, topic.name, row.index, log_dir)
        if is_known and log_dir is None and replica.log is not None:
            replica.log.damage = "its folder is missing"
    partition = Partition(topic.name, row.index, replicas, isr=[one for one in row.isr if one in replicas])
    partition.leader_epoch = row.leader_epoch
    topic.partitions.append(partition)


def _read_starts(log_dir: LogDir, disk: Disk) -> None:
    log_dir.starts = disk.starts()


def _set_aside(name: str, index: int, disk: Disk) -> None:
    disk.set_aside(name, index)
