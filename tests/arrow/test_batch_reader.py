"""Nothing is lost: rows put together give back the file, however it was divided and whatever is in it."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kwire
from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.input_splits import InputSplit
from kwire.arrow.read_options import Options
from kwire.arrow.rows.row_faults import MalformedFrame
from tests.arrow.captures import FRAMES, LOG, PCAP, TIMES, conversation, dated, rows_of, write

REAL = [frame.data for frame in kwire.read_dump(FRAMES)]
HANDSHAKE = kwire.encode_request(kwire.messages.SaslHandshakeRequest(mechanism="PLAIN"), 0, correlation_id=5)
HANDSHAKEN = kwire.encode_response(kwire.messages.SaslHandshakeResponse(mechanisms=("PLAIN",)), 0, correlation_id=5)
UNKNOWN = bytes.fromhex("0000000c 7fff 0000 00000001 0002 6d65")
TOKENS = [bytes.fromhex("00000003 006100"), bytes(4)]
sizes = st.integers(-9, 60).map(lambda size: size.to_bytes(4, "big", signed=True))
pieces = st.one_of(
    st.sampled_from([*REAL, *conversation(4), HANDSHAKE, HANDSHAKEN, UNKNOWN, *TOKENS]),
    st.binary(max_size=40).map(lambda body: len(body).to_bytes(4, "big") + body),
    st.tuples(sizes, st.binary(max_size=30)).map(b"".join),
)


@given(
    data=st.lists(pieces, max_size=20).map(b"".join),
    cut=st.integers(0, 30),
    corrupt=st.integers(1, 20),
    rows=st.integers(1, 7),
)
@example(b"".join([HANDSHAKE, HANDSHAKEN, *TOKENS, *REAL]), 0, 1, 1)
def test_rows_give_back_the_file(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cut: int, corrupt: int, rows: int
) -> None:
    path = write(tmp_path_factory.mktemp("any"), data[: max(0, len(data) - cut)])
    options: dict[str, Any] = {"dumpFormat": "frames", "maxCorruptBytes": corrupt}
    small = {**options, "maxRecordsPerBatch": rows, "maxBytesPerBatch": 500}
    found = rows_of(path, body="raw", **small)
    assert b"".join(row["message"] or row["_corrupt_record"] for row in found) == path.read_bytes()
    offset = 0
    for row in found:
        assert (row["offset"], row["length"]) == (offset, len(row["message"] or row["_corrupt_record"]))
        assert (row["message"] is None) == (row["_error"] is not None)
        offset += row["length"]
    for body in ("raw", "json"):
        assert rows_of(path, body=body, **small) == rows_of(path, body=body, **options)


@given(data=st.lists(st.one_of(pieces, st.binary(max_size=50)), max_size=5).map(b"".join))
def test_no_file_makes_it_raise(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = write(tmp_path_factory.mktemp("any"), data)
    rows = rows_of(path)
    assert bool(rows) == bool(data)


@pytest.mark.parametrize("flip", [3, 40, 130, 200, 700])
def test_a_damaged_capture_is_read_as_far_as_it_goes(tmp_path: Path, flip: int) -> None:
    data = bytearray(PCAP.read_bytes())
    data[flip] ^= 0xFF
    assert rows_of(write(tmp_path, bytes(data)))


def test_what_is_no_dump_goes_out_in_pieces(tmp_path: Path) -> None:
    data = b"\xff\xee" * 50
    rows = rows_of(write(tmp_path, data), maxCorruptBytes=30)
    assert b"".join(row["_corrupt_record"] for row in rows) == data
    assert [row["offset"] for row in rows] == [0, 30, 60, 90]
    assert {row["_error"]["code"] for row in rows} == {"NO_FRAME"}
    assert "not a capture, log, hex dump or Kafka frame" in rows[0]["_error"]["reason"]


def test_the_rows_of_a_capture_are_what_the_command_line_says_of_it() -> None:
    rows = rows_of(PCAP)
    results: list[Any] = list(kwire.decode_frames(kwire.read_dump(PCAP)))
    assert len(rows) == len(results) > 100
    for row, result in zip(rows, results, strict=True):
        assert (row["direction"], row["api_key"], row["api_version"], row["correlation_id"]) == (
            result.codec.spec.type,
            result.api_key,
            result.api_version,
            result.correlation_id,
        )
        assert (row["length"], row["offset"]) == (len(result.frame.data), result.frame.source.offset)
        assert f"{row['connection']['src']}:{row['connection']['src_port']}" == result.frame.source.client
        assert f"{row['connection']['dst']}:{row['connection']['dst_port']}" == result.frame.source.broker
        assert row["timestamp"].timestamp() == pytest.approx(result.frame.source.time, abs=1e-6)
        assert row["path"] == str(PCAP)
        assert row["_error"] is None


def test_shares_of_a_capture_have_all_its_connections_once() -> None:
    whole = rows_of(PCAP)
    parts = BatchReader(Options.parse({"maxPartitionBytes": 5000, "openCostInBytes": 0})).divide([str(PCAP)])
    assert len(parts) > 2

    def key(row: Any) -> Any:
        connection = row["connection"]
        return connection["src_port"], connection["began"], row["direction"], row["offset"]

    assert sorted(rows_of(PCAP, parts), key=key) == sorted(whole, key=key)


def test_compressed_frames_are_frames(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(FRAMES.read_bytes()))
    plain = [{**row, "path": str(path)} for row in rows_of(FRAMES)]
    for dump_format in ("auto", "frames"):
        assert rows_of(path, dumpFormat=dump_format) == plain
    cut = write(tmp_path, gzip.compress(FRAMES.read_bytes())[:-9], "cut")
    *rows, last = rows_of(cut, body="raw")
    assert b"".join(row["message"] or row["_corrupt_record"] for row in rows) == FRAMES.read_bytes()
    assert (last["_error"]["code"], last["_corrupt_record"]) == ("NO_FRAME", None)
    assert "ends in the middle" in last["_error"]["reason"]


def test_hex_text_is_read_as_what_it_says(tmp_path: Path) -> None:
    path = write(tmp_path, FRAMES.read_bytes().hex(" ").encode())
    assert rows_of(path, dumpFormat="hex") == [{**row, "path": str(path)} for row in rows_of(FRAMES)]
    assert rows_of(path, dumpFormat="pcap")[0]["_error"]["reason"].startswith(
        f"the dump cannot be read further: {path}"
    )


def test_a_line_of_a_log_of_requests_is_a_row(tmp_path: Path) -> None:
    from kwire.render.json_objects.frame_json import json_line

    line = json_line(next(kwire.decode_frames([kwire.Frame(REAL[0])])))
    (row,) = rows_of(write(tmp_path, line.encode()))
    assert (row["direction"], row["api_name"], row["correlation_id"]) == ("request", "LeaderAndIsr", 22)
    assert row["message"] == rows_of(FRAMES)[0]["message"]


def test_a_log_has_a_row_a_batch() -> None:
    rows = rows_of(LOG, body="raw")
    assert b"".join(row["message"] for row in rows) == LOG.read_bytes()
    assert [row["offset"] for row in rows][:2] == [0, rows[0]["length"]]
    assert {row["direction"] for row in rows} == {None}


def test_a_damaged_log_keeps_its_bytes(tmp_path: Path) -> None:
    data = LOG.read_bytes() + b"\xff" * 100
    rows = rows_of(write(tmp_path, data), body="raw")
    assert b"".join(row["message"] or row["_corrupt_record"] for row in rows) == data
    assert rows[-1]["_error"] is not None


def test_zeros_behind_a_log_are_counted_and_harmless(tmp_path: Path) -> None:
    path = write(tmp_path, LOG.read_bytes() + bytes(5000))
    last = rows_of(path, mode="FAILFAST")[-1:] or rows_of(path)[-1:]
    assert last[0]["length"] == 5000
    assert rows_of(path)[-1]["_error"]["code"] == "PADDING"


def test_failfast_says_where(tmp_path: Path) -> None:
    path = write(tmp_path, REAL[0] + UNKNOWN)
    with pytest.raises(
        MalformedFrame, match=rf"path={path}, offset={len(REAL[0])}, api=32767, version=0: api key 32767 is not known"
    ):
        rows_of(path, mode="FAILFAST")
    assert len(rows_of(path, mode="dropMalformed")) == 1
    assert [row["direction"] for row in rows_of(path)] == ["request", "request"]


def test_a_missing_file_is_an_error_unless_told(tmp_path: Path) -> None:
    gone = InputSplit(str(tmp_path / "gone"), weight=9)
    with pytest.raises(FileNotFoundError):
        rows_of([], [[gone]])
    assert len(rows_of([], [[gone, InputSplit(str(FRAMES))]], ignoreMissingFiles=True)) == 6


@pytest.mark.parametrize(("ticks", "resolution", "offset", "year"), TIMES)
def test_a_time_that_no_calendar_has_is_null(
    tmp_path: Path, ticks: int, resolution: int, offset: int, year: int | None
) -> None:
    rows = rows_of(dated(tmp_path, ticks, resolution, offset))
    kept = [{**row, "path": "", "timestamp": None, "connection": None} for row in rows]
    assert sorted(kept, key=repr) == sorted(
        ({**row, "path": "", "timestamp": None, "connection": None} for row in rows_of(PCAP)), key=repr
    )
    times = {row["timestamp"] for row in rows} | {row["connection"]["began"] for row in rows}
    assert {time and time.year for time in times} == {year}


def test_a_reading_that_was_left_begins_anew() -> None:
    reading = BatchReader(Options.parse({"maxRecordsPerBatch": 2}))
    next(reading.read([InputSplit(str(FRAMES))]))
    assert [batch.num_rows for batch in reading.read([InputSplit(str(FRAMES))])] == [2, 2, 2]


@pytest.mark.ci
def test_every_capture_has_the_rows_that_decoding_says(shared: Path) -> None:
    paths = [*(shared / "captures").glob("*.pcap"), *(shared / "captures").glob("*.pcapng")]
    assert len(paths) > 10
    for path in paths:
        results: list[Any] = list(kwire.decode_frames(kwire.read_dump(path)))
        told = Counter(_told(result) for result in results)
        assert Counter(_said(row) for row in rows_of(path)) == told, path


def _told(result: Any) -> Any:
    if isinstance(result, kwire.Undecodable):
        return "bad"
    if not isinstance(result, kwire.Request | kwire.Response):
        return "token"
    return result.codec.spec.type, result.api_key, result.api_version, bool(result.faults)


def _said(row: Any) -> Any:
    if row["message"] is None:
        return "token" if row["_error"] is None else "bad"
    return row["direction"], row["api_key"], row["api_version"], row["_error"] is not None


def test_metadata_are_those_of_the_file_of_each_row(tmp_path: Path) -> None:
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(FRAMES.read_bytes())
        os.utime(tmp_path / name, (1.5e9, 1.5e9))
    rows = rows_of([tmp_path / "a.bin", PCAP, tmp_path / "b.bin"], body="none", metadata="true")
    assert "_metadata" not in rows_of(FRAMES)[0]
    assert len({row["path"] for row in rows}) == 3
    for row in rows:
        file = Path(row["path"])
        found = row["_metadata"]
        assert (found["file_path"], found["file_name"], found["file_size"]) == (
            str(file),
            file.name,
            file.stat().st_size,
        )
        assert found["file_modification_time"].timestamp() == file.stat().st_mtime_ns // 1000 / 1e6
    assert list(rows_of(FRAMES, columns="offset,_metadata", mode="DROPMALFORMED")[0]) == ["offset", "_metadata"]
