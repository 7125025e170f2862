"""gzip, zstd, xz and bzip2 taken off, portion by portion."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable, Iterator
from random import Random
from types import SimpleNamespace

import pytest

from kwire.capture.compressed_files import SLICE, STEP, decompress, read_up_to_damage, unpack_input
from kwire.errors import DumpError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstd.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}
DATA = bytes(range(256)) * 2000


def portions(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_members_one_after_the_other_are_one_stream(kind: str, size: int) -> None:
    packed = PACK[kind](DATA) + PACK[kind](b"") + PACK[kind](b"end") + bytes(600)
    assert b"".join(decompress(portions(packed, size), kind)) == DATA + b"end"


@pytest.mark.parametrize("kind", PACK)
def test_portions_are_small_however_well_it_was_compressed(kind: str) -> None:
    sizes = [len(portion) for portion in decompress(iter([PACK[kind](bytes(20_000_000))]), kind)]
    assert (sum(sizes), max(sizes)) == (20_000_000, STEP)


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("damage", ["cut", "followed"])
def test_bytes_before_the_damage_are_yielded(kind: str, damage: str) -> None:
    packed = PACK[kind](DATA)
    reader = decompress(
        iter([packed[:-4] if damage == "cut" else packed, b"" if damage == "cut" else b"xx"]), kind, "x.gz"
    )
    seen = b""
    with pytest.raises(DumpError) as caught:
        for portion in reader:
            seen += portion
    assert DATA.startswith(seen)
    assert len(seen) >= (0 if kind == "bzip2" else len(DATA) - STEP)  # bzip2 gives out blocks of 900 kB
    assert caught.value.file == "x.gz"
    assert caught.value.offset is not None


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_the_byte_at_which_it_breaks_off_is_named(kind: str, size: int) -> None:
    """Random bytes, in members: each has 20,000 bytes that no compression shortens."""
    data = [Random(number).randbytes(20_000) for number in range(4)]
    members = [PACK[kind](one) for one in data]
    packed = b"".join(members)[:-7]
    seen, error = read_up_to_the_error(packed, kind, size)
    assert seen[:60_000] == b"".join(data[:3])
    assert (error.problem, error.offset) == (f"the {kind} data ends in the middle", len(packed))
    _, error = read_up_to_the_error(packed[:10], kind, size)
    assert error.hint == "the file was cut short there; nothing before it can be decompressed"


@pytest.mark.parametrize("kind", PACK)
def test_damage_is_named_within_a_slice(kind: str) -> None:
    """A checksum shows it at the latest; zstd writes one only if it is told to."""
    data = [Random(number).randbytes(20_000) for number in range(8)]
    with_checksum = {int(zstd.CompressionParameter.checksum_flag): 1}
    members = [zstd.compress(one, options=with_checksum) if kind == "zstd" else PACK[kind](one) for one in data]
    damaged = bytearray(b"".join(members))
    place = sum(map(len, members[:6])) + 5000
    damaged[place] ^= 0x55
    seen, error = read_up_to_the_error(bytes(damaged), kind, 1 << 20)
    assert seen[:120_000] == b"".join(data[:6])
    assert error.problem.startswith(f"damaged {kind} data: ")
    assert error.offset is not None
    assert place - SLICE <= error.offset <= place + len(members[6])


def read_up_to_the_error(packed: bytes, kind: str, size: int) -> tuple[bytes, DumpError]:
    """Return the bytes before an error, and the error."""
    errors = list[DumpError]()
    seen = b"".join(read_up_to_damage(decompress(portions(packed, size), kind, "x"), errors))
    return seen, errors[0]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="the backport is not installed")
def test_before_3_14_zstd_is_read_by_the_backport(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire.capture.compressed_files.sys", SimpleNamespace(version_info=(3, 13)))
    opened = unpack_input(iter([PACK["zstd"](DATA)]), "file")
    assert (opened.prefix, b"".join(opened.portions())) == ("zstd around ", DATA)


def test_compression_may_be_in_layers_but_not_in_many() -> None:
    twice = PACK["zstd"](PACK["gzip"](DATA))
    opened = unpack_input(iter([twice]))
    assert (opened.prefix, b"".join(opened.portions())) == ("zstd around gzip around ", DATA)
    with pytest.raises(DumpError, match="3 times"):
        unpack_input(iter([PACK["gzip"](PACK["gzip"](twice))]))
