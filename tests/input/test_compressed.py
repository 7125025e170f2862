"""gzip, zstd, xz and bzip2 taken off, portion by portion."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from kwire.errors import DumpError
from kwire.input.compressed_files import STEP, decompressed, unpacked

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
    assert b"".join(decompressed(portions(packed, size), kind)) == DATA + b"end"


@pytest.mark.parametrize("kind", PACK)
def test_portions_are_small_however_well_it_was_compressed(kind: str) -> None:
    sizes = [len(portion) for portion in decompressed(iter([PACK[kind](bytes(20_000_000))]), kind)]
    assert (sum(sizes), max(sizes)) == (20_000_000, STEP)


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("damage", ["cut", "followed"])
def test_bytes_before_the_damage_are_yielded(kind: str, damage: str) -> None:
    packed = PACK[kind](DATA)
    reader = decompressed(
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


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="the backport is not installed")
def test_before_3_14_zstd_is_read_by_the_backport(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire.input.compressed_files.sys", SimpleNamespace(version_info=(3, 13)))
    opened = unpacked(iter([PACK["zstd"](DATA)]), "file")
    assert (opened.prefix, b"".join(opened.portions())) == ("zstd around ", DATA)


def test_compression_may_be_in_layers_but_not_in_many() -> None:
    twice = PACK["zstd"](PACK["gzip"](DATA))
    opened = unpacked(iter([twice]))
    assert (opened.prefix, b"".join(opened.portions())) == ("zstd around gzip around ", DATA)
    with pytest.raises(DumpError, match="3 times"):
        unpacked(iter([PACK["gzip"](PACK["gzip"](twice))]))
