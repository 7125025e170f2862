"""Logs as dumps: recognised by content, plain or compressed; and all logs that real brokers left."""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path

import pytest

import kwire
from kwire import LogBatch, LogRecord
from kwire.capture.logs.batch_spans import explain_batch
from kwire.capture.logs.checks.batch_rebuild import rebuild_batch
from kwire.capture.logs.log_reader import read_log_items
from kwire.capture.logs.log_topic import topic_of_folder
from kwire.errors import DumpError
from tests.capture.logs.building import BATCHES, LOG
from tests.capture.logs.test_log_topic import COMMIT, record
from tests.conftest import ROOT, SHARED, each_of, needs_shared

RUNS = sorted((SHARED / "captures").glob("*.segments"))
OFFSETS = ROOT / "fixtures/logs/__consumer_offsets-1/00000000000000000000.log"
SNAPSHOT = next((ROOT / "fixtures/logs/__cluster_metadata-0").glob("*.checkpoint"))
# Where too few records are left to show it.
UNTOLD = 1


def kind_of(path: Path, topic: str | None = None) -> str:
    with kwire.open_dump(path, topic=topic) as dump:
        return dump.kind


def test_a_log_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "anything.pcap"
    path.write_bytes(LOG)
    assert kind_of(path) == "a log segment"
    path.write_bytes(gzip.compress(LOG))
    assert kind_of(path) == "gzip around a log segment"
    path.write_text(LOG.hex(" "))
    assert kind_of(path).endswith(", a log segment")
    assert [batch.header.data for batch in kwire.read_log(path) if isinstance(batch, LogBatch)] == BATCHES


def test_what_it_is_of_is_shown_told_or_in_the_folders_name(tmp_path: Path) -> None:
    assert kind_of(OFFSETS) == "a log segment of __consumer_offsets, as its records show"
    assert kind_of(OFFSETS, "orders") == "a log segment of orders"
    assert kind_of(SNAPSHOT) == "a snapshot of the metadata log"
    path = tmp_path / "__consumer_offsets-7" / "0.log"
    path.parent.mkdir()
    path.write_bytes(kwire.build_batch([record(COMMIT[0], None)]))
    assert kind_of(path) == "a log segment of __consumer_offsets, by its folder's name (--log-of overrides it)"
    (batch,) = kwire.read_log(path)
    assert isinstance(batch, LogBatch)
    assert [entry.message is not None for entry in batch.entries() if isinstance(entry, LogRecord)] == [True]


def test_late_proof_is_remarked() -> None:
    portions = [kwire.build_batch([record(COMMIT[0], None)]), kwire.build_batch([record(*COMMIT, offset=1)])]
    remarks: list[str] = []
    assert len(list(read_log_items(iter(portions), "file", None, remarks))) == 2
    assert remarks == [
        "from some record on, its records are those of __consumer_offsets: --log-of reads all of them so"
    ]


def test_a_log_has_no_frames_and_frames_are_no_log() -> None:
    with pytest.raises(DumpError, match=r"this is a log: .*read_log"):
        list(kwire.read_dump(OFFSETS))
    with pytest.raises(DumpError, match="this is not a log: it was recognised as raw frames"):
        list(kwire.read_log(ROOT / "fixtures/dumps/kafka-3.9-zk.bin"))


def test_the_end_of_a_compressed_log_that_was_cut_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(LOG)[:-20])
    with pytest.raises(DumpError, match="ends in the middle"):
        list(kwire.read_log(path))


@needs_shared
@each_of("run", RUNS, ids=lambda run: run.stem)
def test_logs_of_real_brokers_are_known_read_explained_and_built_again(run: Path) -> None:
    paths = [path for path in run.rglob("*") if path.suffix in (".log", ".checkpoint") and path.stat().st_size]
    paths = [path for path in paths if not path.stem.strip("0123456789-")]
    untold = 0
    assert paths
    for path in paths:
        size = 0
        with kwire.open_dump(path) as dump:
            assert "log" in dump.kind
            untold += "folder" in dump.kind
            for batch in dump.batches or ():
                assert isinstance(batch, LogBatch)
                assert batch.header.position == size
                size += len(batch.header.data)
                read_to_the_end(batch, path)
        assert size == path.stat().st_size
    assert untold <= UNTOLD


def read_to_the_end(batch: LogBatch, path: Path) -> None:
    topic = topic_of_folder(path.parent.name)
    assert topic in (None, batch.topic)
    for entry in batch.entries():
        assert isinstance(entry, LogRecord)
        assert entry.fault is None
        assert (entry.message is not None) == (batch.topic is not None or batch.header.is_control)
    assert not batch.faults
    was, again, _ = rebuild_batch(batch.header)
    assert was == again
    for part in explain_batch(batch):
        if part is not None:
            assert not {span.type for span in part.spans} & {"not understood", "left over"}
            assert sum(span.stop - span.start for span in part.spans) == len(part.data)


@needs_shared
def test_other_files_of_brokers_are_not_recognised_as_logs() -> None:
    others = [
        path for run in RUNS for path in run.rglob("*") if path.is_file() and path.suffix not in (".log", ".checkpoint")
    ]
    captures = sorted((SHARED / "captures").glob("*.pcap"))
    assert len(others) > 300
    for path in [*others, *captures]:
        with suppress(DumpError):
            assert "a log segment" not in kind_of(path), path
