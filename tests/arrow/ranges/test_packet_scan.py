"""Byte ranges of captures, brought together by connection, give the frames of the whole capture, exactly."""

from __future__ import annotations

import gzip
import os
import random
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from struct import pack, unpack_from
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kwire.arrow.ranges import packet_groups
from kwire.arrow.ranges.byte_ranges import ByteRange
from kwire.arrow.ranges.divided_captures import pieces_of
from kwire.arrow.ranges.packet_chunks import chunks_of
from kwire.arrow.ranges.packet_rows import LOST, PACKETS, VOID
from kwire.arrow.ranges.packet_scan import scan
from kwire.arrow.rows.row_faults import MalformedFrame
from kwire.capture.open_capture import open_packets
from kwire.capture.packets.packet import FIRST_INTERFACES, Packet
from kwire.errors import DumpError
from tests.arrow.captures import FRAMES, PCAP, rows_of, write
from tests.arrow.pieces import content, cut_at_bytes, cut_at_packets, records_of, staged, windowed
from tests.capture.building import Conversation, enhanced, ethernet, interface, ipv4, packet_of, pcap, section, tcp
from tests.conftest import SHARED, each_of, spread
from tests.seeds import seeded

SHARED_CAPTURES = sorted(SHARED.glob("captures/*.pcap*")) if SHARED.is_dir() else []
CUT = ["2.8-ipv6.clients", "3.9-ibp-0.10.2.clients", "1.1-zk.clients", "0.10.0.replication", "2.4-zk.controller"]
CUT += ["4.4-kraft.clients", "0.8.2.clients", "0.9.controller", "3.9-ibp-3.3.clients", "0.10.2.zookeeper"]
NAMED = [path for name in CUT for path in SHARED_CAPTURES if path.name == f"kafka-{name}.pcap"]


def whole(path: Path, **options: Any) -> Counter[Any]:
    return content(rows_of(path, body="raw", **options))


@pytest.mark.parametrize("most", [10**6, 10_000, 500, 40])
def test_ranges_of_a_file_are_the_file(most: int) -> None:
    assert content(staged([PCAP], most)) == whole(PCAP)


@each_of("path", SHARED_CAPTURES, most=6, ids=lambda path: getattr(path, "name", ""))
def test_ranges_of_real_captures(path: Path) -> None:
    expected = whole(path)
    for most in (50_000, 3_000):
        assert content(staged([path], most)) == expected


@each_of("path", NAMED, most=1, ids=lambda path: getattr(path, "name", ""))
@pytest.mark.parametrize("parts", spread([4, 20, 100], 1))
def test_rotated_captures(path: Path, parts: int, tmp_path: Path) -> None:
    pieces = cut_at_packets(path, tmp_path, parts, seed=parts)
    expected = whole(path)
    for most in (10**6, 2_000):
        assert content(staged(pieces, most)) == expected


@each_of("path", NAMED, most=1, ids=lambda path: getattr(path, "name", ""))
@pytest.mark.parametrize("parts", spread([20, 4, 100], 1))
def test_captures_cut_at_bytes(path: Path, parts: int, tmp_path: Path) -> None:
    pieces = cut_at_bytes(path, tmp_path, parts)
    expected = whole(path)
    for most in (10**6, 2_000):
        assert content(staged(pieces, most)) == expected


@each_of("path", NAMED, most=1, ids=lambda path: getattr(path, "name", ""))
@pytest.mark.parametrize("parts", spread([20, 4, 100], 1))
def test_names_of_pieces_do_not_matter(path: Path, parts: int, tmp_path: Path) -> None:
    pieces = cut_at_bytes(path, tmp_path, parts, seeded("names of pieces"))
    expected = whole(path)
    for most in (10**6, 2_000):
        assert content(staged(pieces, most)) == expected


