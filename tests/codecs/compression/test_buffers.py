from __future__ import annotations

import sys

import pytest

from kwire.codecs.compression import bounded_decompression
from kwire.errors import BadCompression, KwireError, LimitExceeded, MissingExtra


@pytest.mark.parametrize("size, count", [(0, 0), (1, 1), (1, 0), (100, 3), (100, 100), (1 << 20, 5)])
def test_a_buffer_returns_its_first_bytes(size: int, count: int) -> None:
    room = bounded_decompression.OutputBuffer(size)
    room.view[:count] = b"x" * count
    assert room.first(count) == b"x" * count


def test_two_buffers_do_not_share_memory() -> None:
    one, other = bounded_decompression.OutputBuffer(1), bounded_decompression.OutputBuffer(1)
    one.view[0] = 7
    assert (one.first(1), other.first(1)) == (b"\x07", b"\x00")
    assert bytes(1) == b"\x00"


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)
    with pytest.raises(
        MissingExtra, match=r"zstd compression needs the library cramjam; pip install 'kwire\[compression\]'"
    ) as info:
        bounded_decompression.load_cramjam("zstd")
    assert (info.value.library, info.value.extra) == ("cramjam", "compression")
    assert isinstance(info.value, KwireError)


def test_what_the_library_complains_of_is_a_fault_of_the_bytes() -> None:
    with pytest.raises(BadCompression, match="do not decompress as snappy: snappy: corrupt input") as info:
        bounded_decompression.run_cramjam(
            "snappy", bounded_decompression.load_cramjam("snappy").snappy.decompress_raw, b"\xff"
        )
    assert info.value.found[0] == "snappy"


def test_the_error_of_exceeding_has_the_limit() -> None:
    with pytest.raises(LimitExceeded, match="7 bytes of lz4 hold more than 5 bytes"):
        bounded_decompression.refuse_size("lz4", 5, 7)
