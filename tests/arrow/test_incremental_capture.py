"""Captures that grow give the same rows however they are read on: from where they were, or from the start."""

from __future__ import annotations

import gc
import io
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.arrow.batch_reader import Reading, Replay, Replays
from kwire.arrow.frame_rows import Row
from kwire.arrow.growing_files import Growing, captured_end, places_of
from kwire.arrow.read_options_and_splits import Options, Unit
from kwire.errors import DumpError
from tests.arrow.captures import PCAP, write
from tests.arrow.test_growing_files import NEW, PARTS, pcapng_of
from tests.capture.building import Talk, request, response
from tests.capture.test_native_walk import DAMAGES, changes, file_of, interleaved

ROWS = Options.parse({"body": "raw", "maxRecordsPerBatch": 1})
READING = Reading(ROWS)


def rows_of(reading: Reading, unit: Unit) -> Any:
    """Return what is read of a range, in its order."""
    return pa.Table.from_batches(list(reading.read([unit])), schema=reading.schema)


def ends_of(path: Path, kind: str, steps: list[int]) -> list[int]:
    """Return places where records end, about so far from each other; the last is the file's end."""
    places, order, size = [0], "", path.stat().st_size
    for step in steps:
        place, order = captured_end(str(path), places[-1], kind, places[-1] + step, size, order)
        places.append(place)
    return [*places, size]


@st.composite
def captures(draw: st.DrawFn) -> tuple[str, bytes]:
    """Real packets with any bytes changed, or conversations of which packets were damaged on their way."""
    kind = draw(st.sampled_from(["pcap", "pcapng"]))
    if draw(st.booleans()):
        data = PARTS[kind]
        at = draw(st.integers(0, len(data)) | st.just(len(data)))
        return kind, data[:4] + (data[:at] + draw(st.binary(max_size=5)) + data[at:])[4:]
    segments = interleaved(draw(st.integers(1, 300)))
    for damage, place, number in draw(
        st.lists(st.tuples(changes, st.integers(0, 400), st.integers(0, 255)), max_size=9)
    ):
        index = place % (len(segments) - 1)
        segments[index : index + 2] = DAMAGES[damage](segments[index], segments[index + 1], number)
    data = file_of(segments[draw(st.integers(0, 12)) :])
    return kind, data if kind == "pcap" else pcapng_of(data)


HOWS = st.sampled_from(["on", "on", "on", "again", "left", "elsewhere"])


@settings(max_examples=60, deadline=None)
@given(captures(), st.lists(st.tuples(st.integers(1, 4000), HOWS), max_size=12), st.integers(1, 3))
def test_ranges_read_the_same_whoever_reads_them(
    tmp_path_factory: pytest.TempPathFactory, capture: tuple[str, bytes], steps: list[tuple[int, str]], parts: int
) -> None:
    kind, data = capture
    path = write(tmp_path_factory.mktemp("replays"), data)
    places = ends_of(path, kind, [step for step, _ in steps])
    one = Reading(ROWS)
    hows = [*(how for _, how in steps), "on"]
    for (start, stop), how in zip(pairwise(places), hows, strict=True):
        for part in range(parts):
            unit = Unit(str(path), start, stop, kind=kind, part=part, parts=parts, is_end=stop == len(data))
            expected = rows_of(Reading(ROWS), unit)
            if how == "elsewhere":
                continue
            if how == "left":
                left: Any = one.read([unit])
                next(left, None)
                left.close()
            for _ in range(1 + (how == "again")):
                assert rows_of(one, unit).equals(expected)


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_ranges_together_are_the_whole(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, PARTS[kind])
    places, reading = ends_of(path, kind, [700] * 9), Reading(ROWS)
    units = [Unit(str(path), start, stop, kind=kind) for start, stop in pairwise(places)]
    units.append(Unit(str(path), places[-1], places[-1], kind=kind, is_end=True))
    together = pa.concat_tables([rows_of(reading, unit) for unit in units])
    whole = pa.concat_tables([rows_of(reading, unit) for pack in reading.divide([str(path)]) for unit in pack])
    assert together.num_rows > 20
    assert together.equals(whole)


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_damaged_record_costs_that_record_in_batches_and_streams(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, PARTS[kind])
    *_, start, stop = ends_of(path, kind, [1] * 80)[:-1]
    data = bytearray(PARTS[kind])
    at = start + (8 if kind == "pcap" else 4)
    data[at : at + 4] = b"\xff\xff\xff\x7f"
    path.write_bytes(data)
    places, reading = ends_of(path, kind, [700] * 30), Reading(ROWS)
    assert len(places) > 10
    units = [Unit(str(path), one, other, kind=kind) for one, other in pairwise(places)]
    units.append(Unit(str(path), places[-1], places[-1], kind=kind, is_end=True))
    together = pa.concat_tables([rows_of(reading, unit) for unit in units])
    whole = pa.concat_tables([rows_of(reading, unit) for pack in reading.divide([str(path)]) for unit in pack])
    assert together.equals(whole)
    bad = next(row for row in whole.to_pylist() if (row["_error"] or {}).get("code") == "DAMAGED")
    assert (bad["offset"], bad["_corrupt_record"]) == (start, bytes(data[start:stop]))
    before = rows_of(Reading(ROWS), Unit(str(write(tmp_path, PARTS[kind], "before"))))
    assert whole.num_rows >= before.num_rows - 2  # a frame of that packet, and the response to it or a gap


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_record_that_is_being_written_is_not_taken_for_damage(tmp_path: Path, kind: str) -> None:
    whole = PARTS[kind]
    path = write(tmp_path, whole)
    ends = ends_of(path, kind, [1] * 20)[1:-1]
    for count in range(ends[-2] + 1, ends[-1]):
        path.write_bytes(whole[:count])
        assert captured_end(str(path), 0, kind, count, count)[0] == ends[-2]
    path.write_bytes(whole[: ends[-1]] + b"\xff" * 40)  # no more than that is known
    assert captured_end(str(path), 0, kind, ends[-1] + 40, ends[-1] + 40)[0] == ends[-1]


