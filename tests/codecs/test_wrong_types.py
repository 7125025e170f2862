"""Arguments of a wrong type are refused in words that say what is needed and what to call instead."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import messages as M  # noqa: N812
from kwire.testing import AsyncKafka, Kafka

FRAME = kwire.encode_request(M.MetadataRequest(topics=None), 1, client_id="me")
PATH: Any = "fixtures/dumps/kafka-3.9-zk.bin"
SOURCE_NEEDED = "a path, bytes or an open binary file is needed, not "
MISTAKES: dict[str, tuple[Callable[..., Any], Any, str]] = {
    "open of None": (kwire.open, None, SOURCE_NEEDED + "NoneType"),
    "open of a stream of text": (kwire.open, io.StringIO("00"), "in binary mode is needed; this one gives str"),
    "read_dump of None": (kwire.read_dump, None, SOURCE_NEEDED + "NoneType"),
    "read_disk of a list": (kwire.read_disk, [PATH], SOURCE_NEEDED + "list"),
    "decode_frames of bytes": (kwire.decode_frames, FRAME, r"not bytes; kwire\.FrameReader\(\)\.feed\(data\)"),
    "decode_frames of a path": (kwire.decode_frames, PATH, r"not a path; kwire\.read_dump\(path\)"),
    "decode_frames of a Path": (kwire.decode_frames, Path(PATH), r"not a path; kwire\.read_dump\(path\)"),
    "decode_frames of a frame": (kwire.decode_frames, kwire.Frame(FRAME), "an iterable of frames is needed, not Frame"),
    "decode_frames of None": (kwire.decode_frames, None, "an iterable of frames is needed, not NoneType"),
    "decode_frames of a list of bytes": (kwire.decode_frames, [FRAME], "a Frame is needed, not bytes; kwire.FrameR"),
    "a decoder of bytes": (kwire.FrameDecoder().decode, FRAME, "a Frame is needed, not bytes; kwire.FrameReader"),
    "a reader of text": (lambda text: kwire.FrameReader().feed(text), "00", "bytes are needed, not str; hex text"),
    "a reader of None": (lambda data: kwire.FrameReader().feed(data), None, "bytes are needed, not NoneType"),
    "parse_records of None": (kwire.parse_records, None, "bytes are needed, not NoneType"),
    "parse_records of text": (kwire.parse_records, "00", "bytes are needed, not str"),
    "build_batch of a record": (kwire.build_batch, kwire.Record(0, 0), r"not one Record: \[record\]"),
    "peek of None": (kwire.peek, None, "bytes are needed, not NoneType"),
    "parse_filter of bytes": (kwire.parse_filter, b"api", "the text of a filter is needed, not bytes"),
    "envelope of a message": (kwire.envelope, M.MetadataRequest(), "a decoded frame is needed, .*to_json"),
    "a release as a number": (kwire.release, 3.9, "text, such as '3.9', not float 3.9"),
    "a version as text": (lambda text: kwire.encode_request(M.MetadataRequest(), text), "1", "a version is an integer"),
    "brokers as text": (lambda text: Kafka(brokers=text), "3", "brokers is a number, not str '3'"),
    "broker instead of brokers": (
        lambda options: Kafka(**options),
        {"broker": 3},
        "has no argument 'broker'; did you mean brokers",
    ),
    "topic for AsyncKafka": (
        lambda options: AsyncKafka(**options),
        {"topic": "o"},
        "AsyncKafka has no .* did you mean topics?",
    ),
    "an unknown argument": (lambda options: Kafka(**options), {"xyz": 3}, r"'xyz'; help\(kwire.testing.Kafka\)"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_type_is_answered_with_what_is_needed(mistake: str) -> None:
    call, argument, text = MISTAKES[mistake]
    with pytest.raises(TypeError, match=text):
        result = call(argument)
        next(iter(result))  # an iterator that has read nothing yet


def test_headers_of_records_are_pairs() -> None:
    odd: Any
    with Kafka(topics=["o"]) as kafka:
        with pytest.raises(TypeError, match=r"pass headers\.items\(\)"):
            odd = {"trace": b"1"}
            kafka.produce("o", b"x", headers=odd)
        for odd in (["trace"], [("a", b"1", 2)], 7):
            with pytest.raises(TypeError, match="headers are pairs, such as"):
                kafka.produce("o", b"x", headers=odd)
        assert kafka.produce("o", b"x", headers={"trace": b"1"}.items()) == 0
        assert kafka.records("o")[0].headers[0].value == b"1"
