"""Frames that were decoded without a trace are traced later, to the same spans."""

from __future__ import annotations

import kwire
from kwire import Frame
from kwire.protocol import spans_for
from tests.conftest import ROOT
from tests.protocol.test_frame_decoder import decoded, request, response

DUMP = ROOT / "fixtures/dumps/kafka-3.9-zk.bin"


def test_the_spans_are_those_of_a_tracing_decoder() -> None:
    traced = list(kwire.decode_frames(kwire.read_dump(DUMP), trace=True))
    plain = list(kwire.decode_frames(kwire.read_dump(DUMP)))
    assert len(plain) == 6
    for one, other in zip(traced, plain, strict=True):
        assert other.spans == ()
        assert spans_for(other) == one.spans == spans_for(one)


def test_a_bare_body_has_no_header() -> None:
    frame = Frame(bytes.fromhex("ffffffff"), message="MetadataRequest", version=1, bare=True)
    (result,) = kwire.decode_frames([frame])
    assert [span[:4] for span in spans_for(result)] == [(0, 4, "topics", "nullable array")]


def test_what_did_not_decode_or_was_left_over_is_named() -> None:
    body = request(1)[4:] + b"!"
    tail, unknown, cut = decoded(
        len(body).to_bytes(4, "big") + body, bytes.fromhex("00000004 270f0001"), request(2)[:12]
    )
    assert spans_for(tail)[-1][:5] == (len(body) + 3, len(body) + 4, "", "left over", b"!")
    assert [span[:4] for span in spans_for(unknown)] == [(0, 8, "", "not understood")]
    assert spans_for(cut)[-1][1] == 12


def test_a_response_is_read_in_its_own_version() -> None:
    _, answer = decoded(request(1), response(1))
    assert [span.path for span in spans_for(answer)][:3] == ["size", "header.correlation_id", "brokers"]