class Counted(io.FileIO):
    """A file that counts what is read of it."""

    bytes = 0

    def read(self, size: int | None = -1, /) -> Any:
        data = super().read(size)
        Counted.bytes += len(data or b"")
        return data


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Say how many bytes of files were read as bytes since it was asked last."""
    opened = Path.open

    def open_counted(path: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
        return Counted(path) if mode == "rb" else opened(path, mode, *args, **options)

    monkeypatch.setattr(Path, "open", open_counted)

    def counted() -> int:
        found, Counted.bytes = Counted.bytes, 0
        return found

    counted()
    return counted


def long_capture(kind: str, count: int = 300) -> bytes:
    talks = [Talk(ports=(port, 9092)).open() for port in range(3)]
    for number in range(count):
        for said in talks:
            said.ask(number, 200)
    data = file_of([segment for said in talks for segment in said.segments])
    return data if kind == "pcap" else pcapng_of(data)


STEPS = 20


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
@pytest.mark.parametrize("is_same_process", [True, False])
def test_each_byte_is_read_a_few_times_however_often_a_file_grows(
    tmp_path: Path, count: Callable[[], int], kind: str, is_same_process: bool
) -> None:
    data, path = long_capture(kind), tmp_path / "dump"
    reading, offset, rows = Reading(ROWS), places_of(NEW), 0
    growing = Growing([str(path)], reading.options, reading.apis)
    path.touch()
    planned = read = 0
    for step in range(1, STEPS + 1):
        path.write_bytes(data[: len(data) * step // STEPS])
        count()
        before, offset = offset, growing.latest(offset, 0)
        packs = growing.units(before, offset)
        planned += count()
        reading = reading if is_same_process else Reading(ROWS)
        rows += sum(batch.num_rows for pack in packs for batch in reading.read(pack))
        read += count()
    assert rows == 3 * 300 * 2
    marks = STEPS * (8 << 10)
    assert len(data) <= planned < len(data) + marks < 2 * len(data)
    if is_same_process:
        assert len(data) <= read < len(data) + marks
    else:
        assert read > len(data) * STEPS // 2


def halves(path: Path) -> tuple[Unit, Unit]:
    """Return two ranges of a capture."""
    middle, end = ends_of(path, "pcap", [path.stat().st_size // 2])[1:]
    return Unit(str(path), 0, middle, kind="pcap"), Unit(str(path), middle, end, kind="pcap")


@pytest.mark.parametrize("fails", [False, True])
def test_what_was_left_or_failed_is_read_from_its_start(tmp_path: Path, count: Callable[[], int], fails: bool) -> None:
    path, reading = write(tmp_path, PCAP.read_bytes()), Reading(ROWS)
    one, other = halves(path)
    rows_of(reading, one)
    rows: Any = reading.read([other])
    assert next(rows).num_rows == 1
    with pytest.raises(MemoryError) if fails else nullcontext():
        rows.throw(MemoryError) if fails else rows.close()
    count()
    assert rows_of(reading, other).num_rows > 1
    assert count() >= path.stat().st_size


@pytest.mark.parametrize("what", ["another file", "its first bytes", "its last bytes"])
def test_a_file_that_is_not_what_was_read_is_read_from_its_start(tmp_path: Path, what: str) -> None:
    """Another file with the same bytes where one looks, or the same file with other bytes there."""
    said = Talk().open()
    for number in range(80):
        said.say(number // 40, response(number - 40) if number >= 40 else request(number))
    data, middle = file_of(said.segments), len(file_of(said.segments[:43]))
    path, reading = write(tmp_path, data), Reading(ROWS)
    asked, answered = (Unit(str(path), *ends, kind="pcap") for ends in ((0, middle), (middle, len(data))))
    assert rows_of(reading, asked)["client_id"].to_pylist() == ["me"] * 40
    if what == "another file":
        path.rename(tmp_path / "old")
    start = {"another file": 1024, "its first bytes": 0, "its last bytes": middle - 1024}[what]
    stop = middle - 1024 if start == 1024 else start + 1024
    changed = data[start:stop].replace(b"\0\x02me", b"\0\x02us")
    write(tmp_path, data[:start] + changed + data[stop:])
    rows = rows_of(reading, answered)
    assert rows["client_id"].to_pylist().count("us") >= 8
    assert rows.equals(rows_of(Reading(ROWS), answered))


def test_the_newest_are_kept(tmp_path: Path, count: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    def from_the_start() -> list[bool]:
        reading, found = Reading(ROWS), []
        units = [halves(write(tmp_path, PCAP.read_bytes(), name)) for name in "abc"]
        for one, _ in units:
            rows_of(reading, one)
        for _, other in reversed(units):
            count()
            rows_of(reading, other)
            found.append(count() >= PCAP.stat().st_size)
        return found

    assert from_the_start() == [False, False, False]
    monkeypatch.setattr("kwire.arrow.batch_reader.MOST_KEPT", 2)
    assert from_the_start() == [False, False, True]
    monkeypatch.setattr("kwire.arrow.batch_reader.MOST_BYTES", 1)
    assert from_the_start() == [True, True, True]


def replayed(path: Path, stop: int, *, is_end: bool = False) -> tuple[Replay, list[Row]]:
    """Read the first range of a capture."""
    unit, rows = Unit(str(path), 0, stop, kind="pcap", is_end=is_end), list[Row]()
    replay = Replay(unit, READING.catalog, READING.apis)
    with path.open("rb") as stream:
        for _ in replay.read(stream, unit, rows.append):
            pass
    return replay, rows


def test_the_memory_that_one_takes_is_known(tmp_path: Path) -> None:
    """Connections that are open, answers that are awaited, and bytes that wait for others."""
    silent = [Talk(ports=(port, 9092)).open().say(0, request(1)) for port in range(1000, 1200)]
    asking, begun = Talk().open(), Talk(ports=(5, 9092)).open()
    for number in range(900):
        asking.say(0, request(number))
    begun.say(0, (1 << 20).to_bytes(4, "big") + request(1)[4:] + bytes(60_000))
    for segments in ([one for said in silent for one in said.segments], asking.segments, begun.segments):
        path = write(tmp_path, file_of(segments))
        replayed(path, path.stat().st_size)
        tracemalloc.start()
        replay, _ = replayed(path, path.stat().st_size)
        gc.collect()  # what is held, not what waits to be freed
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert used / 2 < replay.weight < used * 2


def test_a_capture_of_nothing_is_an_error_at_its_end_alone(tmp_path: Path) -> None:
    path = write(tmp_path, PCAP.read_bytes()[:24])
    replay, rows = replayed(path, 24)
    assert (replay.waits, rows) == (True, [])
    path = write(tmp_path, PCAP.read_bytes()[:24] + b"\xff" * 16)
    assert replayed(path, 40)[1] == []  # a record may follow
    _, ((offset, data, *_),) = replayed(path, 40, is_end=True)
    assert (offset, data) == (24, b"\xff" * 16)
    with pytest.raises(DumpError):
        replayed(write(tmp_path, PCAP.read_bytes()[:23]), 23, is_end=True)


def test_damage_waits_for_a_record_behind_it(tmp_path: Path) -> None:
    size, reading = PCAP.stat().st_size, Reading(ROWS)
    path = write(tmp_path, PCAP.read_bytes() + b"\xff" * 500)
    ends = (0, size), (size, size + 100), (size + 100, size + 500)
    first, *more = [rows_of(reading, Unit(str(path), *one, kind="pcap")) for one in ends]
    assert first.num_rows > 20
    assert [rows.num_rows for rows in more] == [0, 0]
    path.write_bytes(path.read_bytes() + PCAP.read_bytes()[24:])
    rows = rows_of(reading, Unit(str(path), size + 500, 2 * size + 476, kind="pcap")).to_pylist()
    (bad,) = [row for row in rows if row["_error"] and row["_error"]["code"] == "DAMAGED"]
    assert (bad["offset"], bad["_corrupt_record"]) == (size, b"\xff" * 500)
    assert len(rows) > 20


def test_what_cannot_go_on_is_not_kept(tmp_path: Path) -> None:
    path, size = write(tmp_path, PCAP.read_bytes()), PCAP.stat().st_size
    ended, cut, short = replayed(path, size, is_end=True)[0], replayed(path, size - 1)[0], replayed(path, size + 1)[0]
    whole = replayed(path, size)[0]
    assert [replay.waits for replay in (ended, cut, short, whole)] == [False, True, False, True]
    kept, unit = Replays(), Unit(str(path), size, size + 16, kind="pcap")
    for replay in (whole, ended, cut, short):
        kept.keep(replay)
    with path.open("rb") as stream:
        assert kept.take(stream, unit._replace(part=1, parts=2)) is None
        assert kept.take(stream, unit._replace(start=size - 2)) is None
        assert kept.take(stream, unit) is whole
        assert kept.take(stream, unit) is cut
        assert kept.take(stream, unit) is None
