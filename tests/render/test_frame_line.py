"""A frame fits on one line of 80 columns, whatever is in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import kwire
from kwire import messages
from kwire.protocol.message_summary import MessageSummary
from kwire.render.colours import Style
from kwire.render.frame_line import FrameLines, frame_line
from tests.protocol.test_frame_decoder import request, response


def lines(*frames: bytes, **source: object) -> list[str]:
    summary = MessageSummary()
    sources = [kwire.Source(frame=index, **source) for index in range(len(frames))]  # type: ignore[arg-type]
    found = kwire.decode_frames(kwire.Frame(data, place) for data, place in zip(frames, sources, strict=True))
    return [frame_line(result, summary) for result in found]


def test_requests_point_to_the_broker_and_responses_back_with_the_client_they_go_to() -> None:
    assert lines(request(7), response(7)) == [
        "    0 -> Metadata:1         #7       20 B  me",
        "    1 <- Metadata:1         #7       20 B  @0  me",
    ]


def test_times_follow_frame_numbers() -> None:
    assert lines(request(7), time=1700000000.25) == ["    0 22:13:20.250 -> Metadata:1         #7       20 B  me"]


def test_the_date_has_a_line_where_it_is_another_than_before() -> None:
    of_a_dump = FrameLines(MessageSummary())
    times = (1700000000.0, 1700000001.0, 1700006400.0, None, 3e11, 1700006401.0, 1700006399.0)
    frames = [kwire.Frame(request(7), kwire.Source(time=time)) for time in times]
    found = "".join(map(of_a_dump.text, kwire.decode_frames(frames)))
    assert [line[:18].split("->")[0].strip() for line in found.splitlines()] == [
        *("# 2023-11-14", "- 22:13:20.000", "- 22:13:21.000"),
        *("# 2023-11-15", "- 00:00:00.000", "-", "-", "- 00:00:01.000"),
        *("# 2023-11-14", "- 23:59:59.000"),
    ]


@pytest.mark.parametrize("time", [-1e11, 3e11, 1e15, 2.7e19])
def test_a_time_that_no_calendar_has_is_none(time: float) -> None:
    assert lines(request(7), time=time) == ["    0 -> Metadata:1         #7       20 B  me"]


def test_errors_come_first() -> None:
    topics = (messages.MetadataResponse.MetadataResponseTopic(name="orders", error_code=3),)
    reply = kwire.encode_response(messages.MetadataResponse(topics=topics), 1, correlation_id=7)
    assert lines(request(7), reply)[1][37:] == "35 B  !UNKNOWN_TOPIC_OR_PARTITION  order..."


def test_undecodable_and_faulty_frames_are_marked() -> None:
    assert lines(bytes.fromhex("0000000a 270f 0000 00000005 ffff")) == [
        "    0 ?  #5    14 B  !undecodable: api key 9999 is not known (offset 4)"
    ]
    tail = bytearray(request(7) + b"\0")
    tail[3] += 1
    assert lines(bytes(tail)) == ["    0 -> Metadata:1         #7       21 B  !1 fault  me"]


def test_it_never_is_wider_than_the_terminal_and_nothing_raw_is_in_it() -> None:
    wanted = messages.MetadataRequest(topics=(messages.MetadataRequest.MetadataRequestTopic(name="x" * 200),))
    frame = kwire.Frame(kwire.encode_request(wanted, 1, client_id="a\x1b\n\tb"))
    result = next(kwire.decode_frames([frame]))
    line = frame_line(result, MessageSummary())
    assert len(line) == 80
    assert line.endswith("...")
    assert "a\\u001b b" in line.replace("  ", " ").replace("  ", " ")
    assert len(frame_line(result, MessageSummary(), Style(width=120))) == 120


def test_colour_is_around_the_line() -> None:
    result = next(kwire.decode_frames([kwire.Frame(b"\0\0\0\x08" + bytes([39, 15]) + bytes(6))]))
    assert frame_line(result, MessageSummary(), Style(colour=True)).startswith("\x1b[1;31m")


def test_a_bare_body_of_no_api() -> None:
    frame = kwire.Frame(bytes.fromhex("0000ffffffff"), message="ConsumerProtocolAssignment", version=0, bare=True)
    frame = replace(frame, data=bytes.fromhex("00000000ffffffff"))
    (result,) = kwire.decode_frames([frame])
    assert frame_line(result, MessageSummary()) == "    -    ConsumerProtocolAssignment:0           8 B"
