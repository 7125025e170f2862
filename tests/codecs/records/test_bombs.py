"""T11 of the test plan: few bytes that would become many. Each is read in a process of its own, which may have
1 GiB of addresses, so that a dying interpreter would be seen. It measures its memory and counts its calls.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from kwire.codecs.compression import lz4
from kwire.codecs.compression.bounded_decompression import load_cramjam
from kwire.codecs.compression.snappy import SNAPPY_HEADER as HEADER
from kwire.codecs.records import Record, build_batch
from tests.codecs.records.cases import batch_around, message_around
from tests.conftest import ROOT, spread

MIB, GIB = 1 << 20, 1 << 30
ALLOWED = 64 * MIB + 16 * MIB
MOST_CALLS_OF_A_BOMB, MOST_CALLS = 250_000, 4_000_000  # read to its end, a bomb takes 400,000 and more

CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (300, 300))  # it hangs
from kwire.codecs.records import Record, UndecodableRecords, build_batch, parse_records
from kwire.codecs.compression.compression_types import NAMES

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

for name in NAMES:  # load what has to be loaded
    for batch in parse_records(build_batch([Record(0, 0, b"k" * 100)], compression=name)):
        list(batch.records())
(batch,) = parse_records(sys.stdin.buffer.read())
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")  # the peak begins anew
before, calls = status("VmRSS"), 0

def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")

sys.setprofile(count)
first = next(batch.records(salvage=True), None)
sys.setprofile(None)
most = status("VmHWM") - before
error = first.error if isinstance(first, UndecodableRecords) else None
print(json.dumps({"calls": calls, "most": most, "error": type(error).__name__, "text": str(error),
                  "kept": len(first.data) if error else 0, "count": batch.record_count}))
"""


