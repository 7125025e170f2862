"""Files that grow in any portions, read in any batches: together what one reading of the finished files gives.

At every length, the last frame or record that ends in a file is found; ranges join; places go through JSON.
"""

from __future__ import annotations

import gzip
import json
import os
import pickle
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwire
from kwire.arrow.batch_reader import Reading
from kwire.arrow.frame_rows import State
from kwire.arrow.growing_files import (
    START,
    WHOLE,
    Growing,
    Known,
    LostData,
    Memory,
    Offset,
    Place,
    broken_cuts,
    captured_end,
    difference,
    difference_now,
    is_whole,
    kind_so_far,
    mark_of,
    offset_of,
    places_of,
    raw_end,
)
from kwire.arrow.read_options_and_splits import RAW, BadOption, File, Options, Unit
from tests.arrow.captures import FRAMES, LOG, PCAP, Rows, conversation, write
from tests.arrow.pieces import records_of
from tests.arrow.test_reader import UNKNOWN

TALK = b"".join(conversation(9))
HANDSHAKE = kwire.encode_request(kwire.messages.SaslHandshakeRequest(mechanism="PLAIN"), 0, correlation_id=1)
NEW: Offset = offset_of({})
TIMES = {pa.timestamp("us", "UTC"): pa.int64()}
LATE = 4e9  # seconds since 1970, when every file is at its end


class Stream:
    """A stream as Spark runs it: offsets go through JSON, and each process may be a new one."""

    def __init__(self, *paths: Path, **options: Any) -> None:
        self.paths = [str(path) for path in paths]
        self.reading = Reading(Options.parse({"body": "raw", **options}))
        self.offset = NEW
        self.restart()

    def restart(self) -> None:
        self.growing = Growing(self.paths, self.reading.options, self.reading.apis)

    def batch(self, now: float = 0, sizes: dict[str, int] | None = None, *, is_limited: bool = True) -> Rows:
        """Read the next batch, and see that another process would read the same."""
        start = self.offset
        latest = offset_of(self.growing.latest(places_of(start), now, sizes, is_limited=is_limited))
        self.offset = json.loads(json.dumps(latest))
        rows = self.between(self.growing, start)
        anew = self.between(Growing(self.paths, self.reading.options, self.reading.apis), start)
        assert in_order(anew) == in_order(rows)
        return rows

    def between(self, growing: Growing, start: Offset) -> Rows:
        packs = growing.units(places_of(start), places_of(self.offset))
        return self.rows(packs)

    def rows(self, packs: list[list[Unit]]) -> Rows:
        """Read units; times are numbers, for in damaged captures they are beyond what Python's calendar has."""
        batches = [batch for pack in packs for batch in self.reading.read(pack)]
        table = pa.Table.from_batches(batches, schema=self.reading.schema)
        ends = pa.struct(
            [field.with_type(TIMES.get(field.type, field.type)) for field in table.schema.field("connection").type]
        )
        columns = {"timestamp": table["timestamp"].cast(pa.int64()), "connection": table["connection"].cast(ends)}
        rows: Rows = [
            dict(zip(table.column_names, row, strict=True))
            for row in zip(*(columns.get(name, table[name]).to_pylist() for name in table.column_names), strict=True)
        ]
        return rows

    def whole(self) -> Rows:
        """Read the files as they are, all at once."""
        return self.rows(self.reading.divide(self.paths))

    def all(self, now: float = 0) -> Rows:
        """Read batches until there is nothing more."""
        return list(self._all(now))

    def _all(self, now: float) -> Iterator[Any]:
        before = None
        while before != self.offset:
            before = self.offset
            yield from self.batch(now)


def in_order(rows: Rows) -> list[str]:
    return sorted(map(repr, rows))


def good(rows: Rows) -> list[str]:
    return in_order([row for row in rows if row["_error"] is None])


def corrupt(rows: Rows) -> dict[str, bytes]:
    """Return what is in no frame, of each side of each connection; it is cut where batches end."""
    found: dict[str, bytes] = {}
    for row in sorted((row for row in rows if row["_error"]), key=lambda row: row["offset"]):
        whose = repr((row["path"], row["connection"], row["direction"]))
        found[whose] = found.get(whose, b"") + (row["_corrupt_record"] or b"")
    return found


