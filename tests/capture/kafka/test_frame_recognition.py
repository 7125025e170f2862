"""What looks like the header of a request, and where packets begin with one."""

from __future__ import annotations

import re
from collections.abc import Set

import pytest

from kwire.capture.kafka.frame_recognition import (
    FAIR,
    NEVER,
    NO,
    SHORT,
    STRONG,
    WEAK,
    FrameRecogniser,
    FrameVerdict,
    _starts_packet,
)
from kwire.capture.kafka.frame_search import FrameSearch


def head(size: int, api_key: int = 3, version: int = 1, client: bytes | None = b"me") -> bytes:
    """The beginning of a request, with whatever size."""
    length = -1 if client is None else len(client)
    fields = (size, 4), (api_key, 2), (version, 2), (7, 4), (length, 2)
    return b"".join(value.to_bytes(count, "big", signed=True) for value, count in fields) + (client or b"")


@pytest.mark.parametrize(
    ("data", "looks"),
    [
        (head(16), STRONG),
        (head(16, api_key=0), FAIR),
        (head(14, client=b""), WEAK),
        (head(14, client=None), WEAK),
        (head(16, client=b"\0\1"), NO),
        (head(11), NO),
        (head(12), STRONG),
        (head(16)[:13], SHORT),
        (head(8)[:13], SHORT),
        (head(7)[:13], NO),
        (head(7)[:7], NO),
        (head(16, api_key=999), NO),
        (head(12, api_key=7, version=0)[:12], WEAK),
        (head(13, api_key=7, version=0)[:12], NO),
    ],
)
def test_what_looks_like_a_request(data: bytes, looks: int) -> None:
    assert FrameRecogniser().header(data) == looks


def test_a_packet_begins_with_a_header_unless_another_begins_within_it() -> None:
    assert _starts_packet(10, {10, 18})
    assert _starts_packet(10, {10, 14, 30})  # the size was sent on its own
    assert [step for step in range(1, 9) if not _starts_packet(10, {10, 10 + step})] == [1, 2, 3, 5, 6, 7]
    assert not _starts_packet(10, {9, 18})


def test_positions_move_with_bytes_that_are_dropped_before_them() -> None:
    judged = list[tuple[int, Set[int]]]()

    def judge(data: bytearray, position: int, packets: Set[int]) -> FrameVerdict:
        judged.append((position, frozenset(packets)))
        return FrameVerdict(stop=50) if len(data) < 50 else NEVER

    search = FrameSearch(lambda: re.compile(b"(?=x)"), judge)
    for position in (10, 20, 35):
        search.packet(position)
    assert search.look(bytearray(20) + b"x" + bytes(25)) is None
    assert (judged, search.passed) == ([(20, {10, 20, 35})], 20)
    search.drop(15)
    assert search.passed == 5
    judged.clear()
    assert search.look(bytearray(5) + b"x" + bytes(28)) is None  # as many bytes as it waits for, but for one
    assert judged == []
    search.look(bytearray(5) + b"x" + bytes(30) + b"x" + bytes(20))
    assert judged == [(5, {5, 20}), (36, {5, 20})]
