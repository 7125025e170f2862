"""Fixtures written new, and with new annotations; never from bytes that kwire wrote."""

from __future__ import annotations

import pytest

import kwire
from kwire import Frame
from kwire.capture.hex_text.golden_fixture import parse_fixture
from kwire.errors import DumpError
from kwire.render.fixture import fixture_text, rewrite_fixture
from tests.protocol.test_frame_decoder import request


def traced() -> kwire.Request:
    (result,) = kwire.decode_frames([Frame(request(7))], trace=True)
    assert isinstance(result, kwire.Request)
    return result


def test_a_fixture_is_read_back_as_what_it_is() -> None:
    text = fixture_text(traced(), "Apache Kafka 3.9.2")
    fixture = parse_fixture(text)
    assert fixture is not None
    assert (fixture.message, fixture.version, fixture.bare) == ("MetadataRequest", 1, False)
    assert (fixture.writer, fixture.data) == ("Apache Kafka 3.9.2", request(7))
    assert rewrite_fixture(text) == text


@pytest.mark.parametrize("writer", ["", "  ", "kwire", "KWire 0.1"])
def test_bytes_without_a_writer_or_of_kwire_are_refused(writer: str) -> None:
    with pytest.raises(DumpError):
        fixture_text(traced(), writer)


def test_rewriting_keeps_head_and_bytes_and_mends_annotations() -> None:
    text = fixture_text(traced(), "Apache Kafka 3.9.2").replace("correlation_id = 7", "correlation_id = 8")
    text = text.replace("\n00000000", "\n# a word for people\n00000000")
    again = rewrite_fixture(text)
    assert "# a word for people\n" in again
    assert "correlation_id = 7" in again
    with pytest.raises(DumpError, match="this is not a fixture"):
        rewrite_fixture("00000000  00\n")


def test_a_fixture_that_does_not_decode_is_an_error() -> None:
    with pytest.raises(kwire.DecodeError):
        rewrite_fixture("# fixture: MetadataRequest v1 body\n# writer: someone\n00000000  00 00\n")