@st.composite
def finished(draw: st.DrawFn) -> tuple[list[str], int, bytes, int]:
    """What a file holds in the end: parts, and what was changed in it."""
    raw = st.lists(st.sampled_from(["talk", "unknown", "handshake", "empty", "cut", "noise"]), min_size=1, max_size=6)
    parts = draw(raw | st.sampled_from([["pcap"], ["pcapng"], ["frames"]]))
    if draw(st.booleans()):
        return parts, 0, b"", 0
    if parts[0] in PACKETS_AT:
        # Only bytes of packets: which bytes of a capture are records depends on those after a damaged header, and a
        # batch may end before them (docs/explanation/limits.md).
        change = draw(st.binary(max_size=9))
        start, stop = draw(st.sampled_from(PACKETS_AT[parts[0]]))
        return parts, draw(st.integers(start, stop - len(change))), change, len(change)
    size = len(joined(parts))
    return parts, draw(st.integers(0, size)), draw(st.binary(max_size=9)), draw(st.integers(0, 5))


def joined(parts: list[str], at: int = 0, change: bytes = b"", removed: int = 0) -> bytes:
    data = b"".join(PARTS[part] for part in parts)
    return data[:at] + change + data[at + removed :]


def pcapng_of(pcap: bytes) -> bytes:
    """Write a pcap's packets as pcapng, in two sections of either byte order."""
    records, at = [], 24
    while at < len(pcap):
        size = int.from_bytes(pcap[at + 8 : at + 12], "little")
        records.append((pcap[at : at + 16], pcap[at + 16 : at + 16 + size]))
        at += 16 + size
    link = pcap[20:22]
    half = len(records) // 2
    return _section("little", link, records[:half]) + _section("big", link, records[half:])


def _section(order: Any, link: bytes, records: list[tuple[bytes, bytes]]) -> bytes:
    def number(value: int, size: int = 4) -> bytes:
        return value.to_bytes(size, order)

    def block(kind: int, body: bytes) -> bytes:
        size = number(12 + len(body))
        return number(kind) + size + body + size

    found = block(0x0A0D0D0A, number(0x1A2B3C4D) + number(1, 2) + number(0, 2) + b"\xff" * 8)
    found += block(1, number(int.from_bytes(link, "little"), 2) + bytes(6))
    for header, data in records:
        seconds, micros, captured, length = (int.from_bytes(header[at : at + 4], "little") for at in range(0, 16, 4))
        high, low = divmod(seconds * 1_000_000 + micros, 1 << 32)
        padded = data + bytes(-len(data) % 4)
        found += block(6, b"".join(map(number, (0, high, low, captured, length))) + padded)
    return found


SOME_PACKETS = PCAP.read_bytes()[:14000]  # connections do not end in it
PARTS = {
    "talk": TALK,
    "unknown": UNKNOWN,
    "handshake": HANDSHAKE,
    "empty": bytes(4),
    "cut": TALK[:-3],
    "noise": b"\xff" * 30,
    "frames": FRAMES.read_bytes(),
    "pcap": SOME_PACKETS,
    "pcapng": pcapng_of(SOME_PACKETS),
}


def packets_at(capture: bytes) -> list[tuple[int, int]]:
    """Return where the bytes of each packet begin and end."""
    places, stop = [], 0
    for record in records_of(PCAP):
        start = capture.find(record[16:], stop)
        if start < 0:
            break
        stop = start + len(record) - 16
        places.append((start, stop))
    return places


