"""A cluster that starts again: topics as they were, directories that failed meanwhile, replicas made alike."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

from kwire.broker import Node, ServedCluster, Settings
from kwire.broker.server.file_disk import FileDisk
from kwire.values import ErrorCode
from tests.broker.served import batch, fetch, produce, values


def started(root: Path, count: int = 3) -> ServedCluster:
    """Brokers from 1 on, with directories a and b each."""
    nodes = [
        Node(node_id, disks=[FileDisk(str(root / f"{node_id}{one}")) for one in "ab"])
        for node_id in range(1, count + 1)
    ]
    return ServedCluster(nodes, Settings(), Random())


def break_directory(path: Path) -> None:
    """Move a directory away, and put a file in its place."""
    path.rename(path.with_suffix(".was"))
    path.write_bytes(b"")


def mend_directory(path: Path) -> None:
    path.unlink()
    path.with_suffix(".was").rename(path)


def test_topics_are_as_they_were(tmp_path: Path) -> None:
    cluster = started(tmp_path)
    topic = cluster.controller.create("t", {0: [3, 1], 1: [2, 3]}, {"retention.bytes": "9"})
    cluster.controller.grow("t", {2: [1, 2]})
    cluster.controller.configure(topic, {"flush.ms": "5"})
    cluster.controller.delete(cluster.controller.create("gone", {0: [1]}))
    for _ in range(2):  # also what was written anew at the start
        again = started(tmp_path).controller
        found = again.topics["t"]
        assert (list(again.topics), found.topic_id, found.configs) == (["t"], topic.topic_id, topic.configs)
        assert [list(one.replicas) for one in found.partitions] == [[3, 1], [2, 3], [1, 2]]
        assert [one.leader for one in found.partitions] == [3, 2, 1]


def test_epochs_of_leaders_go_up_over_a_restart(tmp_path: Path) -> None:
    cluster = started(tmp_path)
    cluster.controller.create("t", {0: [1, 2]})
    epochs = [started(tmp_path).controller.topics["t"].partitions[0].leader_epoch for _ in range(3)]
    assert epochs == [1, 2, 3]


def test_a_directory_that_is_bad_at_the_start(tmp_path: Path) -> None:
    cluster = started(tmp_path)
    cluster.controller.create("t", {0: [1, 2, 3]})
    cluster.controller.create("alone", {0: [1], 1: [1]})
    produce(cluster, batch(b"x"))
    break_directory(tmp_path / "1a")
    again = started(tmp_path)
    partition = again.controller.topics["t"].partitions[0]
    assert (partition.leader, partition.isr, partition.offline) == (2, [2, 3], (1,))
    assert [one.leader for one in again.controller.topics["alone"].partitions] == [1, -1]  # one lies in 1b
    assert again.controller.nodes[1].is_alive
    assert produce(again, batch(b"y"), node=2).base_offset == 1
    again.controller.create("new", {0: [1]})
    mend_directory(tmp_path / "1a")
    mended = started(tmp_path)
    assert mended.controller.topics["t"].partitions[0].isr == [1, 2, 3]
    assert values(fetch(mended)) == [b"x", b"y"]
    assert produce(mended, batch(b"z"), topic="new").error_code == 0


def test_who_was_not_in_sync_does_not_lead(tmp_path: Path) -> None:
    cluster = started(tmp_path, 2)
    cluster.controller.create("t", {0: [1, 2]})
    cluster.fail(cluster.controller.nodes[2].log_dirs[0])
    produce(cluster, batch(b"x"))
    break_directory(tmp_path / "1a")
    partition = started(tmp_path, 2).controller.topics["t"].partitions[0]
    assert (partition.leader, partition.isr, partition.offline) == (-1, [1], (1,))
    mend_directory(tmp_path / "1a")
    mended = started(tmp_path, 2)
    assert mended.controller.topics["t"].partitions[0].isr == [1, 2]
    assert values(fetch(mended)) == [b"x"]
    segments = [tmp_path / f"{node}a/t-0/00000000000000000000.log" for node in (1, 2)]
    assert segments[0].read_bytes() == segments[1].read_bytes()


def test_what_nobody_else_has_is_cut_off(tmp_path: Path) -> None:
    cluster = started(tmp_path, 2)
    cluster.controller.create("t", {0: [1, 2]})
    produce(cluster, batch(b"x"))
    cluster.fail(cluster.controller.nodes[1].log_dirs[0])
    stray = batch(b"never acknowledged", base_offset=1, partition_leader_epoch=0)
    segments = [tmp_path / f"{node}a/t-0/00000000000000000000.log" for node in (1, 2)]
    with segments[0].open("ab") as stream:  # as if the broker had ended here
        stream.write(stray)
    produce(cluster, batch(b"y"), node=2)
    again = started(tmp_path, 2)
    assert again.controller.topics["t"].partitions[0].isr == [1, 2]
    assert values(fetch(again)) == [b"x", b"y"]
    assert segments[0].read_bytes() == segments[1].read_bytes()


def test_a_replica_that_ends_before_the_others_begin(tmp_path: Path) -> None:
    cluster = started(tmp_path, 2)
    cluster.controller.create("t", {0: [1, 2]})
    produce(cluster, batch(b"x"))
    cluster.fail(cluster.controller.nodes[2].log_dirs[0])
    for value in (b"y", b"z"):
        produce(cluster, batch(value))
    folder = tmp_path / "1a/t-0"
    whole = (folder / f"{0:020}.log").read_bytes()
    (folder / f"{2:020}.log").write_bytes(whole[-len(batch(b"z")) :])  # as after retention
    (folder / f"{0:020}.log").unlink()
    again = started(tmp_path, 2)
    logs = [one.log for one in again.controller.topics["t"].partitions[0].replicas.values()]
    assert [(log.start, log.end) for log in logs if log is not None] == [(2, 3), (2, 3)]


def test_idempotent_producers_go_on(tmp_path: Path) -> None:
    cluster = started(tmp_path, 2)
    cluster.controller.create("t", {0: [1, 2]})
    numbered = {"producer_id": 7, "producer_epoch": 0}
    first, second = (batch(value, base_sequence=number, **numbered) for number, value in enumerate((b"x", b"y")))
    for data in (first, second):
        produce(cluster, data)
    again = started(tmp_path, 2)
    assert [produce(again, data).base_offset for data in (first, second)] == [0, 1]
    late = batch(b"z", base_sequence=5, **numbered)
    assert produce(again, late).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    again.fail(again.controller.nodes[1].log_dirs[0])
    assert produce(again, second, node=2).base_offset == 1
    assert values(fetch(again, node=2)) == [b"x", b"y"]


def test_a_topic_deleted_while_a_directory_had_failed(tmp_path: Path) -> None:
    cluster = started(tmp_path, 2)
    cluster.controller.create("t", {0: [1, 2]})
    produce(cluster, batch(b"old"))
    cluster.fail(cluster.controller.nodes[1].log_dirs[0])
    cluster.delete(cluster.controller.topics["t"])
    cluster.controller.create("t", {0: [2, 1]})
    produce(cluster, batch(b"new"), node=2)
    again = started(tmp_path, 2)
    assert values(fetch(again, node=2)) == [b"new"]
    assert again.controller.topics["t"].partitions[0].isr == [2, 1]
    assert len(list((tmp_path / "1a").glob("t-0.*-stray"))) == 1


def test_brokers_and_directories_that_are_no_more(tmp_path: Path) -> None:
    cluster = started(tmp_path, 3)
    cluster.controller.create("t", {0: [3, 1]})
    produce(cluster, batch(b"x"), node=3)
    shutil.rmtree(tmp_path / "1a")
    again = started(tmp_path, 2)
    partition = again.controller.topics["t"].partitions[0]
    assert (list(partition.replicas), partition.isr) == ([1], [1])


def test_folders_from_another_broker(tmp_path: Path) -> None:
    (tmp_path / "2a/t-1").mkdir(parents=True)
    (tmp_path / "2a/t-1" / f"{0:020}.log").write_bytes(batch(b"x", base_offset=0))
    found = started(tmp_path, 2).controller.topics["t"]
    assert [(one.leader, list(one.replicas)) for one in found.partitions] == [(-1, []), (2, [2])]
