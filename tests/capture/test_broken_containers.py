"""Containers that are broken or rare: what comes before the damage is kept, and it is said where reading ends."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

import pytest

import kwire
from kwire.errors import DumpError
from kwire.protocol.frames.stream_faults import BrokenDump, CutRecord, Damaged
from tests.capture.building import (
    Conversation,
    block,
    capture,
    enhanced,
    interface,
    packet_of,
    pcap,
    request,
    response,
    section,
)

SAID = Conversation().open().ask(1).ask(2).segments
PACKETS = [(segment.nanoseconds or 0, packet_of(segment)) for segment in SAID]
FRAMES = [request(1), response(1), request(2), response(2)]
PCAP = capture(SAID)
NG = section() + interface() + b"".join(enhanced(data, time // 1000) for time, data in PACKETS)


def record(captured: int, length: int = 60, data: bytes = b"") -> bytes:
    return struct.pack("<IIII", 1, 1, captured, length) + data


def options(*pairs: tuple[int, int, bytes]) -> bytes:
    """Options that say of themselves how long they are."""
    return b"".join(struct.pack("<HH", code, length) + data for code, length, data in pairs)


def lying(kind: int, size: int, body: bytes = b"", again: int | None = None) -> bytes:
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size if again is None else again)


# Everything that the four frames stand in front of, and that must end the reading with words.
BROKEN: dict[str, bytes] = {
    "pcap: half a record header": PCAP + record(60)[:9],
    "pcap: half a packet": PCAP + record(60, 60, bytes(20)),
    "pcap: a packet above all limits": PCAP + record(2**32 - 1),
    "pcap: a packet of 2 GB": PCAP + record(2**31 - 1, 2**31 - 1, bytes(1000)),
    "pcap: zeros behind it to an odd end": PCAP + bytes(21),
    "pcap: text behind it": PCAP + b"this is no packet at all, is it?",
    "pcapng: a block of no bytes": NG + lying(6, 0),
    "pcapng: a block of 4 bytes": NG + lying(6, 4),
    "pcapng: a block of 13 bytes": NG + lying(6, 13, bytes(20)),
    "pcapng: a block beyond the end": NG + lying(6, 4096, bytes(100)),
    "pcapng: a block of 4 GB": NG + lying(6, 2**32 - 4, bytes(100)),
    "pcapng: a foreign block of 4 GB": NG + lying(0xBAD, 2**32 - 4, bytes(100)),
    "pcapng: an end that says another size": NG + lying(6, 40, bytes(28), 44),
    "pcapng: a packet longer than its block": NG + block(6, struct.pack("<IIIII", 0, 0, 0, 4000, 4000) + bytes(60)),
    "pcapng: a packet of a missing interface": NG + enhanced(b"x" * 60, number=7),
    "pcapng: a packet block without fields": NG + block(6, bytes(8)),
    "pcapng: an old packet block without fields": NG + block(2, bytes(8)),
    "pcapng: a simple packet block without fields": NG + block(3, b""),
    "pcapng: an interface without fields": NG + block(1, bytes(4)),
    "pcapng: a section of unknown byte order": NG + block(0x0A0D0D0A, bytes(16)),
    "pcapng: half a section": NG + section()[:11],
    "pcapng: zeros behind it": NG + bytes(64),
    "pcapng: a simple packet without an interface": NG + section() + block(3, struct.pack("<I", 4) + bytes(4)),
    "gzip: cut in the middle of the last packet": gzip.compress(PCAP + PCAP[24:], 0)[: len(PCAP) + 60],
    "gzip: without its end": gzip.compress(PCAP)[:-4],
    "gzip: a wrong checksum": gzip.compress(PCAP)[:-8] + bytes(8),
    "gzip: a second member that is damaged": gzip.compress(PCAP) + gzip.compress(PCAP[24:])[:15] + b"\xff" * 40,
    "gzip: something else behind it": gzip.compress(PCAP) + b"something else",
}  # fmt: skip
# And what looks strange, and is right.
RIGHT: dict[str, bytes] = {
    "pcap: a snap length of zero": PCAP[:16] + bytes(4) + PCAP[20:],
    "pcap: a snap length that lies": PCAP[:16] + struct.pack("<I", 1) + PCAP[20:],
    "pcap: a version of the far future": PCAP[:4] + b"\x63\0\x63\0" + PCAP[8:],
    "pcap: big-endian": pcap(PACKETS, order=">"),
    "pcap: big-endian nanoseconds": pcap(PACKETS, order=">", nanoseconds=True),
    "pcapng: big-endian": section(">") + interface(1, ">") + b"".join(enhanced(d, t, 0, ">") for t, d in PACKETS),
    "pcapng: sections of both orders": NG + section(">") + interface(1, ">") + enhanced(b"\0" * 60, order=">"),
    "pcapng: interfaces of several links": section() + interface(101) + interface(1)
    + b"".join(enhanced(d[14:], t) if i % 2 else enhanced(d, t, 1) for i, (t, d) in enumerate(PACKETS)),
    "pcapng: blocks that are not read": section() + block(10, bytes(20)) + interface() + block(4, bytes(9))
    + block(0xBAD, b"custom" * 9) + NG[len(section() + interface()) :] + block(5, bytes(12)),
    "pcapng: options that say they are longer than the block": section()
    + interface(options=options((9, 60000, b"\x06\0\0\0"), (1, 9, b"")))
    + NG[len(section() + interface()) :],
    "pcapng: ticks of 2^-10 seconds": section() + interface(options=options((9, 1, b"\x8a\0\0\0"), (0, 0, b"")))
    + NG[len(section() + interface()) :],
    "pcapng: a resolution of 10^-127": section() + interface(options=options((9, 1, b"\x7f\0\0\0")))
    + NG[len(section() + interface()) :],
    "pcapng: an empty resolution": section() + interface(options=options((9, 0, b""), (14, 2, b"\0\0\0\0")))
    + NG[len(section() + interface()) :],
    "pcapng: simple packets": section() + interface()
    + b"".join(block(3, struct.pack("<I", len(data)) + data) for _, data in PACKETS),
    "gzip: several members": b"".join(gzip.compress(PCAP[at : at + 100]) for at in range(0, len(PCAP), 100)),
    "gzip: zeros behind it, as on a tape": gzip.compress(PCAP) + bytes(512),
    "gzip: with a name and a comment": b"\x1f\x8b\x08\x18" + bytes(6) + b"name\0comment\0"
    + zlib.compress(PCAP)[2:-4] + struct.pack("<II", zlib.crc32(PCAP), len(PCAP)),
}  # fmt: skip


def read(data: bytes, folder: Path) -> list[kwire.Frame]:
    path = folder / "dump"
    path.write_bytes(data)
    return list(kwire.read_dump(path))


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_what_comes_before_the_damage_is_kept(data: bytes, tmp_path: Path) -> None:
    frames = read(data, tmp_path)
    assert [frame.data for frame in frames if frame.fault is None] == FRAMES
    assert isinstance(frames[-1].fault, BrokenDump | CutRecord | Damaged)


@pytest.mark.parametrize("data", RIGHT.values(), ids=RIGHT)
def test_what_is_only_strange_is_read(data: bytes, tmp_path: Path) -> None:
    frames = read(data, tmp_path)
    assert [frame.data for frame in frames] == FRAMES


@pytest.mark.parametrize(
    "data",
    [PCAP[:4], PCAP[:23], section() + interface(105) + enhanced(b"beacon"), gzip.compress(PCAP)[:20]],
    ids=["magic", "header", "802.11", "gzip"],
)
def test_where_nothing_comes_before_it_is_an_error(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(DumpError):
        read(data, tmp_path)


def test_no_tcp_at_all_is_said(tmp_path: Path) -> None:
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    with pytest.raises(DumpError, match="none of its packets carries TCP: 3 "):
        read(pcap([(1, arp)] * 3), tmp_path)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"snoop\0\0\0\0\0\0\2", "Sun snoop"),
        (b"GMBU\0\2\1\0", "Network Monitor"),
        (b"TRSNIFF data    \x1a", "Sniffer"),
        (b"\x34\xcd\xb2\xa1\2\0\4\0", "modified libpcap"),
        (b"+---------+---------------+", "K12"),
    ],
)
def test_captures_of_other_formats_say_what_to_do(head: bytes, name: str, tmp_path: Path) -> None:
    with pytest.raises(DumpError, match=f"{name}.*editcap -F pcapng"):
        read(head + bytes(100), tmp_path)