PACKETS_AT = {kind: packets_at(PARTS[kind]) for kind in ("pcap", "pcapng")}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_batches_together_are_one_reading_of_the_end(data: st.DataObject) -> None:
    ends = [joined(*end) for end in data.draw(st.lists(finished(), min_size=1, max_size=3))]
    limits = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "maxFilesPerTrigger": st.integers(1, 2),
                "maxBytesPerTrigger": st.integers(300, 5000),
                "maxPartitionBytes": st.integers(50, 5000),
            },
        )
    )
    with TemporaryDirectory() as folder:
        stream = Stream(Path(folder), tailTimeout=3600, **limits)
        rows: Rows = []
        lengths = [0] * len(ends)
        for _ in range(data.draw(st.integers(0, 6))):
            which = data.draw(st.integers(0, len(ends) - 1))
            lengths[which] = min(len(ends[which]), lengths[which] + data.draw(st.integers(1, 9000)))
            write(Path(folder), ends[which][: lengths[which]], f"file-{which}")
            if data.draw(st.booleans()):
                stream.restart()
            if data.draw(st.booleans()):
                rows += stream.batch()
        for index, end in enumerate(ends):
            write(Path(folder), end, f"file-{index}")
        rows += stream.all(LATE)
        whole = stream.whole()
        assert good(rows) == good(whole)
        assert corrupt(rows) == corrupt(whole)
        assert stream.all(LATE) == []


@pytest.mark.parametrize("limit", [0, 300])
def test_damaged_packets_in_any_batches(tmp_path: Path, limit: int) -> None:
    for number, (start, stop) in enumerate(PACKETS_AT["pcap"][5:7]):
        write(tmp_path, joined(["pcap"], stop - 5, b"\xff" * 5, 5), f"file-{number}")
        write(tmp_path, joined(["pcap"], start, b"\xff" * 9, 9), f"other-{number}")
    stream = Stream(tmp_path, tailTimeout=3600, maxBytesPerTrigger=limit)
    rows, whole = stream.all(LATE), stream.whole()
    assert good(rows) == good(whole)
    assert corrupt(rows) == corrupt(whole)


def test_a_damaged_record_header_in_one_batch(tmp_path: Path) -> None:
    write(tmp_path, joined(["pcap"], 507, b"", 4), "file-0")
    write(tmp_path, TALK, "file-1")
    stream = Stream(tmp_path, tailTimeout=3600)
    rows, whole = stream.all(LATE), stream.whole()
    assert good(rows) == good(whole)
    assert corrupt(rows) == corrupt(whole)


def test_half_frames_wait_and_answers_find_their_requests(tmp_path: Path) -> None:
    frames = conversation(8)
    ends = [sum(map(len, frames[:count])) for count in range(len(frames) + 1)]
    stream, rows = Stream(tmp_path), []
    for count in range(1, len(frames)):
        write(tmp_path, TALK[: ends[count] + 5])
        rows += stream.batch()
        assert stream.batch() == []
        assert stream.offset["files"][str(tmp_path / "dump")]["stop"] == ends[count]
        stream.restart()
    assert [row["message"] for row in rows] == frames[:-1]
    assert {row["client_id"] for row in rows} == {"me"}
    assert stream.all(LATE) == []


def test_a_tail_is_given_out_when_its_file_rests(tmp_path: Path) -> None:
    path = write(tmp_path, TALK[:-3])
    stream = Stream(tmp_path, tailTimeout="10m")
    assert {row["_error"] for row in stream.batch(path.stat().st_mtime + 599)} == {None}
    (row,) = stream.batch(path.stat().st_mtime + 600)
    assert (row["_error"]["code"], stream.all(LATE)) == ("CUT_SHORT", [])
    write(tmp_path, TALK)
    with pytest.raises(LostData, match="it was read up to its end at"):
        stream.batch(LATE)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (TALK[:30], "it was cut or replaced"),
        (b"\0\0\0\x08" + bytes(len(TALK)), "it was replaced"),
        (TALK[:-2] + b"xx" + TALK, "it was replaced"),
    ],
)
def test_replaced_files_are_noticed(tmp_path: Path, data: bytes, text: str) -> None:
    write(tmp_path, TALK)
    strict, lenient = Stream(tmp_path), Stream(tmp_path, failOnDataLoss=False, tailTimeout=3600)
    assert len(strict.batch()) == len(lenient.batch()) == 18
    before = strict.offset
    path = write(tmp_path, data)
    with pytest.raises(LostData, match=rf"\[KWIRE_LOST_DATA\] path={path}, offset={len(TALK)}: .*{text}"):
        strict.batch()
    with pytest.raises(LostData, match=text):
        strict.growing.units({}, places_of(before))
    assert in_order(lenient.all(LATE)) == in_order(lenient.whole())
    assert lenient.growing.units({}, places_of(before)) == []


