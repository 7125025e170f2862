"""Log directories: what is written is read back by kwire's own reader of logs, and by a broker that starts again."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

import kwire
from kwire.broker import MemoryDisk, Node, ServedCluster, Settings
from kwire.broker.groups.committed_offsets import Commit
from kwire.broker.log.batch_recovery import LogDamage, StoredBatch
from kwire.broker.node import LogDir
from kwire.broker.server.file_disk import FileDisk, ReadOnlyDisk, locked
from kwire.broker.server.file_store import FileStore
from kwire.cli.main import main
from kwire.errors import CallError
from kwire.values import ErrorCode
from tests.broker.driving import World
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


def places_in(folder: Path) -> list[Any]:
    found = list(FileStore(folder).batches())
    assert not any(isinstance(one, LogDamage) for one in found)
    return [one.place for one in found if isinstance(one, StoredBatch)]


def test_segments_are_rolled_read_and_dropped(tmp_path: Path) -> None:
    data = [kwire.build_batch([kwire.Record(offset, 0, None, b"v")]) for offset in range(5)]
    store = FileStore(tmp_path, segment_bytes=2 * len(data[0]))
    places = [store.append(one, offset) for offset, one in enumerate(data)]
    assert [place[0] for place in places] == [0, 0, 2, 2, 4]
    assert store.read(places[1:4]) == b"".join(data[1:4])
    assert places_in(tmp_path) == places
    store.drop_before(3)
    assert sorted(int(path.stem) for path in tmp_path.iterdir()) == [2, 4]


@pytest.mark.parametrize("kept", range(6))
def test_what_is_behind_a_place_is_cut_off(tmp_path: Path, kept: int) -> None:
    data = [kwire.build_batch([kwire.Record(offset, 0, None, b"v")]) for offset in range(5)]
    store = FileStore(tmp_path, segment_bytes=2 * len(data[0]))
    places = [store.append(one, offset) for offset, one in enumerate(data)][:kept]
    store.truncate(places[-1] if places else None)
    assert places_in(tmp_path) == places
    store.append(data[0], 7)
    assert len(places_in(tmp_path)) == len(places) + 1


def test_a_directory_is_looked_after(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path / "d"))
    disk.journal("metadata")
    disk.check()
    assert list((tmp_path / "d").iterdir()) == []
    assert disk.space()[0] > 0
    (tmp_path / "d").rename(tmp_path / "e")
    for use in (disk.check, disk.space):
        with pytest.raises(FileNotFoundError):
            use()
    (tmp_path / "d").touch()
    for act in (disk.check, lambda: disk.journal("metadata"), disk.partitions):
        with pytest.raises(OSError, match="d"):
            act()


def test_a_directory_that_fails_is_noticed(tmp_path: Path) -> None:
    cluster = started(tmp_path, count=2)
    cluster.controller.create("t", {0: [1, 2]})
    produce(cluster, batch(b"x"))
    segment = tmp_path / "1/t-0/00000000000000000000.log"
    segment.unlink()
    segment.mkdir()  # what cannot be written, by root either
    assert produce(cluster, batch(b"y")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert produce(cluster, batch(b"y"), node=2).base_offset == 1
    assert values(fetch(cluster, node=2)) == [b"x", b"y"]


def test_a_log_of_an_old_format_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "1/t-0"
    folder.mkdir(parents=True)
    data = batch(b"v", magic=1)
    (folder / "00000000000000000000.log").write_bytes(data)
    cluster = started(tmp_path)
    assert cluster.controller.nodes[1].log_dirs[0].is_offline
    assert (folder / "00000000000000000000.log").read_bytes() == data


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let the system write no file further, as a full disk would."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_batch_that_is_written_in_part_is_a_failed_directory(tmp_path: Path) -> None:
    cluster = started(tmp_path, count=2)
    cluster.controller.create("t", {0: [1, 2]})
    produce(cluster, batch(b"x"))
    segment = tmp_path / "1/t-0/00000000000000000000.log"
    size = segment.stat().st_size
    with files_of_at_most(size + 10):
        answer = produce(cluster, batch(b"y"))
    assert (answer.error_code, segment.stat().st_size) == (ErrorCode.KAFKA_STORAGE_ERROR, size)
    assert cluster.controller.nodes[1].log_dirs[0].is_offline
    for node_id in (1, 2):  # the journals could not be written either
        cluster.heal(cluster.controller.nodes[node_id].log_dirs[0])
    leader = cluster.controller.topics["t"].partitions[0].leader
    assert produce(cluster, batch(b"z"), node=leader).base_offset == 1
    again = started(tmp_path, count=2)
    assert not [note for note in again.notes if "cut" in note]  # half a batch is not left
    leader = again.controller.topics["t"].partitions[0].leader
    assert values(fetch(again, node=leader)) == [b"x", b"z"]


def test_a_batch_that_is_written_in_part_names_its_file(tmp_path: Path) -> None:
    words = r"a batch was written in part: File too large.*000\.log"
    with files_of_at_most(10), pytest.raises(OSError, match=words) as raised:
        FileStore(tmp_path).append(batch(b"v"), 0)
    assert raised.value.errno == errno.EFBIG


def test_a_directory_that_is_in_use_names_who_uses_it(tmp_path: Path) -> None:
    disk, other = FileDisk(str(tmp_path / "d")), FileDisk(str(tmp_path / "d/../d"))
    with disk.locked():
        with pytest.raises(CallError, match="d: this log directory is named twice"), other.locked():
            pass
        (tmp_path / "d/.lock").write_text("1\n")  # as if another process had locked it: 1 is alive
        with pytest.raises(CallError, match=r"process 1 uses this log directory \(\.lock is locked\)"), other.locked():
            pass
        (tmp_path / "d/.lock").write_text("")  # as Kafka's
        with pytest.raises(CallError, match="another process uses this log directory"), other.locked():
            pass
    with other.locked():
        assert (tmp_path / "d/.lock").read_text().strip() == str(os.getpid())
    assert (tmp_path / "d/.lock").read_text() == ""


def test_a_directory_that_cannot_be_locked_is_offline(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log_dirs = [LogDir(FileDisk(str(tmp_path / name))) for name in ("file", "good")] + [LogDir(MemoryDisk())]
    with locked(log_dirs):
        assert [one.is_offline for one in log_dirs] == [True, False, False]


def test_a_posix_lock_as_kafkas_is_respected(tmp_path: Path) -> None:
    hold = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path / ".lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(CallError, match="another process uses"), FileDisk(str(tmp_path)).locked():
            pass
        process.communicate("\n", timeout=180)
    with FileDisk(str(tmp_path)).locked():
        pass


def test_a_deleted_topic_is_gone(tmp_path: Path) -> None:
    cluster = started(tmp_path)
    topic = cluster.controller.create("t", {0: [1]})
    cluster.controller.delete(topic)
    assert [path for path in (tmp_path / "1").iterdir() if path.is_dir()] == []
    assert started(tmp_path).controller.topics == {}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def read_only(folder: Path) -> ServedCluster:
    node = Node(1, disks=[ReadOnlyDisk(str(folder))])
    return ServedCluster([node], Settings(read_only=True), Random(2))


def as_kafkas(folder: Path, topic_id: bytes) -> None:
    """Leave what a real broker's directory has: no journal, but two small files."""
    for journal in folder.glob("kwire-*"):
        journal.unlink()
    (folder / "meta.properties").write_text("#\nversion=1\ncluster.id=Zy7nNyXBRlmG8ybCRZyFqw\nnode.id=3\n")
    text = urlsafe_b64encode(topic_id).decode().rstrip("=")
    (folder / "t-0/partition.metadata").write_text(f"version: 0\ntopic_id: {text}\n")