def read_in_child(data: bytes) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", CHILD], input=data, capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr.decode()
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def gzip_of(size: int) -> bytes:
    """A gzip of zeroes; its checksum is wrong, but nobody comes so far."""
    engine = zlib.compressobj(9, wbits=31)
    head = engine.compress(bytes(MIB)) + engine.flush(zlib.Z_FULL_FLUSH)
    piece = engine.compress(bytes(MIB)) + engine.flush(zlib.Z_FULL_FLUSH)
    return head + piece * (size // MIB - 1) + engine.flush()


def snappy_of(size: int, block: int) -> bytes:
    raw = bytes(load_cramjam("snappy").snappy.compress_raw(bytes(block)))
    return HEADER + (len(raw).to_bytes(4, "big") + raw) * (size // block)


def lz4_of(size: int, block: int, *, magic: int = 2) -> bytes:
    raw = bytes(load_cramjam("lz4").lz4.compress_block(bytes(block), store_size=False))
    header = lz4.LZ4_MAGIC + bytes([0x60, {1 << 16: 0x40, 1 << 22: 0x70}[block]])
    header += bytes([lz4.lz4_header_checksum(header, magic)])
    return header + (len(raw).to_bytes(4, "little") + raw) * (size // block) + bytes(4)


def zstd_runs(size: int, window: int) -> bytes:
    """A frame of blocks that say: 128 KiB of zeroes."""
    run = (131072 << 3 | 2).to_bytes(3, "little") + b"\0"
    return bytes.fromhex("28b52ffd00") + bytes([window]) + run * (size // 131072) + b"\x01\0\0"


def zstd_of(size: int, window: int | None = None) -> bytes:
    """A frame of compressed blocks; `window` is put into its header, which it is right with if it is large enough."""
    engine = load_cramjam("zstd").zstd.Compressor(3)
    pattern = bytes(range(251)) * 4178
    for _ in range(size // len(pattern) + 1):
        engine.compress(pattern)
    data = bytearray(bytes(engine.finish()))
    assert not data[4] & 0x20
    data[5] = data[5] if window is None else window
    return bytes(data)


def claim_of(size: int) -> bytes:
    out = bytearray()
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    return bytes(out) + bytes([size])


BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: batch_around(gzip_of(GIB), attributes=1),
    "gzip of many members": lambda: batch_around(gzip.compress(bytes(MIB)) * 1024, attributes=1),
    "gzip in magic 1": lambda: message_around(gzip_of(GIB), attributes=1),
    "snappy in blocks": lambda: batch_around(snappy_of(GIB, 32768), attributes=2),
    "snappy in one block": lambda: batch_around(claim_of(GIB) + bytes(GIB * 3 // 64), attributes=2),
    "snappy in magic 0": lambda: message_around(snappy_of(GIB, 1 << 20), magic=0, attributes=2),
    "lz4": lambda: batch_around(lz4_of(GIB, 1 << 16), attributes=3),
    "lz4 in large blocks": lambda: batch_around(lz4_of(GIB, 1 << 22), attributes=3),
    "lz4 in magic 0": lambda: message_around(lz4_of(GIB, 1 << 16, magic=0), magic=0, attributes=3),
    "zstd": lambda: batch_around(zstd_of(GIB), attributes=4),
    "zstd, window of 8 MiB": lambda: batch_around(zstd_of(GIB, 0x68), attributes=4),
    "zstd, window of 16 MiB": lambda: batch_around(zstd_of(GIB, 0x70), attributes=4),
    "zstd, window of 128 MiB": lambda: batch_around(zstd_of(GIB, 0x88), attributes=4),
    "zstd of runs": lambda: batch_around(zstd_runs(GIB, 0x58), attributes=4),
    "zstd of runs, window of 128 MiB": lambda: batch_around(zstd_runs(GIB, 0x88), attributes=4),
    "zstd of many frames": lambda: batch_around(zstd_runs(MIB, 0x58) * 1024, attributes=4),
}

# What is no bomb by its size: it lies, or it is long to read. Declined as something else than too large.
LIES: dict[str, Callable[[], bytes]] = {
    "snappy that claims 4 GiB in 15 bytes": lambda: batch_around(claim_of(2**32 - 1) + bytes(10), attributes=2),
    "snappy with a block of 2 GiB": lambda: batch_around(HEADER + b"\x7f\xff\xff\xff" + bytes(100), attributes=2),
    "lz4 with a block of 2 GiB": lambda: batch_around(lz4_of(0, 1 << 16)[:7] + b"\xff" * 100, attributes=3),
    "lz4 that claims 2^63 bytes": lambda: batch_around(lying_lz4(), attributes=3),
    "zstd that claims 2^63 bytes": lambda: batch_around(
        bytes.fromhex("28b52ffd e0") + b"\xff" * 7 + b"\x7f" + b"\x01\0\0", attributes=4
    ),
    "zstd with a window of 3.75 TiB": lambda: batch_around(zstd_runs(0, 0xFF), attributes=4),
    "gzip of 100,000 members": lambda: batch_around(gzip.compress(b"") * 100_000, attributes=1),
    "snappy of 100,000 blocks": lambda: batch_around(HEADER + b"\0\0\0\x01\0" * 100_000, attributes=2),
    "lz4 of 100,000 blocks": lambda: batch_around(tiny_lz4(100_000), attributes=3),
    "zstd of 100,000 frames": lambda: batch_around(zstd_runs(0, 0x58) * 100_000, attributes=4),
    "zstd of 1,000,000 blocks": lambda: batch_around(
        bytes.fromhex("28b52ffd0058") + bytes(3) * 1_000_000 + b"\x01\0\0", attributes=4
    ),
}


def lying_lz4() -> bytes:
    header = lz4.LZ4_MAGIC + b"\x68\x40" + b"\xff" * 7 + b"\x7f"
    return header + bytes([lz4.lz4_header_checksum(header, 2)]) + bytes(4)


def tiny_lz4(count: int) -> bytes:
    return lz4_of(0, 1 << 16)[:7] + b"\x01\0\0\x80x" * count + bytes(4)


@pytest.mark.parametrize("name", spread(BOMBS, 3))
def test_a_bomb_of_1_gib_is_refused_in_little_memory_and_few_steps(name: str) -> None:
    result = read_in_child(BOMBS[name]())
    assert result["error"] == "LimitExceeded", result
    assert result["most"] <= ALLOWED, result
    assert result["calls"] < MOST_CALLS_OF_A_BOMB, result
    assert result["kept"] > 0


@pytest.mark.parametrize("name", spread(LIES, 2))
def test_false_sizes_are_refused_in_little_memory_and_few_steps(name: str) -> None:
    result = read_in_child(LIES[name]())
    assert result["error"] in ("BadCompression", "BadRecordCount", "NullNotAllowed", "BadLength"), result
    assert result["most"] <= 16 * MIB, result
    assert result["calls"] < MOST_CALLS, result


def test_what_is_large_and_sound_is_read() -> None:
    data = build_batch([Record(0, 0, None, bytes(60 * MIB))], compression="zstd")
    result = read_in_child(data)
    assert result["error"] == "NoneType", result
    assert result["most"] <= (60 + 60 + 16) * MIB, result  # the inflated bytes, and the value cut out of them
