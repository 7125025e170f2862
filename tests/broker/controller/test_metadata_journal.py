"""The journal: KRaft's own records, which kwire's reader of metadata logs understands; damage is a broken disk."""

from __future__ import annotations

from pathlib import Path

import kwire
from kwire.broker import MemoryDisk, Store
from kwire.broker.controller.journal_records import JournaledState
from kwire.broker.controller.metadata_journal import Journal
from kwire.broker.log.memory_disk import MemoryStore
from kwire.broker.node import LogDir
from kwire.broker.server.file_disk import FileDisk
from tests.broker.controller.test_restart_recovery import started
from tests.broker.served import cluster_of


def test_all_directories_have_the_same_and_kwire_reads_it(tmp_path: Path) -> None:
    cluster = started(tmp_path, 2)
    topic = cluster.controller.create("t", {0: [2, 1]}, {"retention.bytes": "9"})
    cluster.fail(cluster.controller.nodes[2].log_dirs[0])
    files = [tmp_path / f"{name}/kwire-metadata-{0:020}.log" for name in ("1a", "1b", "2b")]
    assert len({file.read_bytes() for file in files}) == 1
    known = Journal(FileDisk(str(tmp_path / "1b")).journal("metadata"), JournaledState).known
    partition = known.state.topics["t"][0]
    assert (known.ids(), known.configs) == ({"t": topic.topic_id}, {"t": {"retention.bytes": "9"}})
    assert list(known.state.brokers or ()) == [1, 2]
    assert (partition.replicas, partition.isr, partition.leader, partition.leader_epoch) == ((2, 1), (1,), 1, 1)


def test_what_is_written_anew_takes_the_place_of_the_old(tmp_path: Path) -> None:
    cluster = started(tmp_path, 1)
    for _ in range(20):
        cluster.delete(cluster.controller.create("t", {0: [1]}))
    cluster.controller.create("t", {0: [1]})
    started(tmp_path, 1)
    (file,) = (tmp_path / "1a").glob("kwire-metadata-*")
    assert len([one for batch in kwire.parse_records(file.read_bytes()) for one in batch.records()]) == 4


def test_a_journal_that_is_none_is_a_broken_disk(tmp_path: Path) -> None:
    (tmp_path / "1a").mkdir()
    data = kwire.build_batch([kwire.Record(0, 0, None, b"\x07")], base_offset=0)
    (tmp_path / f"1a/kwire-metadata-{0:020}.log").write_bytes(data)
    cluster = started(tmp_path, 1)
    assert [log_dir.is_offline for log_dir in cluster.controller.nodes[1].log_dirs] == [True, False]


def test_a_directory_that_fails_while_the_journal_is_written() -> None:
    class Full(MemoryDisk):
        def journal(self, name: str) -> Store:
            return FullStore() if self.path == "b" else MemoryStore()

    class FullStore(MemoryStore):
        def append(self, data: bytes, base_offset: int) -> bytes:
            raise OSError(28, "No space left on device")

    cluster = cluster_of(1, disks=[MemoryDisk("a")])
    node = cluster.controller.nodes[1]
    node.log_dirs = [LogDir(Full("a")), LogDir(Full("b"))]
    cluster.controller.journals.open(reversed(node.log_dirs), JournaledState, cluster.notes.append)
    topic = cluster.controller.create("t", {0: [1], 1: [1]})
    assert [log_dir.is_offline for log_dir in node.log_dirs] == [False, True]
    assert [one.leader for one in topic.partitions] == [1, -1]
