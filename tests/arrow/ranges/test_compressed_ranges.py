"""Ranges of compressed captures: members of bgzip, and frames of zstd with a seek table, written by their documents."""

from __future__ import annotations

import gzip
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kwire.arrow.ranges.byte_ranges import ByteRange
from kwire.arrow.ranges.packet_rows import PACKETS
from kwire.arrow.ranges.packet_scan import scan
from kwire.capture.compressed_files import decompress
from kwire.capture.seekable_compressed_files import find_blocks
from kwire.errors import DumpError
from tests.arrow.captures import FRAMES, PCAP, rows_of, write
from tests.arrow.pieces import content, staged
from tests.conftest import SHARED, each_of

zstd: Any = pytest.importorskip("backports.zstd")
LAST = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")  # SAMv1, 4.1.2
CUT = [f"kafka-{name}.pcap" for name in ("2.8-ipv6.clients", "0.10.0.replication", "4.4-kraft.clients")]
NAMED = [path for path in (SHARED / "captures" / name for name in CUT) if path.exists()]


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def member(data: bytes, level: int = 6) -> bytes:
    deflate = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = deflate.compress(data) + deflate.flush()
    extra = b"BC" + struct.pack("<HH", 2, len(body) + 25)
    head = struct.pack("<4BI2BH", 31, 139, 8, 4, 0, 0, 255, len(extra)) + extra
    return head + body + struct.pack("<II", zlib.crc32(data), len(data))


def bgzip(data: bytes, size: int = 0xFF00, level: int = 6) -> bytes:
    return b"".join(member(one, level) for one in cut(data, size)) + LAST


def table(sizes: Sequence[tuple[int, int]], flags: int = 0) -> bytes:
    entries = b"".join(struct.pack("<II", *one) + bytes(4 if flags else 0) for one in sizes)
    footer = struct.pack("<IBI", len(sizes), flags, 0x8F92EAB1)
    return struct.pack("<II", 0x184D2A5E, len(entries) + 9) + entries + footer


def seekable(data: bytes, size: int, flags: int = 0) -> bytes:
    pieces = cut(data, size)
    frames = [zstd.compress(piece) for piece in pieces]
    return b"".join(frames) + table([(len(one), len(two)) for one, two in zip(frames, pieces, strict=True)], flags)


WRITERS: dict[str, Callable[[bytes], bytes]] = {
    "bgzip": lambda data: bgzip(data, 700),
    "bgzip stored": lambda data: bgzip(data, 700, 0),
    "bgzip large": bgzip,
    "zstd": lambda data: seekable(data, 900),
    "zstd with checksums": lambda data: seekable(data, 5000, 0x80),
    "zstd of tiny frames": lambda data: seekable(data[:2000], 10) if len(data) < 50_000 else seekable(data, 300),
}


def test_what_is_written_here_is_read_by_others(tmp_path: Path) -> None:
    data = PCAP.read_bytes()
    assert gzip.decompress(bgzip(data, 700)) == data
    assert b"".join(decompress(iter([seekable(data, 700)]), "zstd")) == data
    if shutil.which("zstd"):
        path = write(tmp_path, seekable(data, 700, 0x80))
        assert subprocess.run(["zstd", "-dc", str(path)], capture_output=True, check=True).stdout == data


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("most", [300, 4000])
def test_ranges_are_the_capture(writer: str, most: int, tmp_path: Path) -> None:
    path = write(tmp_path, WRITERS[writer](PCAP.read_bytes()))
    assert content(staged([path], most)) == content(rows_of(path, body="raw"))


@each_of("path", NAMED, most=1, ids=lambda path: getattr(path, "name", ""))
def test_ranges_of_real_captures(path: Path, tmp_path: Path) -> None:
    expected = content(rows_of(path, body="raw"))
    for number, packed in enumerate((bgzip(path.read_bytes(), 3000), seekable(path.read_bytes(), 3000))):
        file = write(tmp_path, packed, f"{number}.gz")
        assert content(staged([file], 10_000)) == expected


def test_each_range_decompresses_its_own_blocks(tmp_path: Path) -> None:
    data = PCAP.read_bytes()
    for packed in (bgzip(data, 700), seekable(data, 700)):
        path, counts = write(tmp_path, packed), list[int]()
        for start in range(0, len(packed), 3000):
            split = ByteRange(str(path), start, min(len(packed), start + 3000), "it")
            kinds = [kind for batch in scan(split) for kind in batch.column("kind").to_pylist()]
            counts.append(kinds.count(PACKETS))
        assert sum(count > 0 for count in counts) > 2


def test_others_are_one_range(tmp_path: Path) -> None:
    data = PCAP.read_bytes()
    for packed in (gzip.compress(data), zstd.compress(data), gzip.compress(FRAMES.read_bytes())):
        path = write(tmp_path, packed)
        with path.open("rb") as stream:
            assert find_blocks(stream, "") is None
        assert content(staged([path], 400)) == content(rows_of(path, body="raw"))
    path = write(tmp_path, bgzip(FRAMES.read_bytes(), 100))
    assert content(staged([path], 200)) == content(rows_of(path, body="raw"))


def test_a_damaged_block_costs_its_range(tmp_path: Path) -> None:
    data = PCAP.read_bytes()
    for packed, begin in ((bgzip(data, 700), b"\x1f\x8b\x08\x04"), (seekable(data, 700), b"\x28\xb5\x2f\xfd")):
        broken = bytearray(packed)
        broken[packed.index(begin, len(packed) // 4) + 2] ^= 0xFF
        path = write(tmp_path, bytes(broken))
        rows = staged([path], 2000)
        kept, alone = (content([row for row in some if not row["_error"]]) for some in (rows, rows_of(path)))
        assert kept.total() > alone.total() + 10  # who reads from the start to the end stops at the damage
        assert any("damaged" in str(row["_error"]) for row in rows if row["_error"])


def test_no_claim_of_a_seek_table_is_believed(tmp_path: Path) -> None:
    frame = zstd.compress(b"x" * 1000)
    size = len(frame)
    for tables in (
        struct.pack("<II", 0x184D2A5E, 9) + struct.pack("<IBI", 0xFFFFFFFF, 0, 0x8F92EAB1),
        table([(size + 1, 1000)]),
        table([(size, 1000)] * 2),
        table([(0xFFFFFFFF, 0xFFFFFFFF)]),
        b"\x5e" + table([(size, 1000)])[1:4],
    ):
        with write(tmp_path, frame + tables).open("rb") as stream:
            assert find_blocks(stream, "") is None
    path = write(tmp_path, frame + table([(size, 0xFFFFFFFF)]))
    with path.open("rb") as stream:
        blocks = find_blocks(stream, "")
        assert blocks is not None
        assert sum(map(len, blocks.portions(0))) == 1000


def test_a_skippable_frame_is_skipped_and_other_bytes_are_not() -> None:
    frame, skipped = zstd.compress(b"abc"), struct.pack("<II", 0x184D2A50, 3) + b"???"
    parts = [frame + skipped[:2], skipped[2:9], skipped[9:] + frame]
    assert b"".join(decompress(iter(parts), "zstd")) == b"abcabc"
    with pytest.raises(DumpError, match="something else follows"):
        list(decompress(iter([frame + b"\x5e\x2a\x00"]), "zstd"))