def test_a_file_that_is_gone_is_known_when_it_comes_back(tmp_path: Path) -> None:
    write(tmp_path, TALK).rename(tmp_path / "one")
    stream = Stream(tmp_path)
    assert len(stream.batch()) == 18
    (tmp_path / "one").rename(tmp_path.parent / "away")
    assert stream.batch() == []
    (tmp_path.parent / "away").rename(tmp_path / "one")
    assert stream.batch() == []
    planned, stream.offset = places_of(stream.offset), NEW
    (tmp_path / "one").unlink()
    with pytest.raises(LostData, match="not there any more"):
        stream.growing.units({}, planned)


def test_files_that_are_long_gone_are_forgotten(tmp_path: Path) -> None:
    for name, age in (("old", 1000), ("older", 2000), ("new", 3000)):
        os.utime(write(tmp_path, TALK, name), (age, age))
    stream = Stream(tmp_path, maxFileAge=1500)
    assert len(stream.batch()) == 3 * 18
    (tmp_path / "old").unlink()
    (tmp_path / "older").unlink()
    stream.batch()
    assert [Path(path).name for path in stream.offset["files"]] == ["new", "older"]


def test_compressed_files_wait_until_they_are_whole(tmp_path: Path) -> None:
    data = gzip.compress(TALK)
    write(tmp_path, data[:-4])
    stream = Stream(tmp_path)
    assert stream.batch() == []
    write(tmp_path, data)
    assert good(stream.batch()) == good(stream.whole())
    write(tmp_path, data[:60] + b"\xff" * 20 + data[80:], "damaged")
    assert len(corrupt(stream.batch())) == 1


def test_other_files_are_read_at_once_and_whole(tmp_path: Path) -> None:
    text = TALK.hex().encode()
    write(tmp_path, text, "text")
    stream = Stream(tmp_path, maxBytesPerTrigger=10)
    assert len(stream.batch()) == 18
    write(tmp_path, text * 2, "text")
    with pytest.raises(LostData, match="move it in when it is complete"):
        stream.batch()


def test_batches_are_bounded(tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path, TALK, name)
    assert len(Stream(tmp_path, maxFilesPerTrigger=2).batch()) == 36
    stream = Stream(tmp_path, maxBytesPerTrigger=100, maxPartitionBytes=60)
    rows = stream.batch()
    assert 0 < sum(row["length"] for row in rows) <= 100
    assert stream.batch(is_limited=False) + rows
    assert good(stream.all()) == []
    frame = conversation(1)[0]
    assert len(Stream(tmp_path, maxBytesPerTrigger=1).batch()) == 1 < len(frame)


def test_what_comes_later_is_not_looked_at(tmp_path: Path) -> None:
    path = write(tmp_path, TALK)
    stream = Stream(tmp_path)
    sizes = {file.path: file.size for file in stream.growing.files().values()}
    write(tmp_path, TALK * 2)
    write(tmp_path, TALK, "other")
    assert len(stream.batch(sizes=sizes)) == 18
    assert stream.batch(sizes=sizes) == []
    assert (len(stream.batch()), stream.offset["files"][str(path)]["stop"]) == (36, 2 * len(TALK))


def test_requests_in_flight_are_found_again_when_they_were_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwire.arrow.growing_files.MOST_REMEMBERED", 1)
    for name in "ab":
        write(tmp_path, TALK, name)
    stream = Stream(tmp_path, maxBytesPerTrigger=200)
    assert good(stream.all()) == good(stream.whole())


def test_paths_that_may_come_are_globs(tmp_path: Path) -> None:
    stream = Stream(tmp_path / "*.bin")
    assert stream.batch() == []
    write(tmp_path, TALK, "a.bin")
    assert len(stream.batch()) == 18
    with pytest.raises(BadOption, match="PATH_NOT_FOUND"):
        Stream(tmp_path / "none").batch()


