"""The lines that say how two frames differ."""

from __future__ import annotations

from kwire import Frame, FrameDecoder
from kwire.protocol import Result
from kwire.render.differences.frame_differences import frame_differences
from tests.protocol.test_frame_decoder import request


def traced(data: bytes) -> Result:
    return FrameDecoder(trace=True).decode(Frame(data))


def test_the_same_bytes_give_no_line() -> None:
    assert list(frame_differences(traced(request(7)), traced(request(7)))) == []


def test_fields_that_only_one_has() -> None:
    lines = list(frame_differences(traced(request(70000, 1)), traced(request(70000, 4))))
    assert lines[1:3] == ["  ~ header.request_api_version: 1 -> 4", "  + allow_auto_topic_creation: true"]
    back = list(frame_differences(traced(request(70000, 4)), traced(request(70000, 1))))
    assert back[2] == "  - allow_auto_topic_creation: true"


def test_a_frame_that_ends_early() -> None:
    *_, last = frame_differences(traced(request(70000)), traced(request(70000)[:-4]))
    assert last == "  first byte that differs: 0x10 (16): ff ff ff ff -> the end; 20 and 16 bytes"


def test_nothing_raw_is_yielded() -> None:
    lines = list(frame_differences(traced(request(7, client_id="\x1b[31m")), traced(request(7, client_id="\u202e"))))
    assert all(line.isprintable() for line in lines)
