"""Restores a cluster when it starts: topics from journals and folders, then identical replicas of each partition."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ...cluster import Partition as Recorded
from ..log.disk import Disk
from ..node import LogDir
from .journal_records import JournaledState
from .kraft_controller import KRaftController
from .partition import Partition
from .replica_catch_up import heal, mark_in_sync
from .topic import Topic
from .topic_names import INTERNAL

Folders = dict[str, dict[int, dict[int, LogDir]]]  # by topic, partition and broker


def recover(controller: KRaftController) -> None:
    """Restore the topics in the log directories, and make the replicas of each partition identical."""
    journals = controller.journals.open(controller.log_dirs(), JournaledState, controller.notes.append)
    known = journals[0][1] if journals else JournaledState()
    brought = (log_dir.disk.cluster_id() for log_dir in controller.log_dirs() if log_dir.works)
    controller.cluster_id = known.cluster_id or next(filter(None, brought), "")
    controller.acls.update(known.acls)
    controller.users.scram.update(known.scram)
    controller.group_configs.update({name: own for name, own in known.group_configs.items() if own})
    controller.configs.restore(known.broker_configs, known.client_metrics)
    for names, values in known.state.settings.quotas.items():
        entity = frozenset((kind, name or None) for kind, name in names)
        controller.quotas.values[entity] = dict(values)
    ids = known.ids()
    for log_dir in controller.log_dirs():
        controller.guarded(log_dir, partial(_read_starts, log_dir))
    folders = _find_folders(controller, {id(log_dir): journal.ids() for log_dir, journal in journals}, ids)
    for name in sorted(ids.keys() | folders.keys()):
        topic_id = ids.get(name) or _find_topic_id(name, folders[name]) or controller.rng.randbytes(16)
        topic = Topic(name, topic_id, configs=known.configs.get(name, {}), store=controller.configs)
        if name in INTERNAL:
            topic.configs.setdefault("cleanup.policy", "compact")
        controller.topics[name] = controller.by_id[topic.topic_id] = topic
        found_partitions = folders.get(name, {})
        rows = (
            known.state.partitions(name)
            if name in ids
            else _derive_partitions(found_partitions, controller.settings.most_partitions)
        )
        for row in rows:
            _add_partition(controller, topic, row, found_partitions.get(row.index, {}), is_known=name in ids)
    _heal_all(controller)
    controller.remember_all()


def _heal_all(controller: KRaftController) -> None:
    if [partition for partition in controller.partitions() if mark_in_sync(partition)]:
        controller.remember_all()
    for partition in controller.partitions():
        controller.fail(*heal(partition, controller.notes.append))
    controller.fail()


def _find_folders(controller: KRaftController, own_ids: dict[int, dict[str, bytes]], ids: dict[str, bytes]) -> Folders:
    """Return the contents of the log directories; rename the folders of deleted topics.

    Args:
        controller: manages the directories.
        own_ids: the topic ids in each directory's journal.
        ids: the correct topic ids.
    """
    folders: Folders = {}
    for node_id, node in controller.nodes.items():
        for log_dir in node.log_dirs:
            for name, index in controller.listed(log_dir):
                own_id = own_ids.get(id(log_dir), {}).get(name)
                if own_id is not None and own_id != ids.get(name):
                    controller.guarded(log_dir, partial(_set_aside, name, index))
                    continue
                folders.setdefault(name, {}).setdefault(index, {}).setdefault(node_id, log_dir)
    return folders


def _find_topic_id(name: str, folders: dict[int, dict[int, LogDir]]) -> bytes | None:
    """Return the topic id that another program wrote into a folder."""
    topic_ids = (log_dir.disk.topic_id(name, index) for index, nodes in folders.items() for log_dir in nodes.values())
    return next((topic_id for topic_id in topic_ids if topic_id), None)


def _derive_partitions(folders: dict[int, dict[int, LogDir]], partition_limit: int) -> Iterable[Recorded]:
    """Derive the contents of a missing journal from the folders."""
    for index in range(min(max(folders) + 1, partition_limit)):
        ids = tuple(sorted(folders.get(index, {})))
        yield Recorded("", index, replicas=ids, isr=ids)


def _add_partition(
    controller: KRaftController, topic: Topic, row: Recorded, log_dirs: dict[int, LogDir], *, is_known: bool
) -> None:
    """Open the replicas of a partition; a missing folder in a working directory counts as damage."""
    replicas = {}
    for node in (controller.nodes[node_id] for node_id in row.replicas if node_id in controller.nodes):
        log_dir = log_dirs.get(node.node_id) or node.failed()
        replica = replicas[node.node_id] = controller.replica(node, topic.name, row.index, log_dir)
        if is_known and log_dir is None and replica.log is not None:
            replica.log.damage = "its folder is missing"
    partition = Partition(
        topic.name, row.index, replicas, isr=[replica_id for replica_id in row.isr if replica_id in replicas]
    )
    partition.leader_epoch = row.leader_epoch
    topic.partitions.append(partition)


def _read_starts(log_dir: LogDir, disk: Disk) -> None:
    log_dir.starts = disk.starts()


def _set_aside(name: str, index: int, disk: Disk) -> None:
    disk.set_aside(name, index)
