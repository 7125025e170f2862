"""Files that arrive, grow and are renamed, read in any batches: together what one reading of the end gives."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from pathlib import Path
from struct import pack, unpack_from
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import kwire
from kwire.arrow.find_files import InputFile
from kwire.arrow.input_splits import RAW_FRAMES
from kwire.arrow.ranges.byte_ranges import ByteRange
from kwire.arrow.ranges.concatenated_files import Extent
from kwire.arrow.ranges.packet_scan import scan
from kwire.arrow.read_options import BadOption, Options
from kwire.arrow.streams.file_positions import FilePosition, mark_of, offset_of, places_of
from kwire.arrow.streams.growing_files import WHOLE, GrowingFiles, LostData, captured_end, is_whole, kind_so_far
from tests.arrow.captures import FRAMES, LOG, PCAP, Rows, conversation, rows_of, write
from tests.arrow.pieces import Streamed, content, records_of
from tests.arrow.test_batch_reader import UNKNOWN

CONVERSATION = b"".join(conversation(9))
HANDSHAKE = kwire.encode_request(kwire.messages.SaslHandshakeRequest(mechanism="PLAIN"), 0, correlation_id=1)
LATE = 4e9  # seconds since 1970, when every file is at its end


class Stream:
    """A stream as Spark runs it: offsets go through JSON, and each process may be a new one."""

    def __init__(self, *paths: Path, **options: Any) -> None:
        self.paths = [str(path) for path in paths]
        self.options = Options.parse({"body": "raw", **options})
        self.decoder = Streamed(**options)
        self.offset = offset_of({})
        self.restart()

    def restart(self) -> None:
        self.growing = GrowingFiles(self.paths, self.options)

    def batch(self, now: float = 0, sizes: dict[str, int] | None = None, *, is_limited: bool = True) -> Rows:
        """Read the next batch, and see that another process would read the same."""
        start = self.offset
        self.offset = json.loads(
            json.dumps(offset_of(self.growing.latest(places_of(start), now, sizes, is_limited=is_limited)))
        )
        splits = self.splits(self.growing, start)
        assert self.splits(GrowingFiles(self.paths, self.options), start) == splits
        return self.decoder.batch([batch for split in splits for batch in scan(split, self.options)])

    def splits(self, growing: GrowingFiles, start: Any) -> list[ByteRange]:
        found, most = list[ByteRange](), self.options.max_partition_bytes
        for path, size, extent, is_late in growing.ranges(places_of(start), places_of(self.offset)):
            step = max(size, 1) if extent is not None and extent.frames else most
            found += [
                ByteRange(path, at, min(size, at + step), "it", extent=extent, is_late=is_late and not at)
                for at in range(0, max(size, 1), step)
            ]
        return found

    def all(self, now: float = 0) -> Rows:
        """Read batches until there is nothing more."""
        rows, before = list[dict[str, Any]](), None
        while before != self.offset:
            before = self.offset
            rows += self.batch(now)
        return rows

    def end(self) -> Rows:
        """Read all, and what waits for packets."""
        return [*self.all(LATE), *self.decoder.batch([], is_over=True)]


def good(rows: Rows) -> Any:
    return content([row for row in rows if row["_error"] is None])


def corrupt(rows: Rows) -> dict[str, bytes]:
    """Return what is in no frame, of each side of each connection; it is cut where batches end."""
    found: dict[str, bytes] = {}
    for row in sorted((row for row in rows if row["_error"]), key=lambda row: row["offset"]):
        whose = repr((row["connection"], row["direction"]))
        found[whose] = found.get(whose, b"") + (row["_corrupt_record"] or b"")
    return found


@st.composite
def finished(draw: st.DrawFn) -> tuple[list[str], int, bytes, int]:
    """What a file holds in the end: parts, and what was changed in it."""
    raw = st.lists(
        st.sampled_from(["sent_frames", "unknown", "handshake", "empty", "cut", "noise"]), min_size=1, max_size=6
    )
    parts = draw(raw | st.sampled_from([["pcap"], ["pcapng"], ["frames"]]))
    if draw(st.booleans()):
        return parts, 0, b"", 0
    if parts[0] in PACKETS_AT:
        # Only bytes of packets: which bytes of a capture are records depends on those after a damaged header, and a
        # batch may end before them (docs/explanation/limits.md).
        change = draw(st.binary(max_size=9))
        start, stop = draw(st.sampled_from(PACKETS_AT[parts[0]]))
        at = draw(st.integers(start, stop - len(change)))
        # With other flags a packet may end its connection, and a stream keeps no state of it after that batch.
        assume(not at <= start + FLAGS < at + len(change))
        return parts, at, change, len(change)
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
    "sent_frames": CONVERSATION,
    "unknown": UNKNOWN,
    "handshake": HANDSHAKE,
    "empty": bytes(4),
    "cut": CONVERSATION[:-3],
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
FLAGS = 14 + 20 + 13  # of TCP, in a packet: after the headers of Ethernet and IPv4


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_batches_together_are_one_reading_of_the_end(data: st.DataObject) -> None:
    end = joined(*data.draw(finished()))
    limits = data.draw(
        st.fixed_dictionaries(
            {}, optional={"maxBytesPerTrigger": st.integers(300, 5000), "maxPartitionBytes": st.integers(50, 5000)}
        )
    )
    with TemporaryDirectory() as folder:
        stream, rows = Stream(Path(folder), tailTimeout=3600, **limits), list[dict[str, Any]]()
        length, path = 0, Path(folder) / "file"
        for number in range(data.draw(st.integers(0, 6))):
            length = min(len(end), length + data.draw(st.integers(1, 9000)))
            path.write_bytes(end[:length])
            if data.draw(st.booleans()):
                stream.restart()
            if data.draw(st.booleans()):
                rows += stream.batch()
            if data.draw(st.booleans()):
                path = path.rename(Path(folder) / f"renamed-{number}")
        path.write_bytes(end)
        rows += stream.end()
        whole = rows_of(path, body="raw")
        assert good(rows) == good(whole)
        assert corrupt(rows) == corrupt(whole)
        assert stream.all(LATE) == []


@pytest.mark.parametrize("limit", [0, 300])
def test_damaged_packets_in_any_batches(tmp_path: Path, limit: int) -> None:
    for number, (start, stop) in enumerate(PACKETS_AT["pcap"][5:7]):
        for damage in ((stop - 5, b"\xff" * 5, 5), (start, b"\xff" * 9, 9)):
            path = write(tmp_path, joined(["pcap"], *damage), f"file-{number}")
            rows, whole = Stream(path, tailTimeout=3600, maxBytesPerTrigger=limit).end(), rows_of(path, body="raw")
            assert good(rows) == good(whole)
            assert corrupt(rows) == corrupt(whole)


def test_half_frames_wait_and_answers_find_their_requests(tmp_path: Path) -> None:
    frames = conversation(8)
    ends = [sum(map(len, frames[:count])) for count in range(len(frames) + 1)]
    stream, rows = Stream(tmp_path), []
    for count in range(1, len(frames)):
        write(tmp_path, CONVERSATION[: ends[count] + 5])
        rows += stream.batch()
        assert stream.batch() == []
        stream.restart()
    assert [row["message"] for row in rows] == frames[:-1]
    assert {row["client_id"] for row in rows} == {"me"}
    assert stream.all(LATE) == []


def test_a_tail_is_given_out_when_its_file_rests(tmp_path: Path) -> None:
    path = write(tmp_path, CONVERSATION[:-3])
    stream = Stream(tmp_path, tailTimeout="10m")
    assert {row["_error"] for row in stream.batch(path.stat().st_mtime + 599)} == {None}
    (row,) = stream.batch(path.stat().st_mtime + 600)
    assert (row["_error"]["code"], stream.all(LATE)) == ("CUT_SHORT", [])
    write(tmp_path, CONVERSATION)
    with pytest.raises(LostData, match="it was read up to its end at"):
        stream.batch(LATE)


def test_a_record_that_stays_incomplete_is_given_out(tmp_path: Path) -> None:
    data = PCAP.read_bytes()
    path = write(tmp_path, data[:-9])
    stream = Stream(tmp_path, tailTimeout="10m")
    assert {row["_error"] for row in stream.batch(path.stat().st_mtime + 599)} == {None}
    (row,) = stream.batch(path.stat().st_mtime + 600)
    start = len(data) - len(records_of(PCAP)[-1])
    assert (row["_error"]["code"], row["offset"], row["_corrupt_record"]) == ("CUT_SHORT", start, data[start:-9])


def test_a_file_that_was_renamed_or_copied_is_read_on(tmp_path: Path) -> None:
    data, stream = PCAP.read_bytes(), Stream(tmp_path)
    write(tmp_path, data[:9000], "a")
    rows = stream.batch()
    (tmp_path / "a").rename(tmp_path / "b")
    write(tmp_path, data, "b")
    write(tmp_path, data, "copy")
    stream.restart()
    rows += stream.all()
    write(tmp_path, CONVERSATION, "a")  # another file of a name that was read
    assert len(stream.all()) == 18
    assert good(rows) == good(rows_of(tmp_path / "b", body="raw"))


@pytest.mark.parametrize("data", [(CONVERSATION * 9)[:1030], CONVERSATION * 9 + b"xx" + CONVERSATION])
def test_replaced_files_are_noticed(tmp_path: Path, data: bytes) -> None:
    write(tmp_path, CONVERSATION * 10)
    strict, lenient = Stream(tmp_path), Stream(tmp_path, failOnDataLoss=False, tailTimeout=3600)
    assert len(strict.batch()) == len(lenient.batch()) == 10 * 18
    before = places_of(strict.offset)
    path = write(tmp_path, data)
    with pytest.raises(
        LostData, match=rf"\[KWIRE_LOST_DATA\] path={path}, offset={10 * len(CONVERSATION)}: .*cut or replaced"
    ):
        strict.batch()
    with pytest.raises(LostData, match="not there any more"):
        list(strict.growing.ranges({}, before))
    assert good(lenient.all(LATE)) == good(rows_of(path, body="raw"))
    assert list(lenient.growing.ranges({}, before)) == []


def test_a_file_that_is_gone_is_known_when_it_comes_back(tmp_path: Path) -> None:
    write(tmp_path, CONVERSATION).rename(tmp_path / "one")
    stream = Stream(tmp_path)
    assert len(stream.batch()) == 18
    (tmp_path / "one").rename(tmp_path.parent / "away")
    assert stream.batch() == []
    (tmp_path.parent / "away").rename(tmp_path / "two")
    assert stream.batch() == []


def test_files_that_are_long_gone_are_forgotten(tmp_path: Path) -> None:
    for count, (name, age) in enumerate((("old", 1000), ("older", 2000), ("new", 3000))):
        os.utime(write(tmp_path, CONVERSATION[count * len(conversation(1)[0]) :], name), (age, age))
    stream = Stream(tmp_path, maxFileAge=1500)
    stream.batch()
    assert stream.offset["count"] == 3
    (tmp_path / "old").unlink()
    (tmp_path / "older").unlink()
    stream.batch()
    assert sorted(Path(place.path).name for place in places_of(stream.offset).values()) == ["new", "older"]


def test_compressed_files_wait_until_they_are_whole(tmp_path: Path) -> None:
    data = gzip.compress(CONVERSATION)
    path = write(tmp_path, data[:-4])
    stream = Stream(tmp_path)
    assert stream.batch() == []
    write(tmp_path, data)
    assert good(stream.batch()) == good(rows_of(path, body="raw"))
    write(tmp_path, data[:60] + b"\xff" * 20 + data[80:], "damaged")
    assert len(corrupt(stream.batch())) == 1


def test_other_files_are_read_at_once_and_whole(tmp_path: Path) -> None:
    text = CONVERSATION.hex().encode()
    write(tmp_path, text, "text")
    stream = Stream(tmp_path, maxBytesPerTrigger=10)
    assert len(stream.batch()) == 18
    write(tmp_path, text * 2, "text")
    with pytest.raises(LostData, match="move them in when they are complete"):
        stream.batch()


def test_batches_are_bounded(tmp_path: Path) -> None:
    starts = [0, len(conversation(1)[0])]
    for start in starts:
        write(tmp_path, CONVERSATION[start:], str(start))
    assert len(places_of(Stream(tmp_path, maxFilesPerTrigger=1).offset)) == 0
    for option, most in (("maxFilesPerTrigger", len(CONVERSATION)), ("maxBytesPerTrigger", 100)):
        stream = Stream(tmp_path, **{option: min(most, 100) if "Bytes" in option else 1})
        stream.batch()
        assert sum(place.stop for place in places_of(stream.offset).values()) <= most
        stream.batch(is_limited=False)
        assert sum(place.stop for place in places_of(stream.offset).values()) == 2 * len(CONVERSATION) - starts[1]
    stream = Stream(write(tmp_path, PCAP.read_bytes(), "capture"), maxBytesPerTrigger=1)
    stream.batch()
    (place,) = places_of(stream.offset).values()
    assert place.stop == 24 + len(records_of(PCAP)[0])  # a packet at least


def test_what_comes_later_is_not_looked_at(tmp_path: Path) -> None:
    write(tmp_path, CONVERSATION)
    stream = Stream(tmp_path)
    sizes = {file.path: file.size for file in stream.growing.files().values()}
    write(tmp_path, CONVERSATION * 2)
    write(tmp_path, PCAP.read_bytes(), "other")
    assert len(stream.batch(sizes=sizes)) == 18
    assert stream.batch(sizes=sizes) == []
    assert len(stream.batch()) > 36


def test_paths_that_may_come_are_globs(tmp_path: Path) -> None:
    stream = Stream(tmp_path / "*.bin")
    assert stream.batch() == []
    write(tmp_path, CONVERSATION, "a.bin")
    assert len(stream.batch()) == 18
    with pytest.raises(BadOption, match="PATH_NOT_FOUND"):
        Stream(tmp_path / "none").batch()


def test_a_range_goes_between_processes() -> None:
    split = ByteRange("a", 1, 2, "it", extent=Extent(3, 4, b"head", b"key", True))
    assert pickle.loads(pickle.dumps(split)) == split


ALL = 1 << 40
OPTIONS = Options()


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_captures_end_where_the_last_whole_record_does(tmp_path: Path, kind: str) -> None:
    data = PARTS[kind][:2000]
    ends = set()
    for size in range(len(data)):
        path = str(write(tmp_path, data[:size]))
        end, header = captured_end(path, 0, kind, ALL, size)
        assert end <= size
        assert captured_end(path, end, kind, ALL, size, header) == (end, header)
        ends.add(end)
    assert len(ends) > 10
    one_by_one, place, header = set(), 0, b""
    while (after := captured_end(path, place, kind, place + 1, size, header))[0] != place:
        place, header = after
        one_by_one.add(place)
    assert one_by_one | {0} == ends


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_damage_is_taken_along_when_records_follow_it(tmp_path: Path, kind: str) -> None:
    size = len(PARTS[kind])
    begun, _ = captured_end(str(write(tmp_path, PARTS[kind], "all")), 0, kind, 1, size)
    whole = PARTS[kind][:begun]
    path = str(write(tmp_path, whole + b"\xff" * 50))
    assert captured_end(path, 0, kind, ALL, begun + 50)[0] == begun
    data = whole + b"\xff" * 50 + PARTS[kind][begun:]
    end = captured_end(str(write(tmp_path, data, "more")), 0, kind, ALL, len(data))[0]
    assert end == captured_end(str(tmp_path / "all"), 0, kind, ALL, size)[0] + 50


def file_of(path: Path) -> InputFile:
    return InputFile(str(path), path.stat().st_size, 0)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", ""),
        (b"\xd4\xc3\xb2", ""),
        (PCAP.read_bytes()[:4], "pcap"),
        (CONVERSATION[:9], ""),
        (CONVERSATION[:200], RAW_FRAMES),
        (FRAMES.read_bytes(), RAW_FRAMES),
        (gzip.compress(CONVERSATION), WHOLE),
        (b"00 00 00 04", WHOLE),
        (LOG.read_bytes(), WHOLE),
        (b"\xff" * 10, WHOLE),
    ],
)
def test_a_file_is_known_when_there_is_enough_of_it(tmp_path: Path, data: bytes, kind: str) -> None:
    assert kind_so_far(file_of(write(tmp_path, data)), OPTIONS, is_over=False) == kind


def test_at_its_end_a_file_is_what_it_looks_like(tmp_path: Path) -> None:
    assert kind_so_far(file_of(write(tmp_path, CONVERSATION[:9])), OPTIONS, is_over=True) == RAW_FRAMES
    pcap = file_of(write(tmp_path, PCAP.read_bytes()))
    assert kind_so_far(pcap, Options(dump_format="frames"), is_over=False) == RAW_FRAMES
    assert kind_so_far(pcap, Options(dump_format="hex"), is_over=False) == WHOLE


def test_compressed_data_is_whole_at_its_end_or_where_it_is_damaged(tmp_path: Path) -> None:
    data = gzip.compress(CONVERSATION)
    assert [is_whole(str(write(tmp_path, data[:size]))) for size in (len(data) - 1, len(data))] == [False, True]
    assert is_whole(str(write(tmp_path, data[:60] + b"\xff" * 20 + data[80:])))
    assert is_whole(str(write(tmp_path, CONVERSATION[:-1])))


def rotated(folder: Path, count: int = 4) -> list[Path]:
    """Cut `PCAP` into files that are not in the order of their names, and return them in the order of their packets."""
    records, size = records_of(PCAP), -(-len(records_of(PCAP)) // count)
    parts = [PCAP.read_bytes()[:24] + b"".join(records[at : at + size]) for at in range(0, len(records), size)]
    return [write(folder, part, f"{count - number}.pcap") for number, part in enumerate(parts)]


def test_files_are_read_in_the_order_of_their_packets(tmp_path: Path) -> None:
    for path in rotated(tmp_path):
        os.utime(path, (1000, 1000))
    assert good(Stream(tmp_path, maxFilesPerTrigger=1).end()) == good(rows_of(PCAP, body="raw"))


def test_a_file_may_arrive_as_late_as_it_is_waited_for(tmp_path: Path) -> None:
    first, second, third, last = rotated(tmp_path)
    away = second.rename(tmp_path.parent / f"{tmp_path.name}-away")
    for path, time in ((first, 1000), (third, 1100), (away, 1190), (last, 1180)):
        os.utime(path, (time, time))
    stream = Stream(tmp_path, lateFiles="100s")
    rows = stream.batch(1199)
    assert {Path(row["path"]) for row in rows} <= {first}
    away.rename(second)
    rows += stream.batch(1200)  # the third file has rested, and the second one begins before it
    assert {Path(place.path) for place in places_of(stream.offset).values()} == {first, second, third}
    assert good(rows + stream.end()) == good(rows_of(PCAP, body="raw"))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_file_that_arrives_later_is_reported(tmp_path: Path, compress: Any) -> None:
    _, second, *_ = rotated(tmp_path)
    away = second.rename(tmp_path.parent / f"{tmp_path.name}-away")
    stream = Stream(tmp_path, lateFiles="100s")
    assert "LATE_FILE" not in {row["_error"] and row["_error"]["code"] for row in stream.all(LATE)}
    second.write_bytes(compress(away.read_bytes()))
    stream.restart()
    (late,) = (row for row in stream.all(LATE) if row["_error"] and row["_error"]["code"] == "LATE_FILE")
    assert late["path"] == str(second)
    assert "files with later packets were read before this file" in late["_error"]["reason"]
    assert stream.all(LATE) == []


@pytest.mark.parametrize("skew", [0, 2, 3600, -3600])
def test_packets_that_two_files_of_a_batch_have_are_used_once(tmp_path: Path, skew: int) -> None:
    late = [pack("<I", unpack_from("<I", record)[0] + skew) + record[4:] for record in records_of(PCAP)]
    write(tmp_path, PCAP.read_bytes(), "a")
    write(tmp_path, PCAP.read_bytes()[:24] + b"".join(late), "b")
    assert len(good(Stream(tmp_path).end())) == len(good(rows_of(PCAP, body="raw")))


def test_places_are_written_down_and_read() -> None:
    places = {
        "b": FilePosition("/in/b", 9, "pcap", ("00", "ff"), 1_700_000_000, True, "d4c3"),
        "a": FilePosition("/in/a"),
    }
    assert places_of(json.loads(json.dumps(offset_of(places)))) == places


def test_offsets_of_another_version_are_refused() -> None:
    with pytest.raises(BadOption, match="offsets have version 1, not 2; take the kwire that wrote it"):
        places_of({"version": 1, "files": {}})


def test_a_mark_tells_both_ends_apart(tmp_path: Path) -> None:
    data = bytes(range(256)) * 20
    changed = [bytes([1]) + data[1:], data[:4999] + b"x" + data[5000:]]
    marks = [mark_of(str(write(tmp_path, one)), 5000) for one in [data, *changed]]
    assert len(set(marks)) == 3
    assert mark_of(str(write(tmp_path, data + b"more")), 5000) == marks[0]
