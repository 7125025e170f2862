"""Rotated captures as a stream: connections go on over files, batches and restarts, and no file is read twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwire.arrow.growing_files import LostData
from kwire.arrow.read_options import Options
from kwire.spark import stream_captures
from kwire.spark.capture_stream import ArrivalReader
from tests.arrow.captures import PCAP, rows_of
from tests.arrow.pieces import content, cut_at_packets


def run(spark: Any, folder: Path, place: Path) -> None:
    frames = stream_captures(spark, str(folder), body="raw", maxFilesPerTrigger=2, maxPartitionBytes=9000)
    writer = frames.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(place / "out"))
    try:
        assert query.awaitTermination(120)
    finally:
        query.stop()


def test_connections_go_on_over_files_and_restarts(spark: Any, tmp_path: Path) -> None:
    folder, place = tmp_path / "in", tmp_path / "table"
    folder.mkdir()
    pieces = cut_at_packets(PCAP, tmp_path / "cut", 5)
    for piece in pieces[:3]:
        piece.rename(folder / piece.name)
    run(spark, folder, place)
    (folder / pieces[0].name).rename(folder / "renamed.pcap")
    for piece in pieces[3:]:
        piece.rename(folder / piece.name)
    run(spark, folder, place)
    rows = spark.read.parquet(str(place / "out")).toArrow().to_pylist()
    good, expected = (
        content([row for row in some if row["_error"] is None]) for some in (rows, rows_of(PCAP, body="raw"))
    )
    assert good == expected


@pytest.fixture
def reader(tmp_path: Path) -> ArrivalReader:
    return ArrivalReader(Options(), [str(tmp_path)])


def test_a_file_is_known_by_its_content(reader: ArrivalReader, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(PCAP.read_bytes())
    first = reader.latestOffset(reader.initialOffset())
    path.rename(tmp_path / "b.pcap")
    assert reader.latestOffset(first) == first
    (part,) = reader.partitions(reader.initialOffset(), first)
    assert [split.path for split in part.splits] == [str(tmp_path / "b.pcap")]
    (tmp_path / "b.pcap").unlink()
    with pytest.raises(LostData, match="not there any more"):
        reader.partitions(reader.initialOffset(), first)


def test_a_file_that_grows_was_not_whole(reader: ArrivalReader, tmp_path: Path) -> None:
    path, data = tmp_path / "a.pcap", PCAP.read_bytes()
    path.write_bytes(data[:500])
    first = reader.latestOffset(reader.initialOffset())
    path.write_bytes(data)
    with pytest.raises(LostData, match="it had not been whole"):
        reader.latestOffset(first)
    path.write_bytes(data[::-1])  # another file of this name
    assert len(reader.latestOffset(first)["files"]) == 2


def test_a_file_is_read_once_it_has_not_changed_for_some_time(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(PCAP.read_bytes())
    waiting = ArrivalReader(Options(tail_timeout=10_000), [str(tmp_path)])
    assert waiting.latestOffset(waiting.initialOffset()) == waiting.initialOffset()
