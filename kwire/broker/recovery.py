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
from .journal import Journal, Known, broker_record, topic_records
from .nodes import LogDir
from .partitions import Partition
from .topics import Topic

Folders = dict[str, dict[int, dict[int, LogDir]]]  # by topic, partition and broker
Journals = list[tuple[LogDir, Journal]]


def recover(controller: Controller) -> None:
    """Find the topics that the directories hold, and let their replicas be alike."""
    journals = _journals(controller)
    known = max((journal.known for _, journal in journals), key=lambda one: one.end, default=Known())
    ids = known.ids()
    folders = _folders(controller, journals, ids)
    for name in sorted(ids.keys() | folders.keys()):
        topic = Topic(name, ids.get(name) or controller.rng.randbytes(16), configs=known.configs.get(name, {}))
        controller.topics[name] = controller.by_id[topic.topic_id] = topic
        held = folders.get(name, {})
        rows = known.state.partitions(name) if name in ids else _brought(held, controller.settings.most_partitions)
        for row in rows:
            _add(controller, topic, row, held.get(row.index, {}))
    controller.fail()
    _begin(controller, journals, known.end)


def _journals(controller: Controller) -> Journals:
    found: Journals = []

    def open_journal(log_dir: LogDir, disk: Disk) -> None:
        found.append((log_dir, Journal(disk)))

    for node in controller.nodes.values():
        for log_dir in node.log_dirs:
            controller.guarded(log_dir, partial(open_journal, log_dir))
    return found


def _begin(controller: Controller, journals: Journals, end: int) -> None:
    """Write anew what is true now, behind what was written before, and go on from there."""
    records = [broker_record(node) for node in controller.nodes.values()]
    records += [row for topic in controller.topics.values() for row in topic_records(topic, topic.partitions)]
    for log_dir, journal in journals:
        controller.guarded(log_dir, partial(_rewrite, journal, records, end))
    controller.journals, controller.journal_end = journals, end + len(records)


def _folders(controller: Controller, journals: Journals, ids: dict[str, bytes]) -> Folders:
    """Say what lies where; what belongs to a topic that is no more is set aside."""
    found: Folders = {}
    own_ids = {id(log_dir): journal.known.ids() for log_dir, journal in journals}
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


def _add(controller: Controller, topic: Topic, row: Recorded, held: dict[int, LogDir]) -> None:
    """Open the replicas of a partition, and begin with what they hold."""
    nodes = [controller.nodes[node_id] for node_id in row.replicas if node_id in controller.nodes]
    replicas = {
        node.node_id: controller.replica(node, topic.name, row.index, held.get(node.node_id) or node.failed())
        for node in nodes
    }
    partition = Partition(topic.name, row.index, replicas, isr=[one for one in row.isr if one in replicas])
    partition.leader_epoch = row.leader_epoch
    topic.partitions.append(partition)
    controller.fail(*partition.recover())


def _rewrite(journal: Journal, records: list[bytes], end: int, disk: Disk) -> None:
    journal.rewrite(records, end)


def _set_aside(name: str, index: int, disk: Disk) -> None:
    disk.set_aside(name, index)
