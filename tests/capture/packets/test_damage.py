"""Damaged captures: a damaged record costs that record. No byte is lost, nothing raises, and time is linear."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import kwire
from kwire.capture.packets import packet
from kwire.capture.packets.damage import DamagedBytes
from kwire.capture.packets.packet import Packet
from kwire.capture.packets.pcap import PcapReader
from kwire.capture.packets.pcapng import PcapngReader
from kwire.protocol.frames.stream_faults import CutRecord, Damaged
from tests.capture.building import Conversation, capture, enhanced, interface, packet_of, pcap, section
from tests.cases import case_by_case

COUNT = 60
CONVERSATIONS = [Conversation(ports=(50000 + number, 9092)).open() for number in range(4)]
for _number in range(COUNT):
    CONVERSATIONS[_number % 4].now = max(conversation.now for conversation in CONVERSATIONS)
    CONVERSATIONS[_number % 4].ask(_number)
SEGMENTS = sorted(
    (one for conversation in CONVERSATIONS for one in conversation.segments), key=lambda one: one.nanoseconds or 0
)
TIMES = [(one.nanoseconds or 0, packet_of(one)) for one in SEGMENTS]
KINDS = ["pcap", "pcap, big-endian, microseconds", "pcapng"]


def file_of(kind: str) -> tuple[bytes, list[bytes]]:
    """What the file begins with, and its records."""
    if kind == "pcapng":
        return section() + interface(), [enhanced(data, time // 1000) for time, data in TIMES]
    options: Any = {"order": ">"} if "big" in kind else {"nanoseconds": True}
    return pcap([], **options), [pcap([one], **options)[24:] for one in TIMES]


def damaged(records: list[bytes], chance: Random, times: int) -> tuple[bytes, set[int]]:
    """Flip, insert or delete bytes in some places; returns the bytes, and which records were touched."""
    touched: set[int] = set()
    out = list(records)
    for index in sorted(chance.sample(range(len(records)), times)):
        record, what = bytearray(out[index]), chance.choice(["flip", "insert", "delete", "header"])
        place = chance.randrange(len(record))
        if what == "header":
            record[chance.randrange(8, 16)] ^= 1 << chance.randrange(8)
        elif what == "flip":
            record[place] ^= 1 << chance.randrange(8)
        elif what == "insert":
            record[place:place] = chance.randbytes(chance.choice([1, 3, 17, 400]))
        else:
            del record[place : place + chance.choice([1, 3, 17, 400])]
        out[index] = bytes(record)
        touched.add(index)
    return b"".join(out), touched


def read(data: bytes, *, looks_ahead: bool = True, size: int = 1 << 16) -> list[Packet | DamagedBytes]:
    reader = PcapngReader if data.startswith(b"\x0a\x0d\x0d\x0a") else PcapReader
    portions = (data[start : start + size] for start in range(0, len(data), size))
    return list(reader(portions, "x", looks_ahead=looks_ahead))


@case_by_case("kind", KINDS)
@case_by_case("seed", range(40))
def test_all_packets_that_no_damage_touches_are_found_and_no_byte_is_lost(kind: str, seed: int) -> None:
    head, records = file_of(kind)
    chance = Random(f"{kind} {seed}")
    body, touched = damaged(records, chance, chance.choice([1, 2, 5, 12]))
    found = read(head + body, size=chance.choice([7, 100, 1 << 16]))
    there = Counter(one.data for one in found if isinstance(one, Packet))
    untouched = Counter(data for index, (_, data) in enumerate(TIMES) if index not in touched)
    assert untouched <= there, f"seed {seed}"
    if kind != "pcapng":  # where a flipped bit makes a block another type's, which is passed over
        assert sum(len(one.data) + 16 * isinstance(one, Packet) for one in found) == len(body)


@pytest.mark.parametrize("kind", KINDS)
def test_where_nothing_is_damaged_nothing_is_said(kind: str) -> None:
    head, records = file_of(kind)
    assert [one.data for one in read(head + b"".join(records))] == [data for _, data in TIMES]


@pytest.mark.parametrize("kind", KINDS)
def test_all_frames_of_other_packets_are_found_in_the_whole_pipeline(kind: str, tmp_path: Path) -> None:
    head, records = file_of(kind)
    place = len(head) + sum(map(len, records[:100]))
    data = bytearray(head + b"".join(records))
    data[place + (4 if kind == "pcapng" else 8) : place + 12] = b"\xff" * (8 if kind == "pcapng" else 4)
    path = tmp_path / "x"
    path.write_bytes(data)
    frames = list(kwire.read_dump(path))
    whole = Counter(one.payload for one in SEGMENTS if one.payload)
    lost = Counter([SEGMENTS[100].payload])
    assert whole - lost <= Counter(frame.data for frame in frames)
    (bad,) = [frame for frame in frames if isinstance(frame.fault, Damaged)]
    assert bad.fault is not None
    assert (bad.data, bad.source.offset) == (bytes(data[place : place + len(records[100])]), place)
    assert f"{len(bad.data)} bytes of the capture are damaged (offset {place})" in str(bad.fault)


def test_a_capture_that_ends_inside_a_packet_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "x"
    data = capture(SEGMENTS)
    path.write_bytes(data[:-5])
    *_, last = kwire.read_dump(path)
    assert isinstance(last.fault, CutRecord)
    assert data.endswith(last.data + data[-5:])


def test_a_clock_that_jumps_is_no_damage() -> None:
    jumps = [(time if number % 2 else 10**9, data) for number, (time, data) in enumerate(TIMES)]
    found = read(pcap(jumps, nanoseconds=True))
    assert [one.data for one in found] == [data for _, data in TIMES]
    late = [(number, data) if number < 9 else (time, data) for number, (time, data) in enumerate(TIMES)]
    assert [one.data for one in read(pcap(late, nanoseconds=True))] == [data for _, data in TIMES]


def test_a_packet_is_there_before_the_next_one_comes() -> None:
    def live() -> Iterator[bytes]:
        yield pcap(TIMES[:1])
        raise AssertionError("more was asked for")

    assert next(PcapReader(live())).data == TIMES[0][1]


def test_garbage_takes_linear_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that look like headers everywhere are each looked at a few times."""
    looks = 0
    credible = PcapReader._is_credible

    def counted(self: PcapReader, place: int) -> bool:
        nonlocal looks
        looks += 1
        return credible(self, place)

    monkeypatch.setattr(PcapReader, "_is_credible", counted)
    monkeypatch.setattr(packet, "LONGEST", 1 << 16)
    header = struct.pack("<IIII", 1_700_000_000, 0, 70, 70)
    for size in (1 << 17, 1 << 18):
        looks = 0
        found = read(pcap(TIMES[:3]) + (header + b"\xff") * (size // 17))
        assert sum(len(one.data) for one in found if isinstance(one, DamagedBytes)) > size // 2
        assert looks < 4 * size // 17
