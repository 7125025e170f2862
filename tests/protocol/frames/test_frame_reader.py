"""Frames out of bytes that come in any portions."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.errors import BadFrame
from kwire.protocol import cut_frames
from kwire.protocol.frames.captured_frame import WHOLE_FILE, CapturedFrame, NamedEnds, count_frames, make_frame
from kwire.protocol.frames.frame import Source
from kwire.protocol.frames.frame_joiner import LEAST_PART, MOST_AHEAD, FrameJoiner
from kwire.protocol.frames.size_faults import cut_short
from kwire.protocol.frames.stream_faults import Gap, NotKafka
from tests.cases import case_by_case

FRAMES = [
    bytes.fromhex("00000004 00000007"),
    bytes.fromhex("00000006 00000008 abcd"),
    bytes.fromhex("00000005 00000009 ff"),
]


@given(st.lists(st.integers(1, 9), min_size=1))
def test_portions_of_any_size_give_the_same_frames(sizes: list[int]) -> None:
    data, reader, seen = b"".join(FRAMES), kwire.FrameReader(), []
    while data:
        size = sizes[len(data) % len(sizes)]
        seen += [(frame.data, frame.source.frame, frame.source.offset) for frame in reader.feed(data[:size])]
        data = data[size:]
    assert seen == [(FRAMES[0], 0, 0), (FRAMES[1], 1, 8), (FRAMES[2], 2, 18)]
    assert (reader.rest, reader.count, reader.offset) == (b"", 3, 27)


def test_a_reader_goes_on_where_it_was_pickled() -> None:
    data = b"".join(FRAMES)
    reader = kwire.FrameReader(limit=100)
    assert next(reader.feed(data[:12])).data == FRAMES[0]
    reader = pickle.loads(pickle.dumps(reader))
    assert [(frame.data, frame.source.offset) for frame in reader.feed(data[12:])] == [(FRAMES[1], 8), (FRAMES[2], 18)]
    assert (reader.limit, reader.count, reader.rest) == (100, 3, b"")


def test_a_reader_that_is_held_takes_no_bytes_quickly_before_it_is_restarted() -> None:
    reader = kwire.FrameReader()
    reader.hold()
    assert reader.quick(FRAMES[0]) is None
    assert (reader.restart(40), reader.quick(FRAMES[0]), reader.offset) == (b"", FRAMES[0], 48)


@given(st.lists(st.integers(1, 9) | st.integers(1, 3 * LEAST_PART), min_size=1))
def test_a_joiner_gives_the_frames_of_a_reader(sizes: list[int]) -> None:
    large = (4 * LEAST_PART).to_bytes(4, "big") + bytes(range(256)) * (LEAST_PART // 64)
    data, joiner = b"".join([*FRAMES, large, *FRAMES]), FrameJoiner()
    seen: list[bytes] = []
    expected = [frame.data for frame in kwire.FrameReader().feed(data)]
    while data and len(seen) < 8:
        size = sizes[len(data) % len(sizes)]
        seen += joiner.feed(data[:size])
        data = data[size:]
        assert joiner.held == len(b"".join(expected)) - len(data) - len(b"".join(seen))
        assert len(joiner._parts or ()) <= 2 + joiner.held // LEAST_PART  # each takes memory beside its bytes
    assert seen == expected


@given(st.lists(st.integers(1, 99) | st.integers(1, 3 * LEAST_PART), min_size=1).filter(lambda sizes: max(sizes) > 99))
def test_a_frame_read_into_its_room_is_the_same(sizes: list[int]) -> None:
    large = (4 * LEAST_PART).to_bytes(4, "big") + bytes(range(256)) * (LEAST_PART // 64)
    data, joiner = b"".join([*FRAMES, large, *FRAMES, large, large]), FrameJoiner()
    seen: list[bytes] = []
    expected = [frame.data for frame in kwire.FrameReader().feed(data)]
    while data:
        size = sizes[len(data) % len(sizes)]
        if (room := joiner.room()) is not None:
            size = min(size, len(room))
            room[:size] = data[:size]
            part = joiner.filled(size) or b""
        else:
            part = data[:size]
        seen += joiner.feed(part)
        data = data[size:]
        assert joiner.held == len(b"".join(expected)) - len(data) - len(b"".join(seen))
    assert seen == expected


def test_a_size_that_is_only_claimed_takes_no_memory() -> None:
    joiner, size = FrameJoiner(), 1 << 22
    least = (4 + size) // (MOST_AHEAD + 1)
    assert not list(joiner.feed(size.to_bytes(4, "big") + bytes(least - 4)))
    assert joiner.room() is None
    assert not list(joiner.feed(bytes(1)))
    room = joiner.room()
    assert room is not None
    assert len(room) == 4 + size - least - 1


@pytest.mark.parametrize("size", [-1, -(2**31), 0, 3, 101, 2**31 - 1])
def test_a_joiner_refuses_an_impossible_size_where_it_stands(size: int) -> None:
    joiner, bad = FrameJoiner(limit=100), size.to_bytes(4, "big", signed=True)
    frames = joiner.feed(FRAMES[0] + bad + b"rest")
    assert next(frames) == FRAMES[0]
    with pytest.raises(BadFrame) as caught:
        next(frames)
    assert (caught.value.offset, caught.value.found, joiner.rest) == (8, size, bad + b"rest")


@pytest.mark.parametrize("size", [-1, -(2**31), 0, 3, 101, 2**31 - 1])
def test_an_impossible_size_is_refused_where_it_stands(size: int) -> None:
    reader = kwire.FrameReader(limit=100)
    bad = size.to_bytes(4, "big", signed=True) + b"rest"
    frames = iter(reader.feed(FRAMES[0] + bad))
    assert next(frames).data == FRAMES[0]
    with pytest.raises(BadFrame) as caught:
        next(frames)
    assert (caught.value.offset, caught.value.found, caught.value.rest) == (8, size, bad)
    assert reader.rest == bad


def test_a_size_that_is_not_there_yet_makes_nothing() -> None:
    reader = kwire.FrameReader()
    assert list(reader.feed(b"\x05\x00\x00")) == []
    assert list(reader.feed(b"\x00" + b"x" * 10)) == []  # 80 MiB claimed, 10 bytes there
    assert len(reader.rest) == 14


@case_by_case("have", range(1, 48))
def test_how_much_is_missing_is_known_once_the_size_is_there(have: int) -> None:
    cut = cut_short((bytes.fromhex("0000002c") + bytes(44))[:have], "the connection closed")
    assert cut is not None
    assert (cut.have, cut.need) == (have, 48 if have >= 4 else None)


def test_all_bytes_are_in_some_frame() -> None:
    data = bytes.fromhex("00000004 00000007 ffffffff 0000")
    frames = list(cut_frames(data))
    assert [frame.data.hex() for frame in frames] == ["0000000400000007", "ffffffff0000"]
    assert [(frame.source.frame, frame.source.offset) for frame in frames] == [(0, 0), (1, 8)]
    assert list(cut_frames(b"")) == []


def test_a_quick_reader_takes_what_ends_with_a_frame_and_nothing_else() -> None:
    reader = kwire.FrameReader()
    for refused in (b"", b"\0\0\0", b"\0\0\0\1\0", b"\x7f\xff\xff\xff" + bytes(9)):
        assert (reader.quick(refused), reader.missing, reader.count) == (None, 0, 0)
    assert (reader.quick(FRAMES[0]), reader.count, reader.offset) == (FRAMES[0], 1, 8)
    assert (reader.quick(FRAMES[1][:6]), reader.missing) == (b"", 4)
    assert (reader.quick(bytes(5)), reader.missing) == (None, 4)  # another frame begins in these
    assert (reader.quick(FRAMES[1][6:8]), reader.missing) == (b"", 2)
    assert (reader.quick(FRAMES[1][8:]), reader.count, reader.offset) == (FRAMES[1], 2, 18)


def test_a_gap_says_how_many_bytes_if_that_is_known() -> None:
    assert str(Gap(count=7)).startswith("gap: 7 bytes of this stream were not captured")
    assert str(Gap()).startswith("gap: this stream continues after bytes that the other side received")


def test_the_address_of_a_client_is_without_its_port() -> None:
    assert NamedEnds("[::1]:5000", "b:9092", 1).client_ip == "[::1]"


def test_a_stream_of_another_protocol_says_how_many_bytes_it_had() -> None:
    assert str(NotKafka(count=9, found="TLS")).startswith("9 bytes of TLS, not Kafka's protocol")
    assert ", 4 not captured" in str(NotKafka(count=9, found="TLS", missing=4))


def test_what_nobody_sent_is_a_frame_without_a_time() -> None:
    fault = Gap(count=3)
    frame = make_frame(CapturedFrame(WHOLE_FILE, False, 0, None, b"", fault), "a.pcap", 7)
    assert (frame.data, frame.fault, frame.source) == (b"", fault, Source("a.pcap", 7, None))
    assert make_frame(CapturedFrame(WHOLE_FILE, False, 5, None, b"x", fault), "a.pcap", 7).source.offset == 5


def test_frames_of_a_batch_are_counted_without_what_has_a_fault() -> None:
    frame, lost = (
        CapturedFrame(WHOLE_FILE, False, 0, None, b"x"),
        CapturedFrame(WHOLE_FILE, False, 0, None, b"", Gap(count=3)),
    )
    batch: Any = Batch([frame, lost, 0, frame])  # a number is the end of a connection
    assert count_frames(batch) == 2


class Batch(list[Any]):
    """A batch of which nothing is native."""

    def others(self) -> list[Any]:
        return self


def test_a_reader_takes_what_converts_to_bytes_and_names_what_is_needed_instead() -> None:
    reader = kwire.FrameReader()
    with pytest.raises(TypeError, match="needed, not str"):
        reader.feed("00000004")  # type: ignore[arg-type]
    assert [frame.data for frame in reader.feed(memoryview(b"\0\0\0\4abcd"))] == [b"\0\0\0\4abcd"]  # type: ignore[arg-type]
