"""Two messages: the fields that differ, each once, in the order of the bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.render.differences.field_differences import field_difference_lines, field_differences
from tests.linear_time.effort import at_most
from tests.protocol.test_frame_decoder import request, response

M: Any = kwire.messages


def topics(*names: str, correlation_id: int = 1) -> bytes:
    cls = M.MetadataRequest
    found = tuple(cls.MetadataRequestTopic(name=name) for name in names)
    return kwire.encode_request(cls(topics=found), 4, correlation_id=correlation_id, client_id="me")


def test_the_first_field_that_differs_is_told_with_both_values_and_its_offset() -> None:
    assert field_difference_lines(topics("orders", "b"), topics("orderz", "c")) == [
        "Kafka frames differ in topics[0].name at offset 20",
        '  Metadata v4 request, correlation 1, client "me", 32 bytes, frame 0 at 0',
        '  left:  topics[0].name = "orders"    00 06 6f 72 64 65 72 73',
        '  right: topics[0].name = "orderz"    00 06 6f 72 64 65 72 7a',
        "  1 more: topics[1].name",
    ]


def test_what_one_side_does_not_have_is_said_and_the_size_comes_last() -> None:
    assert field_difference_lines(topics("a"), topics("a", "b"))[2:] == [
        "  left:  topics = 1 item    00 00 00 01",
        "  right: topics = 2 items    00 00 00 02",
        "  2 more: topics[1].name, size",
    ]
    codec = kwire.codec("MetadataRequest", 4)
    one, other = (kwire.codec("MetadataRequest", 4).encode(M.MetadataRequest(topics=found)) for found in (None, ()))
    (found,) = field_differences(codec.trace(one), codec.trace(other), one, other)
    assert (found.path, found.left and found.left.value, found.right and found.right.value) == ("topics", None, 0)


def test_the_frame_that_differs_is_found_among_many() -> None:
    same = [request(1), response(1), request(2)]
    lines = field_difference_lines(b"".join([*same, response(2)]), b"".join([*same, response(3)]))
    assert lines == []  # nobody asked for 3, so it is no frame of this conversation
    changed = kwire.encode_response(M.MetadataResponse(controller_id=4), 1, correlation_id=2)
    lines = field_difference_lines(b"".join([*same, response(2)]), b"".join([*same, changed]))
    assert lines[0] == f"Kafka frames differ in controller_id at offset {len(b''.join(same)) + 12}"
    assert lines[2:] == ["  left:  controller_id = 3    00 00 00 03", "  right: controller_id = 4    00 00 00 04"]


def test_numbers_have_their_names() -> None:
    topic = M.MetadataResponse.MetadataResponseTopic
    one, other = (
        kwire.encode_response(M.MetadataResponse(topics=(topic(error_code=code, name="t"),)), 1, correlation_id=1)
        for code in (0, 3)
    )
    lines = field_difference_lines(one, other, kwire.codec("MetadataResponse", 1))
    assert lines[3] == "  right: topics[0].error_code = 3 UNKNOWN_TOPIC_OR_PARTITION    00 03"


def test_two_messages_of_different_apis_are_both_named() -> None:
    other = kwire.encode_request(M.ApiVersionsRequest(), 0, correlation_id=1, client_id="me")
    lines = field_difference_lines(request(1), other)
    assert lines[1:3] == [
        '  Metadata v1 request, correlation 1, client "me", 20 bytes, frame 0 at 0',
        '  ApiVersions v0 request, correlation 1, client "me", 16 bytes, frame 0 at 0',
    ]
    assert lines[4] == "  right: header.request_api_key = 18 ApiVersions    00 12"


def test_a_frame_too_many_is_named() -> None:
    assert field_difference_lines(request(1) + request(2), request(1)) == [
        "Kafka frames differ: right ends after 1 frame",
        '  Metadata v1 request, correlation 2, client "me", 20 bytes, frame 1 at 20',
    ]


def test_nothing_at_all_ends_before_the_first_frame() -> None:
    assert field_difference_lines(b"", request(1))[0] == "Kafka frames differ: left ends after 0 frames"


@pytest.mark.parametrize("other", [b"abc", bytes(40), b"\x7f" * 50, request(1)[:12], request(1) + b"\0"])
def test_what_is_no_frame_is_not_compared(other: bytes) -> None:
    assert field_difference_lines(request(1), request(1)) == []
    assert field_difference_lines(request(1), other) == []
    assert field_difference_lines(other, request(1)) == []


def test_hostile_text_is_escaped() -> None:
    lines = field_difference_lines(topics("a\x1b[31m"), topics("b\x1b[31m"))
    assert "\x1b" not in "".join(lines)


def test_large_messages_are_compared_in_linear_time() -> None:
    names = [f"topic-{number}" for number in range(5000)]
    with at_most(4_000_000):
        lines = field_difference_lines(topics(*names), topics(*names[:-1], "topic-499x"))
    assert lines[0].startswith("Kafka frames differ in topics[4999].name at offset ")


@given(st.lists(st.sampled_from("abc"), max_size=4), st.lists(st.sampled_from("abc"), max_size=4))
def test_there_is_a_difference_if_and_only_if_bytes_differ(one: list[str], other: list[str]) -> None:
    assert bool(field_difference_lines(topics(*one), topics(*other))) == (one != other)
