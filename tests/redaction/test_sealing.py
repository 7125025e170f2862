"""Results without their secrets; that no command shows one is tested in `tests/cli/test_secrets.py`."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace as replaced

import kwire
from kwire import Frame, Request, Undecodable
from kwire.frames import Source, Token
from kwire.frames.pieces import NotKafka
from kwire.redaction import seal
from kwire.redaction.sealing import may_hold_secrets, seal_message
from kwire.secrets import Hidden
from tests.frames.test_decoding import decoded, request, response
from tests.frames.test_inside import enveloped
from tests.frames.test_talk import HANDSHAKE, PLAIN, asked, sized

M: Any = kwire.messages
TOKEN = M.SaslAuthenticateRequest(auth_bytes=PLAIN)


def sealed(*frames: bytes, **options: Any) -> list[Any]:
    return [seal(result) for result in decoded(*frames, **options)]


def test_what_holds_no_secret_is_the_same_object() -> None:
    for result in decoded(request(1), response(1), enveloped(request(2)), asked(M.CreateTopicsRequest(), 2)):
        assert seal(result) is result


def test_message_bytes_and_spans_lose_it_and_keep_their_places() -> None:
    (before,), (after,) = decoded(asked(TOKEN, 1), trace=True), sealed(asked(TOKEN, 1), trace=True)
    assert after.message.auth_bytes == Hidden(PLAIN)
    assert after.inside.fields == {"authzid": "", "user": "alice", "password": Hidden(b"wonder")}
    assert after.frame.data == before.frame.data[: -len(PLAIN)] + bytes(len(PLAIN))
    assert [span[:4] for span in after.spans] == [span[:4] for span in before.spans]
    assert after.spans[-1].value == Hidden(PLAIN)
    assert b"wonder" not in repr(after).encode()


def test_bytes_without_a_trace_lose_it_too() -> None:
    (after,) = sealed(asked(TOKEN, 1))
    assert PLAIN not in after.frame.data
    assert len(after.frame.data) == len(asked(TOKEN, 1))


def test_configurations_lose_their_passwords_only() -> None:
    configs = [{"name": "retention.ms", "value": "1000"}, {"name": "ssl.key.password", "value": "wonder"}]
    topic = {"name": "t", "numPartitions": 1, "replicationFactor": 1, "assignments": [], "configs": configs}
    members = {"topics": [topic], "timeoutMs": 1, "validateOnly": False}
    (after,) = sealed(asked(kwire.codec("CreateTopicsRequest", 2).from_json(members), 2))
    assert [config.value for config in after.message.topics[0].configs] == ["1000", Hidden("wonder")]


def test_what_the_broker_calls_sensitive_is_hidden() -> None:
    config = {"name": "my.own", "value": "wonder", "readOnly": False, "configSource": 1, "isSensitive": True}
    config |= {"synonyms": []}
    members = {"errorCode": 0, "errorMessage": None, "resourceType": 4, "resourceName": "1", "configs": [config]}
    body = kwire.codec("DescribeConfigsResponse", 1).from_json({"throttleTimeMs": 0, "results": [members]})
    answer = kwire.encode_response(body, 1, correlation_id=1)
    *_, after = sealed(asked(M.DescribeConfigsRequest(), 1), answer)
    assert after.message.results[0].configs[0].value == Hidden("wonder")


def test_an_envelope_hides_what_hides_inside() -> None:
    (after,) = sealed(enveloped(asked(TOKEN, 1)))
    assert isinstance(after.inside, Request)
    assert after.inside.message.auth_bytes == Hidden(PLAIN)
    assert isinstance(after.message.request_data, Hidden)
    (closed,) = sealed(enveloped(b"\0\0\0\4?!?!"))
    assert isinstance(closed.message.request_data, Hidden)


def test_bare_tokens_are_hidden_but_for_who_it_is() -> None:
    *_, token = sealed(*HANDSHAKE, sized(PLAIN), trace=True)
    assert isinstance(token, Token)
    assert token.content.fields == {"authzid": "", "user": "alice", "password": Hidden(b"wonder")}
    assert (token.frame.data[4:], token.spans[-1].value) == (bytes(len(PLAIN)), Hidden(PLAIN))


def test_a_broken_frame_is_hidden_with_what_its_error_says() -> None:
    for frame in (
        asked(TOKEN, 1)[:-3],
        asked(TOKEN, 1)[:20],
        asked(M.SaslAuthenticateRequest(), 1)[:6] + b"\0\x63" + PLAIN,
    ):
        frame = (len(frame) - 4).to_bytes(4, "big") + frame[4:]
        (after,) = sealed(frame, trace=True)
        assert isinstance(after, Undecodable)
        assert (after.hidden, after.frame.data) == (len(frame), bytes(len(frame)))
        assert (after.error.partial, after.error.rest, after.error.raw) == (None, b"", b"")
        assert "--show-secrets" in str(after.error)
        assert b"wond" not in repr(vars(after.error)).encode() + repr(after.spans).encode()


def test_other_broken_frames_are_shown() -> None:
    (after,) = sealed(request(1)[:-1])
    assert (after.hidden, after.frame.data) == (0, request(1)[:-1])


def test_bytes_of_other_protocols_are_not_shown() -> None:
    frame = Frame(b"Authorization: Basic", Source(), fault=NotKafka(20, found="HTTP"))
    (result,) = kwire.decode_frames([frame])
    after = seal(result)
    assert isinstance(after, Undecodable)
    assert (after.frame.data, after.is_failure) == (b"", False)


def test_a_message_alone_is_sealed_as_in_its_frame() -> None:
    codec = kwire.codec("SaslAuthenticateRequest", 2)
    for message in (TOKEN, replaced(TOKEN, unknown_tags=bytes.fromhex("050161"))):
        (result,) = sealed(asked(message, 2))
        assert seal_message(codec, message) == result.message
        assert may_hold_secrets(codec, message)
    plain = M.MetadataRequest(unknown_tags=bytes.fromhex("050161"))
    assert seal_message(kwire.codec("MetadataRequest", 9), plain) is plain
    assert not may_hold_secrets(kwire.codec("MetadataRequest", 9), plain)
