"""Log directories: what is written is read back by kwire's own reader of logs, and by a broker that starts again."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import kwire
from kwire.broker import Node, ServedCluster, Settings, codes
from kwire.net.logdirs import FileDisk, FileStore
from tests.broker.served import batch, fetch, produce, values


def started(*paths: Path, count: int = 1) -> ServedCluster:
    nodes = [
        Node(node_id, disks=[FileDisk(str(path / str(node_id))) for path in paths]) for node_id in range(1, count + 1)
    ]
    return ServedCluster(nodes, Settings(), Random(1))


def test_a_broker_that_starts_again_has_its_records(tmp_path: Path) -> None:
    cluster = started(tmp_path)
    cluster.controller.create("a-b.c", {0: [1], 1: [1]})
    for value in (b"x", b"y"):
        produce(cluster, batch(value), topic="a-b.c", index=1)
    again = started(tmp_path)
    assert [len(topic.partitions) for topic in again.controller.topics.values()] == [2]
    assert values(fetch(again, topic="a-b.c", index=1)) == [b"x", b"y"]
    assert produce(again, batch(b"z"), topic="a-b.c", index=1).base_offset == 2
    segment = tmp_path / "1/a-b.c-1/00000000000000000000.log"
    records = [record for one in kwire.parse_records(segment.read_bytes()) for record in one.records()]
    assert [(record.offset, record.value) for record in records] == [(0, b"x"), (1, b"y"), (2, b"z")]


def test_a_torn_end_is_cut_off_and_given_again(tmp_path: Path) -> None:
    cluster = started(tmp_path, count=2)
    cluster.controller.create("t", {0: [1, 2]})
    for value in (b"x", b"y"):
        produce(cluster, batch(value))
    files = [tmp_path / f"{node}/t-0/00000000000000000000.log" for node in (1, 2)]
    whole = files[0].read_bytes()
    assert files[1].read_bytes() == whole
    files[0].write_bytes(whole[:-3])
    again = started(tmp_path, count=2)
    assert files[0].read_bytes() == whole
    assert values(fetch(again)) == [b"x", b"y"]


def test_segments_are_rolled_read_and_dropped(tmp_path: Path) -> None:
    data = [kwire.build_batch([kwire.Record(offset, 0, None, b"v")]) for offset in range(5)]
    store = FileStore(tmp_path, segment_bytes=2 * len(data[0]))
    places = [store.append(one, offset) for offset, one in enumerate(data)]
    assert [place[0] for place in places] == [0, 0, 2, 2, 4]
    assert store.read(places[1:4]) == b"".join(data[1:4])
    assert [place for _, place in FileStore(tmp_path).batches()] == places
    store.drop_before(3)
    assert sorted(int(path.stem) for path in tmp_path.iterdir()) == [2, 4]


@pytest.mark.parametrize("kept", range(6))
def test_what_is_behind_a_place_is_cut_off(tmp_path: Path, kept: int) -> None:
    data = [kwire.build_batch([kwire.Record(offset, 0, None, b"v")]) for offset in range(5)]
    store = FileStore(tmp_path, segment_bytes=2 * len(data[0]))
    places = [store.append(one, offset) for offset, one in enumerate(data)][:kept]
    store.truncate(places[-1] if places else None)
    assert [place for _, place in FileStore(tmp_path).batches()] == places
    store.append(data[0], 7)
    assert len(list(FileStore(tmp_path).batches())) == len(places) + 1


def test_a_directory_is_looked_after(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path / "d"))
    disk.journal()
    disk.check()
    assert list((tmp_path / "d").iterdir()) == []
    assert disk.space()[0] > 0
    (tmp_path / "d").rename(tmp_path / "e")
    for use in (disk.check, disk.space):
        with pytest.raises(FileNotFoundError):
            use()
    (tmp_path / "d").touch()
    for act in (disk.check, disk.journal, disk.partitions):
        with pytest.raises(OSError, match="d"):
            act()


def test_a_directory_that_fails_is_noticed(tmp_path: Path) -> None:
    cluster = started(tmp_path, count=2)
    cluster.controller.create("t", {0: [1, 2]})
    produce(cluster, batch(b"x"))
    segment = tmp_path / "1/t-0/00000000000000000000.log"
    segment.unlink()
    segment.mkdir()  # what cannot be written, by root either
    assert produce(cluster, batch(b"y")).error_code == codes.KAFKA_STORAGE_ERROR
    assert produce(cluster, batch(b"y"), node=2).base_offset == 1
    assert values(fetch(cluster, node=2)) == [b"x", b"y"]


@pytest.mark.parametrize("damage", ["old", "inside"])
def test_logs_that_are_not_ours_are_left_alone(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "1/t-0"
    folder.mkdir(parents=True)
    data = batch(b"v", magic=1) if damage == "old" else batch(b"v")[:-1] + b"\xff"
    (folder / "00000000000000000000.log").write_bytes(data)
    (folder / "00000000000000000009.log").write_bytes(b"")
    cluster = started(tmp_path)
    assert cluster.controller.nodes[1].log_dirs[0].is_offline
    assert (folder / "00000000000000000000.log").read_bytes() == data


def test_a_deleted_topic_is_gone(tmp_path: Path) -> None:
    cluster = started(tmp_path)
    topic = cluster.controller.create("t", {0: [1]})
    cluster.controller.delete(topic)
    assert [path for path in (tmp_path / "1").iterdir() if path.is_dir()] == []
    assert started(tmp_path).controller.topics == {}