@each_of("path", NAMED, most=1, ids=lambda path: getattr(path, "name", ""))
@pytest.mark.parametrize("size", [4096, 20_000])
def test_pieces_with_records_need_neither_names_nor_times(path: Path, size: int, tmp_path: Path) -> None:
    parts = -(-path.stat().st_size // size)
    for piece in cut_at_bytes(path, tmp_path, parts, seeded("names of pieces")):
        os.utime(piece, ns=(0, 0))
    pieces = sorted(tmp_path.iterdir())
    assert content(staged(pieces, 10**6)) == whole(path)


def test_pcapng_in_pieces(tmp_path: Path) -> None:
    path = write(tmp_path, section() + interface(1) + b"".join(blocks_of(PCAP)))
    for size in (700, 4096):
        folder = tmp_path / f"{size}"
        pieces = cut_at_bytes(path, folder, -(-path.stat().st_size // size), seeded("names of pieces"))
        assert content(staged(pieces, 10**6)) == whole(path)


@each_of("path", NAMED, most=1, ids=lambda path: getattr(path, "name", ""))
def test_a_damaged_record_in_each_piece(path: Path, tmp_path: Path) -> None:
    for seed in range(4):
        rng, records, head = random.Random(seed), records_of(path), path.read_bytes()[:24]
        parts = rng.choice([4, 20])
        bounds = pairwise(len(records) * part // parts for part in range(parts + 1))
        hits = {rng.randrange(start + 1, stop) for start, stop in bounds}
        for hit in hits:
            record, count = bytearray(records[hit]), rng.choice([1, 4, 16])
            start = rng.choice([0, rng.randrange(len(record) - count)])
            record[start : start + count] = rng.randbytes(count)
            records[hit] = bytes(record)
        damaged = write(tmp_path, head + b"".join(records), f"{seed}")
        expected = kept(damaged)
        pieces = cut_at_bytes(damaged, tmp_path / f"in-{seed}", parts, seeded("names of pieces"))
        for most in (10**6, 3_000):
            assert not expected - kept_of(staged(pieces, most))


@pytest.mark.parametrize("at", [4, 10, 23, 24, 30])
def test_a_cut_in_the_header(at: int, tmp_path: Path) -> None:
    data = PCAP.read_bytes()
    half = len(data) // 2
    parts = [data[:at], data[at:half], data[half:]]
    pieces = [write(tmp_path, part, f"{name}.pcap") for name, part in zip((2, 3, 1), parts, strict=True)]
    assert content(staged(pieces, 7_000)) == whole(PCAP)


def test_a_part_of_a_header_is_no_capture(tmp_path: Path) -> None:
    cut = write(tmp_path, PCAP.read_bytes()[:10], "1.bin")
    other = write(tmp_path, FRAMES.read_bytes(), "2.bin")
    assert content(staged([cut, other], 10_000)) == whole(cut) + whole(FRAMES)


def test_a_damaged_first_record_of_pieces(tmp_path: Path) -> None:
    data = bytearray(PCAP.read_bytes())
    data[24:40] = b"\xff" * 16
    damaged = write(tmp_path, bytes(data), "whole")
    pieces = cut_at_bytes(damaged, tmp_path / "in", 5, random.Random(1))
    assert content(staged(pieces, 7_000)) == whole(damaged)


def exchanges(count: int) -> list[tuple[int, bytes]]:
    """Return the packets of a connection, with their times in nanoseconds."""
    conversation = Conversation().open()
    for number in range(count):
        conversation.ask(number)
    return [(segment.nanoseconds or 0, packet_of(segment)) for segment in conversation.close().segments]


@pytest.mark.parametrize("step", spread([2, 60, 3600, 400 * 86400], 1))
def test_packets_of_a_file_whose_clock_was_set_back(step: int, tmp_path: Path) -> None:
    packets = exchanges(800)
    packets[1200:] = [(time - step * 10**9, data) for time, data in packets[1200:]]
    path = write(tmp_path, pcap(packets))
    expected = whole(path)
    for most in (10**6, 7_000, 900):
        assert content(staged([path], most)) == expected
        assert content(windowed([path], max(most, 2000))[0]) == expected
    assert content(staged(cut_at_bytes(path, tmp_path / "in", 6), 10**6)) == whole(path)


def test_packets_of_interfaces_that_are_not_in_order_of_time(tmp_path: Path) -> None:
    """dumpcap writes packets in groups, as each interface gives them, and does not sort them."""
    blocks = [
        enhanced(data, time // 1000 - (index // 300 % 2) * 3_000_000, index // 300 % 2)
        for index, (time, data) in enumerate(exchanges(800))
    ]
    path = write(tmp_path, section() + interface(1) + interface(1) + b"".join(blocks))
    expected = whole(path)
    for most in (10**6, 7_000, 900):
        assert content(staged([path], most)) == expected
        assert content(windowed([path], max(most, 2000))[0]) == expected


@pytest.mark.parametrize("size", [90, 92])
def test_pieces_of_a_slow_capture_are_in_order(size: int, tmp_path: Path) -> None:
    """An hour lies between two packets; of the first or the last packet, no piece has enough to take its time from."""
    hour, packets = 3600 * 10**9, exchanges(6)
    start = packets[0][0]
    data = pcap([(start + hour * number, packet) for number, (_, packet) in enumerate(packets)])
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    names = seeded("names of pieces").sample(range(1000), len(parts))
    pieces = [write(tmp_path, part, f"{name:03}.pcap") for name, part in zip(names, parts, strict=True)]
    for piece in pieces:
        os.utime(piece, ns=(0, 0))
    assert [piece.path for piece in pieces_of(str(pieces[0]))] == [str(piece) for piece in pieces]


def test_other_files_are_no_pieces(tmp_path: Path) -> None:
    for name, file in (("1.bin", PCAP), ("2.bin", FRAMES)):
        (tmp_path / name).write_bytes(file.read_bytes())
    files = [tmp_path / "1.bin", tmp_path / "2.bin"]
    assert content(staged(files, 10_000)) == whole(PCAP) + whole(FRAMES)


@each_of("path", NAMED, most=1, ids=lambda path: getattr(path, "name", ""))
@pytest.mark.parametrize("skew", [0, 2, -3600])
def test_packets_that_two_sniffers_have_are_taken_once(path: Path, skew: int, tmp_path: Path) -> None:
    head = path.read_bytes()[:24]
    late = [pack("<I", unpack_from("<I", record)[0] + skew) + record[4:] for record in records_of(path)]
    (tmp_path / "other").write_bytes(head + b"".join(late))
    found, expected = content(staged([path, tmp_path / "other"], 10_000)), whole(path)
    assert timeless(found) == timeless(expected)


def timeless(rows: Counter[Any]) -> Counter[Any]:
    """Leave out the time of a frame and of its connection's begin, which may be the other sniffer's."""
    found = Counter[Any]()
    for row, count in rows.items():
        found[row[0][:4], *row[1:4], *row[5:]] += count
    return found


@each_of("path", NAMED, most=1, ids=lambda path: getattr(path, "name", ""))
def test_sniffers_that_have_a_part_each(path: Path, tmp_path: Path) -> None:
    rng, head, records = random.Random(7), path.read_bytes()[:24], records_of(path)
    first = [rng.random() < 0.5 for _ in records]
    halves = [
        [record for record, is_first in zip(records, first, strict=True) if is_first],
        [record for record, is_first in zip(records, first, strict=True) if not is_first or rng.random() < 0.2],
    ]
    files = [write(tmp_path, head + b"".join(half), f"{index}") for index, half in enumerate(halves)]
    assert content(staged(files, 10_000)) == whole(path)


@each_of("path", NAMED, most=1, ids=lambda path: getattr(path, "name", ""))
def test_a_damaged_record_costs_only_the_frames_in_it(path: Path, tmp_path: Path) -> None:
    for seed in range(6):
        rng, data = random.Random(seed), bytearray(path.read_bytes())
        records = records_of(path)
        hit = rng.randrange(1, len(records))
        start = 24 + sum(map(len, records[:hit]))
        count = rng.choice([1, 4, 16, len(records[hit])])
        data[start : start + count] = rng.randbytes(count)
        damaged = write(tmp_path, bytes(data))
        expected = whole(damaged)
        for most in (10**6, 3_000):
            assert content(staged([damaged], most)) == expected
        pieces = cut_at(damaged, tmp_path / f"{seed}", records, [len(records) // 3, 2 * len(records) // 3])
        lost = kept(path) - kept_of(staged(pieces, 5_000))
        assert sum(lost.values()) <= sum((kept(path) - frames_in(expected)).values())


def cut_at(damaged: Path, folder: Path, records: list[bytes], places: list[int]) -> list[Path]:
    """Cut a damaged file where its records were."""
    folder.mkdir()
    data, files = damaged.read_bytes(), []
    cuts = [0, *places, len(records)]
    for start, stop in pairwise(cuts):
        first, last = (24 + sum(map(len, records[:place])) for place in (start, stop))
        files.append(write(folder, data[:24] + data[first:last], f"{start}"))
    return files


def kept_of(rows: list[dict[str, Any]]) -> Counter[bytes]:
    return Counter(row["message"] for row in rows if row["_error"] is None)


def kept(path: Path) -> Counter[bytes]:
    return kept_of(rows_of(path, body="raw"))


def frames_in(rows: Counter[Any]) -> Counter[bytes]:
    return Counter({row[5]: count for row, count in rows.items() if not row[-1]})


def nested(copies: int) -> list[Any]:
    """The segments of a connection whose messages are captures themselves."""
    conversation = Conversation().open()
    inner = pcap([(1_700_000_000_000_000_000 + n, packet_of(s)) for n, s in enumerate(Conversation().open().segments)])
    for number in range(copies):
        conversation.ask(
            number, 700, (len(inner) * 20 + 4).to_bytes(4, "big") + number.to_bytes(4, "big") + inner[24:] * 20
        )
    return conversation.close().segments


def test_a_range_that_begins_in_a_capture_inside_of_a_packet_is_corrected(tmp_path: Path) -> None:
    inner = nested(3)
    packets = [(segment.nanoseconds or 0, packet_of(segment)) for segment in inner]
    # a packet that holds thousands of records, in which many ranges begin
    big = pcap([(1_700_000_000_000_000_000, packet_of(segment)) for segment in inner])[24:] * 8
    carrier = Conversation(ports=(40000, 9092)).open().say(0, big[:60_000]).segments
    packets[5:5] = [(segment.nanoseconds or 0, packet_of(segment)) for segment in carrier]
    path = write(tmp_path, pcap(packets))
    kinds = Counter[int]()
    expected = whole(path)
    for most in (20_000, 4_000, 1_000):
        assert content(staged([path], most)) == expected
        size = path.stat().st_size
        for start in range(0, size, most):
            for batch in scan(ByteRange(str(path), start, min(size, start + most), "")):
                kinds.update(batch["kind"].to_pylist())
    assert kinds[VOID] > 10 < kinds[PACKETS]


def blocks_of(path: Path) -> list[bytes]:
    with open_packets(path) as packets:
        return [enhanced(packet.data, (packet.nanoseconds or 0) // 1000) for packet in packets]


def test_pcapng_with_several_sections_and_interfaces(tmp_path: Path) -> None:
    blocks = blocks_of(PCAP)
    half = len(blocks) // 2
    data = [section(), interface(1), *blocks[:half], section(), interface(1), interface(101), *blocks[half:]]
    path = write(tmp_path, b"".join(data))
    expected = whole(path)
    for most in (10**6, 10_000, 900):
        assert content(staged([path], most)) == expected
    assert Counter(row["message"] for row in staged([path], 5_000)) == Counter(
        row["message"] for row in rows_of(PCAP, body="raw")
    )


@pytest.mark.parametrize("order", "<>")
def test_each_packet_of_pcapng_is_kept_with_few_interfaces(order: str, tmp_path: Path) -> None:
    """Each packet has an interface of its own: a row with all of them would be as long as the file."""
    blocks = [section(order)]
    with open_packets(PCAP) as packets:
        for number, packet in enumerate(packets):
            resolution = pack(order + "HHB3xHH", 9, 1, number % 10, 0, 0)
            ticks = (packet.nanoseconds or 0) // 10 ** (9 - number % 10)
            blocks += [interface(1, order, resolution), enhanced(packet.data, ticks, number, order)]
    path = write(tmp_path, b"".join(blocks))
    expected = whole(path)
    for most in (10**6, 900):
        assert content(staged([path], most)) == expected
    heads = {head for batch in scan(ByteRange(str(path), 0, 10**6, "")) for head in batch["head"].to_pylist()}
    assert max(map(len, heads)) <= 28 + FIRST_INTERFACES * 44


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_any_damage_in_any_ranges(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    is_ng = data.draw(st.booleans())
    head = section() + interface(1) if is_ng else PCAP.read_bytes()[:24]
    found = bytearray(head + b"".join(blocks_of(PCAP)) if is_ng else PCAP.read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        # Of a capture whose header names another link, a whole read gives the bytes, ranges only the reason.
        place = data.draw(st.integers(len(head), len(found) - 1))
        piece = data.draw(st.binary(min_size=1, max_size=60))
        if data.draw(st.booleans()):
            found[place : place + len(piece)] = piece
        else:
            del found[place : place + len(piece)]
    path = write(tmp_path_factory.mktemp("damaged"), bytes(found))
    most = data.draw(st.integers(100, 20_000))
    # A damaged time is corrected by the records around it in its range, and there may be too few of them: its packet
    # is then read at the place of that time (docs/explanation/limits.md).
    assume(is_in_order_of_time(path))
    assert content(staged([path], most)) == whole(path)


def is_in_order_of_time(path: Path) -> bool:
    times = list[int]()
    with suppress(DumpError), open_packets(path) as packets:
        times.extend(packet.nanoseconds or 0 for packet in packets if isinstance(packet, Packet))
    return all(one <= other for one, other in pairwise(times))


@pytest.mark.parametrize("second", [2309, 2310, 4000])
def test_damage_that_two_ranges_take_back_once_each_is_given_out_by_the_third(second: int, tmp_path: Path) -> None:
    found = bytearray(PCAP.read_bytes())
    del found[100:122]
    del found[second]
    path = write(tmp_path, bytes(found))
    assert content(staged([path], 100)) == whole(path)


def test_compressed_captures_are_one_range_whatever_their_name(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(PCAP.read_bytes()))
    assert content(staged([path], 1_000)) == whole(PCAP)
    cut = write(tmp_path, gzip.compress(PCAP.read_bytes())[:-3000], "cut")
    assert content(staged([cut], 1_000)) == whole(cut)


def test_a_capture_without_tcp_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, pcap([(1_700_000_000_000_000_000, bytes(60))] * 5))
    (row,) = staged([path], 100)
    assert row["path"] == str(path)
    assert "none of its packets carries TCP: 5 were looked at" in row["_error"]["reason"]


def test_what_is_no_capture_is_read_as_it_is(tmp_path: Path) -> None:
    assert content(staged([FRAMES], 500)) == whole(FRAMES)
    short = write(tmp_path, PCAP.read_bytes()[:11])
    assert content(staged([short], 500)) == whole(short)


def test_a_frame_that_is_malformed_ends_the_reading_if_that_is_wanted(tmp_path: Path) -> None:
    answer = (20).to_bytes(4, "big") + (1).to_bytes(4, "big") + b"\xff" * 16
    segments = Conversation().open().ask(1, answer=answer).ask(2).close().segments
    path = write(tmp_path, pcap([(segment.nanoseconds or 0, packet_of(segment)) for segment in segments]))
    with pytest.raises(MalformedFrame, match=r"path=.*dump, offset=0, api=Metadata, version=1"):
        staged([path], 10_000, mode="FAILFAST", body="json")


LINKS = {1: ethernet(b""), 113: bytes(14) + b"\x08\x00", 276: b"\x08\x00" + bytes(18), 101: b"", 0: b"\2\0\0\0"}


def mixed(rng: random.Random, link: int, order: str, is_block: bool) -> bytes:
    """A capture of several connections, some of whose packets are cut, tagged, not TCP, or damaged."""
    conversations = [
        Conversation(ports=(50_000 + number, 9092)).open().ask(1, 40).ask(2).close() for number in range(4)
    ]
    packets = [packet_of(segment)[14:] for conversation in conversations for segment in conversation.segments]
    packets += [ipv4(tcp(rng.randbytes(9)), protocol=rng.choice((6, 6, 17)), options=rng.choice((b"", bytes(4))))] * 9
    rng.shuffle(packets)
    cuts = [rng.choice((0, 0, 0, rng.randrange(60))) for _ in packets]
    whole = [LINKS[link] + packet for packet in packets]
    parts = [data[: len(data) - cut or 1] for data, cut in zip(whole, cuts, strict=True)]
    times = [10**18 + 10**6 * number for number in range(len(parts))]
    if is_block:
        blocks = [
            enhanced(part, time // 1000, 0, order, len(data))
            for part, time, data in zip(parts, times, whole, strict=True)
        ]
        file = bytearray(section(order) + interface(link, order) + b"".join(blocks))
    else:
        missing = [len(data) - len(part) for part, data in zip(parts, whole, strict=True)]
        file = bytearray(pcap(zip(times, parts, missing, strict=True), link=link, order=order))
    for _ in range(rng.choice((0, 1, 3))):
        file[rng.randrange(200, len(file))] ^= 1 << rng.randrange(8)
    return bytes(file)


def packets_by_connection(path: Path, most: int) -> tuple[Counter[Any], Counter[str]]:
    """All packets with their connections and places, and how many could not be read, by reason."""
    size, found, lost = path.stat().st_size, Counter[Any](), Counter[str]()
    for start in range(0, size, most):
        for chunk in chunks_of(scan(ByteRange(str(path), start, min(size, start + most), "x"))):
            if chunk.kind == PACKETS:
                found.update((chunk.connection, place) for place in chunk.places)
                found[chunk.connection, "bytes"] += len(chunk.packets)
            elif chunk.kind == LOST:
                lost[chunk.problem] += chunk.place
            else:
                found[chunk.kind, chunk.connection, chunk.place, chunk.packets, chunk.problem] += 1
    return found, lost


@pytest.mark.parametrize("is_block", [False, True])
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("link", LINKS)
def test_packets_in_bulk_are_those_one_by_one(
    link: int, order: str, is_block: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = seeded("packets in bulk")
    for number in range(10):
        path = write(tmp_path, mixed(rng, link, order, is_block), f"{number}")
        for most in (10**6, 2_000):
            in_bulk = packets_by_connection(path, most)
            with monkeypatch.context() as patched:
                patched.setattr(packet_groups, "ENGINE", "python")
                assert packets_by_connection(path, most) == in_bulk
