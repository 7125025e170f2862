"""A cluster that starts: the topics that its journals tell of, and those whose folders somebody brought.

Of a topic that no journal knows, replicas stand by broker id. What belongs to a topic that was deleted while its
directory had failed is set aside.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ..cluster import Partition as Recorded
from .controller import Controller
from .disks import Disk
from .healing import heal, mark_in_sync
from .journal import Known
from .nodes import LogDir
from .partitions import Partition
from .topics import Topic

Folders = dict[str, dict[int, dict[int, LogDir]]]  # by topic, partition and broker


def recover(controller: Controller) -> None:
    """Find the topics that the directories hold, and let their replicas be copies of each other."""
    journals = controller.journals.open(controller.log_dirs(), Known, controller.notes.append)
    known = journals[0][1] if journals else Known()
    controller.cluster_id = known.cluster_id
    ids = known.ids()
    folders = _folders(controller, {id(log_dir): one.ids() for log_dir, one in journals}, ids)
    for name in sorted(ids.keys() | folders.keys()):
        topic = Topic(name, ids.get(name) or controller.rng.randbytes(16), configs=known.configs.get(name, {}))
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
    """Say what lies where; what belongs to a topic that is no more is set aside.

    Args:
        controller: has the directories.
        own_ids: what the journal of each directory says of the ids of topics.
        ids: what is true.
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


def _brought(held: dict[int, dict[int, LogDir]], most: int) -> Iterable[Recorded]:
    """Make of folders what a journal would have said."""
    for index in range(min(max(held) + 1, most)):
        ids = tuple(sorted(held.get(index, {})))
        yield Recorded("", index, replicas=ids, isr=ids)


def _add(controller: Controller, topic: Topic, row: Recorded, held: dict[int, LogDir], *, is_known: bool) -> None:
    """Open the replicas of a partition; where a directory works and the folder is missing, that is damage."""
    replicas = {}
    for node in (controller.nodes[node_id] for node_id in row.replicas if node_id in controller.nodes):
        log_dir = held.get(node.node_id) or node.failed()
        replica = replicas[node.node_id] = controller.replica(node, topic.name, row.index, log_dir)
        if is_known and log_dir is None and replica.log is not None:
            replica.log.damage = "its folder is missing"
    partition = Partition(topic.name, row.index, replicas, isr=[one for one in row.isr if one in replicas])
    partition.leader_epoch = row.leader_epoch
    topic.partitions.append(partition)


def _set_aside(name: str, index: int, disk: Disk) -> None:
    disk.set_aside(name, index)
