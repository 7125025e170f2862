"""The JSON of a frame becomes a frame that knows what it holds and where it came from."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import kwire
from kwire import Frame, Source
from kwire.capture.json_frames import envelope_frame, need_member, read_source
from kwire.protocol.frames.stream_faults import BegunBefore, Gap, PassedOver
from kwire.render.json_objects.frame_json import json_line
from kwire.schema.catalog import catalog_for
from tests.protocol.test_frame_decoder import request, response

SOURCE = Source("x.bin", 3, 77, 1.5, "10.0.0.1:5000", "10.0.0.2:9092")


def test_a_frame_comes_back_with_its_name_and_source() -> None:
    for data, name in ((request(70000), "MetadataRequest"), (response(70000), "MetadataResponse")):
        decoder = kwire.FrameDecoder(answers=kwire.codec("MetadataResponse", 1))
        members = kwire.envelope(decoder.decode(Frame(data, SOURCE)))
        source = replace(SOURCE, direction=members["type"])
        assert envelope_frame(members, catalog_for()) == Frame(data, source, message=name, version=1)


def test_connections_gaps_and_pieces_come_back() -> None:
    source = replace(SOURCE, connection=3, direction="response")
    for frame in (
        Frame(b"", source, fault=Gap(300)),
        Frame(b"", source, fault=BegunBefore()),
        Frame(b"\0\0", source, fault=PassedOver(2)),
        Frame(response(1)[:-2], source),
    ):
        (result,) = kwire.decode_frames([frame])
        again = envelope_frame(json.loads(json_line(result)), catalog_for())
        assert (again.data, again.source) == (frame.data, source)
        assert type(again.fault) is type(frame.fault)
        assert getattr(again.fault, "count", None) == getattr(frame.fault, "count", None)


def test_what_cannot_be_decoded_comes_back_as_it_was() -> None:
    (result,) = kwire.decode_frames([Frame(b"\0\0\0\5\x7f", SOURCE)])
    assert envelope_frame(kwire.envelope(result), catalog_for()) == Frame(b"\0\0\0\5\x7f", SOURCE)


def test_a_source_of_the_wrong_form_is_left_out() -> None:
    assert read_source({"source": {"file": 7, "frame": 1, "time": 2, "nonsense": 3}}) == Source(frame=1, time=2)
    assert read_source({"source": "x.bin"}) == Source()


def test_a_member_that_is_needed() -> None:
    assert need_member({"a": 1}, "a", int) == 1
    with pytest.raises(kwire.EncodeError, match=r"^header\.a: the field is missing$"):
        need_member({}, "a", int, "header")
    with pytest.raises(kwire.EncodeError, match=r"^a: a int is needed, not True$"):
        need_member({"a": True}, "a", int)
