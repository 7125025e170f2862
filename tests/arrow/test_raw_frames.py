"""Frames are cut as everywhere else, from any portions, and what is in none comes in pieces."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from kwire.arrow.frame_rows import Cut, Walker
from kwire.errors import DumpError
from kwire.errors.decode import BadFrame
from kwire.input.open import raw_frames
from kwire.protocol import LIMIT
from kwire.protocol.fragments import BrokenDump, CutShort

FRAME = bytes.fromhex("00000008 0000000700000000")
HANDSHAKE = bytes.fromhex("0000000a 00110000 00000001 0000")
frames = st.sampled_from([FRAME, HANDSHAKE, bytes(4), bytes.fromhex("00000003 616263"), b"\xff\xff\xff\xff", b"\0\0"])
portions = st.lists(st.integers(1, 30), min_size=1, max_size=20)


def cut(data: bytes, sizes: list[int], offset: int = 0, limit: int = LIMIT, piece: int = 1 << 20) -> list[Cut]:
    return [one for some in Walker(_portions(data, sizes), offset, limit, piece).cuts() for one in some]


def _portions(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    while data:
        for size in sizes:
            if data[:size]:
                yield data[:size]
            data = data[size:]


@given(data=st.lists(frames, max_size=12).map(b"".join), sizes=portions, piece=st.integers(1, 9))
def test_frames_are_those_of_a_raw_dump(data: bytes, sizes: list[int], piece: int) -> None:
    found = cut(data, sizes, 100, piece=piece)
    assert b"".join(data for _, data, _ in found) == data
    whole = [(offset - 100, data) for offset, data, fault in found if fault is None]
    told = [(frame.source.offset, frame.data) for frame in raw_frames(iter([data] if data else []), "file")]
    assert whole == told[: len(whole)]
    assert len(told) - len(whole) == (len(found) > len(whole))
    assert all(len(data) <= piece for _, data, fault in found if fault is not None)


def test_offsets_go_on_from_where_the_bytes_begin() -> None:
    assert cut(FRAME * 3, [5], 1000) == [(1000, FRAME, None), (1012, FRAME, None), (1024, FRAME, None)]


def test_what_is_wrong_is_said() -> None:
    *_, (offset, data, fault) = cut(FRAME + FRAME[:-1], [4])
    assert (offset, data, type(fault), fault and fault.have) == (12, FRAME[:-1], CutShort, 11)
    *_, (offset, _, fault) = cut(FRAME + b"\xff\xff\xff\xfe", [4])
    assert (offset, type(fault), fault and fault.found) == (12, BadFrame, -2)
    *_, (_, _, fault) = cut(FRAME, [4], limit=7)
    assert (type(fault), fault and fault.found) == (BadFrame, 8)


def test_the_place_where_frames_end_is_known() -> None:
    walker = Walker(iter([FRAME + b"\xff" * 9]), 50, LIMIT, 4)
    assert [len(some) for some in walker.cuts()] == [1, 1, 1, 1]
    assert walker.broken == 62


def test_a_huge_claim_takes_no_memory_and_ends_nothing() -> None:
    found = cut((LIMIT).to_bytes(4, "big") + bytes(30), [10], piece=16)
    assert [len(data) for _, data, _ in found] == [16, 16, 2]


def test_an_input_that_breaks_is_given_out_up_to_there() -> None:
    def broken() -> Iterator[bytes]:
        yield FRAME[:5]
        yield FRAME[5:] + FRAME[:6]
        raise DumpError("damaged", offset=7)

    found = [one for some in Walker(broken(), 0, LIMIT, 100).cuts() for one in some]
    assert [data for _, data, _ in found] == [FRAME, FRAME[:6], b""]
    assert [type(fault) for _, _, fault in found] == [type(None), CutShort, BrokenDump]
    assert found[-1][0] == 18


def test_behind_a_handshake_tokens_may_be_empty() -> None:
    assert [fault for _, _, fault in cut(HANDSHAKE + bytes(4) + FRAME, [9])] == [None, None, None]
    assert isinstance(cut(bytes(4) + FRAME, [9])[0][2], BadFrame)
