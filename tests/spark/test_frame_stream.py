"""Streams into a lake: each frame once, whatever ends the job between two batches or inside of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwire.arrow.read_options import BadOption
from kwire.spark import pipeline, stream_captures, stream_to_lake
from kwire.spark.lakes.lake import Lake
from tests.arrow.captures import PCAP, rows_of
from tests.arrow.pieces import content, cut_at_packets


def run(spark: Any, folder: Path, place: Path) -> None:
    """Write what is there to a lake, a file in a batch."""
    frames = stream_captures(spark, str(folder), body="raw", maxFilesPerTrigger=1)
    writer = stream_to_lake(frames, str(place / "lake"), str(place / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(400), "it did not end"
    finally:
        query.stop()


def frames_in(spark: Any, place: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = spark.read.parquet(str(place / "lake/frames")).toArrow().to_pylist()
    return rows


def pieces_in(tmp_path: Path, count: int) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for piece in cut_at_packets(PCAP, tmp_path / "cut", count):
        piece.rename(folder / piece.name)
    return folder


def good_content(rows: list[dict[str, Any]]) -> Any:
    return content([row for row in rows if row["_error"] is None])


def test_a_batch_that_is_written_again_is_there_once(spark: Any, tmp_path: Path) -> None:
    folder = pieces_in(tmp_path, 3)
    run(spark, folder, tmp_path)
    rows = frames_in(spark, tmp_path)
    assert good_content(rows) == good_content(rows_of(PCAP, body="raw"))
    assert len({row["run"] for row in rows}) == 3
    assert {str(row["dt"]) for row in rows} == {str(row["timestamp"].date()) for row in rows}
    last = max((tmp_path / "checkpoint/commits").glob("[0-9]*"), key=lambda path: int(path.name))
    for path in (last, last.with_name(f".{last.name}.crc")):
        path.unlink(missing_ok=True)  # as if the job had been killed after the lake had the batch
    run(spark, folder, tmp_path)
    assert content(frames_in(spark, tmp_path)) == content(rows)


def test_a_batch_that_ends_before_its_decision_is_written_again(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pieces_in(tmp_path, 2)
    commit, left = Lake.commit, [1]

    def fail_once(lake: Lake, *arguments: Any) -> None:
        if not left[0]:
            left[0] = -1
            raise OSError("no space left")
        left[0] -= 1
        commit(lake, *arguments)

    monkeypatch.setattr(Lake, "commit", fail_once)
    with pytest.raises(Exception, match="no space left"):
        run(spark, folder, tmp_path)
    assert len({row["run"] for row in frames_in(spark, tmp_path)}) == 1
    run(spark, folder, tmp_path)
    assert good_content(frames_in(spark, tmp_path)) == good_content(rows_of(PCAP, body="raw"))
    assert len(list((tmp_path / "lake/_manifest").iterdir())) == 1  # only the last batch can come again
    assert list((tmp_path / "lake/_staging").iterdir()) == []


def test_a_lake_is_written_by_a_stream_or_by_runs(spark: Any, tmp_path: Path) -> None:
    folder = pieces_in(tmp_path, 1)
    run(spark, folder, tmp_path)
    with pytest.raises(BadOption, match="a stream writes this lake"):
        pipeline.run(spark, [str(folder)], str(tmp_path / "lake"))
    frames = stream_captures(spark, str(folder))
    with pytest.raises(Exception, match="another stream writes this lake"):
        writer = stream_to_lake(frames, str(tmp_path / "lake"), str(tmp_path / "other"))
        writer.trigger(availableNow=True).start().awaitTermination(400)
    with pytest.raises(BadOption, match=r"the tables in .* are parquet"):
        stream_to_lake(frames, str(tmp_path / "lake"), str(tmp_path / "checkpoint"), table_format="delta")
    with pytest.raises(BadOption, match="parquet, delta or iceberg"):
        stream_to_lake(frames, str(tmp_path / "new"), str(tmp_path / "checkpoint"), table_format="orc")
    pipeline.run(spark, [str(folder)], str(tmp_path / "batch"))
    with pytest.raises(BadOption, match="it has files that no stream has written"):
        stream_to_lake(frames, str(tmp_path / "batch"), str(tmp_path / "checkpoint"))