def test_a_directory_is_served_and_not_changed(tmp_path: Path) -> None:
    world = World(disks=[FileDisk(str(tmp_path))])
    (mate,) = world.mates(1)
    for value in (b"a", b"b"):
        produce(world.cluster, batch(value))
    assert mate.commit(2) == 0
    topic_id = world.cluster.controller.topics["t"].topic_id
    as_kafkas(tmp_path, topic_id)
    before = contents(tmp_path)
    for _ in range(2):
        cluster = mate.world.cluster = read_only(tmp_path)
        assert values(fetch(cluster)) == [b"a", b"b"]
        assert (cluster.cluster_id, cluster.controller.topics["t"].topic_id) == ("Zy7nNyXBRlmG8ybCRZyFqw", topic_id)
        group = cluster.groups.find("g")
        assert group is not None
        commit = group.commits.get("t", 0, topic_id)
        assert commit is not None
        assert (commit._replace(time_ms=-1), list(group.members)) == (Commit(2, -1, "", topic_id), [mate.member_id])
        assert mate.commit(1) == 0  # in memory
        last = group.commits.last("t", 0)
        assert last is not None
        assert last.offset == 1
        assert produce(cluster, batch(b"c")).error_code == ErrorCode.POLICY_VIOLATION
        cluster.delete(cluster.controller.topics["t"])
        cluster.controller.create("new", {0: [1]})
        cluster.check()
        assert contents(tmp_path) == before


def test_damage_in_a_directory_that_is_read_only_is_left_there(tmp_path: Path) -> None:
    cluster = started(tmp_path)
    cluster.controller.create("t", {0: [1]})
    for value in (b"a", b"b"):
        produce(cluster, batch(value))
    segment = tmp_path / "1/t-0/00000000000000000000.log"
    segment.write_bytes(segment.read_bytes()[:-1])
    before = contents(tmp_path)
    again = read_only(tmp_path / "1")
    assert values(fetch(again)) == [b"a"]
    assert again.notes == [f"t-0: cut at offset 1, 68 bytes lost: cut short (broker 1, {tmp_path}/1)"]
    assert contents(tmp_path) == before


def test_what_is_not_there_cannot_be_read_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", ":0", "--read-only"]) == 2
    assert main(["serve", ":0", "--read-only", "--data", str(tmp_path / "no")]) == 2
    first, second = [line for line in capsys.readouterr().err.splitlines() if "error: " in line]
    assert "--read-only needs a log directory" in first
    assert "No such file or directory" in second
    assert not (tmp_path / "no").exists()