def test_a_unit_of_a_range_goes_between_processes() -> None:
    unit = Unit("a", 1, 2, kind="pcap", is_end=True, broken=3)
    assert pickle.loads(pickle.dumps(unit)) == unit


ALL = 1 << 40
OPTIONS = Options()


def test_frames_end_where_the_last_whole_one_does(tmp_path: Path) -> None:
    ends = [0]
    for frame in conversation(2):
        ends.append(ends[-1] + len(frame))
    for size in range(ends[-1] + 1):
        path = str(write(tmp_path, TALK[:size]))
        assert raw_end(path, 0, Known(), size, size, OPTIONS) == max(end for end in ends if end <= size)


def test_one_frame_may_be_more_than_is_wanted(tmp_path: Path) -> None:
    first, second = (len(frame) for frame in conversation(2)[:2])
    path = str(write(tmp_path, TALK))
    assert raw_end(path, 0, Known(), 1, len(TALK), OPTIONS) == first
    assert raw_end(path, 0, Known(), first + second - 1, len(TALK), OPTIONS) == first
    assert raw_end(path, 0, Known(), 1, first - 1, OPTIONS) == 0


def test_what_is_broken_is_whole(tmp_path: Path) -> None:
    path = str(write(tmp_path, TALK + b"\xff" * 9))
    size = len(TALK) + 9
    assert raw_end(path, 0, Known(), size, size, OPTIONS) == size
    assert raw_end(path, size - 3, Known(broken=len(TALK)), size - 1, size, OPTIONS) == size - 1
    empty = str(write(tmp_path, bytes(4)))
    assert raw_end(empty, 0, Known(State(least=0)), 4, 4, OPTIONS) == 4


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_captures_end_where_the_last_whole_record_does(tmp_path: Path, kind: str) -> None:
    data = PARTS[kind][:2000]
    ends = set()
    for size in range(len(data)):
        path = str(write(tmp_path, data[:size]))
        end, order = captured_end(path, 0, kind, ALL, size)
        assert end <= size
        assert (
            captured_end(path, end, kind, ALL, size, order) == captured_end(path, end, kind, ALL, size) == (end, order)
        )
        ends.add(end)
    assert len(ends) > 10
    one_by_one, place, order = set(), 0, ""
    while (after := captured_end(path, place, kind, place + 1, size, order))[0] != place:
        place, order = after
        one_by_one.add(place)
    assert one_by_one | {0} == ends


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_damage_is_taken_along_when_records_follow_it(tmp_path: Path, kind: str) -> None:
    whole = PARTS[kind][:24] if kind == "pcap" else PARTS[kind][:48]
    path = str(write(tmp_path, whole + b"\xff" * 50))
    assert captured_end(path, 0, kind, ALL, len(whole) + 50)[0] == len(whole)
    data = whole + b"\xff" * 50 + PARTS[kind][len(whole) :]
    end = captured_end(str(write(tmp_path, data, "more")), 0, kind, ALL, len(data))[0]
    assert end == captured_end(str(write(tmp_path, PARTS[kind], "all")), 0, kind, ALL, len(PARTS[kind]))[0] + 50


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", ""),
        (b"\xd4\xc3\xb2", ""),
        (PCAP.read_bytes()[:4], "pcap"),
        (TALK[:9], ""),
        (TALK[:200], RAW),
        (FRAMES.read_bytes(), RAW),
        (gzip.compress(TALK), WHOLE),
        (b"00 00 00 04", WHOLE),
        (LOG.read_bytes(), WHOLE),
        (b"\xff" * 10, WHOLE),
    ],
)
def test_a_file_is_known_when_there_is_enough_of_it(tmp_path: Path, data: bytes, kind: str) -> None:
    assert kind_so_far(str(write(tmp_path, data)), OPTIONS, is_over=False) == kind


def test_at_its_end_a_file_is_what_it_looks_like(tmp_path: Path) -> None:
    assert kind_so_far(str(write(tmp_path, TALK[:9])), OPTIONS, is_over=True) == RAW
    pcap = str(write(tmp_path, PCAP.read_bytes()))
    assert kind_so_far(pcap, Options(dump_format="frames"), is_over=False) == RAW
    assert kind_so_far(pcap, Options(dump_format="hex"), is_over=False) == WHOLE


def test_compressed_data_is_whole_at_its_end_or_where_it_is_damaged(tmp_path: Path) -> None:
    data = gzip.compress(TALK)
    assert [is_whole(str(write(tmp_path, data[:size]))) for size in (len(data) - 1, len(data))] == [False, True]
    assert is_whole(str(write(tmp_path, data[:60] + b"\xff" * 20 + data[80:])))
    assert is_whole(str(write(tmp_path, TALK[:-1])))


ENDS = [0]
for _frame in conversation(9):
    ENDS.append(ENDS[-1] + len(_frame))


def memory() -> Memory:
    return Memory(Options(max_corrupt_bytes=4), Reading(Options()).apis)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(ENDS[1:]), max_size=5), st.integers(1, 300))
def test_it_is_the_same_by_steps_and_at_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], most: int
) -> None:
    path = str(write(tmp_path_factory.mktemp("ranges"), TALK))
    steps, whole = memory(), memory()
    for start, stop in pairwise(sorted({0, *cuts, len(TALK)})):
        units = steps.divide(path, start, stop, most)
        assert (units[0].start, units[-1].stop) == (start, stop)
        assert all(one.stop == other.start for one, other in pairwise(units))
        assert units[0].state == whole.known(path, start).state
        assert steps.known(path, stop) == whole.known(path, stop)


def test_behind_a_break_there_are_pieces(tmp_path: Path) -> None:
    path = str(write(tmp_path, TALK + b"\xff\xff\xff\xfe" + b"0123456789"))
    broken = len(TALK)
    known = memory()
    assert known.known(path, broken + 6).broken == broken
    units = known.divide(path, broken + 6, broken + 14, 5)
    assert [(unit.start, unit.stop, unit.broken) for unit in units] == [
        (broken + 6, broken + 11, broken),
        (broken + 11, broken + 14, broken),
    ]
    (offset, data, fault), (_, rest, _) = (cut for cuts in broken_cuts(units[0], known.options) for cut in cuts)
    assert (offset, data, rest) == (broken + 6, b"2345", b"6")
    assert fault is not None
    assert fault.found == -2


def test_places_are_written_down_and_read() -> None:
    places = {"/in/b": Place(9, "pcap", "00ff", 1_700_000_000, True, 2), "/in/a": START}
    offset = offset_of(places)
    assert list(offset["files"]) == ["/in/a", "/in/b"]
    assert offset["files"]["/in/a"] == {}
    assert places_of(json.loads(json.dumps(offset))) == places


def test_offsets_of_a_later_version_are_refused() -> None:
    with pytest.raises(BadOption, match="offsets of version 2; take a later kwire"):
        places_of({"version": 2, "files": {}})


def test_a_mark_tells_both_ends_apart(tmp_path: Path) -> None:
    data = bytes(range(256)) * 20
    changed = [bytes([1]) + data[1:], data[:4999] + b"x" + data[5000:]]
    marks = [mark_of(str(write(tmp_path, one)), 5000) for one in [data, *changed]]
    assert len(set(marks)) == 3
    assert mark_of(str(write(tmp_path, data + b"more")), 5000) == marks[0]


def test_what_was_read_must_still_be_there(tmp_path: Path) -> None:
    path = str(write(tmp_path, b"frames, more"))
    place = Place(6, "raw frames", mark_of(path, 6))
    assert difference_now(path, place) is None
    assert "was read up to its end at 6" in str(difference_now(path, place._replace(done=True)))
    assert "are not those that were read" in str(difference_now(path, place._replace(mark="")))
    assert "has 5 bytes now, and 6 were read" in str(difference(File(path, 5, 0), place))
    assert "not there any more" in str(difference_now(path + "?", place))
