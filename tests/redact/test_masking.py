"""Results without their secrets; that no command shows one is tested in `tests/cli/test_secrets.py`."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace as replaced

import kwire
from kwire import Frame, Request, Undecodable
from kwire.errors import BadLength, DecodeError, Truncated, UnexpectedResponse, UnknownVersion
from kwire.protocol import Source, Token
from kwire.protocol.frames.stream_faults import NotKafka
from kwire.redact.masking import mask, mask_error, mask_message
from kwire.redact.secret_messages import may_hold_secrets
from kwire.schema.sensitive_fields import Hidden
from tests.protocol.connections.test_connection_table import HANDSHAKE, PLAIN, answered, asked, sized
from tests.protocol.test_frame_decoder import decoded, request, response
from tests.protocol.test_nested_payloads import enveloped

M: Any = kwire.messages
DETAILS = "details hidden (may contain secrets); use --show-secrets"
TOKEN = M.SaslAuthenticateRequest(auth_bytes=PLAIN)


def sealed(*frames: bytes, **options: Any) -> list[Any]:
    return [mask(result) for result in decoded(*frames, **options)]


def test_what_holds_no_secret_is_the_same_object() -> None:
    for result in decoded(request(1), response(1), enveloped(request(2)), asked(M.CreateTopicsRequest(), 2)):
        assert mask(result) is result


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


def test_synonyms_of_what_the_broker_calls_sensitive_are_hidden_too() -> None:
    synonym = {"name": "my.pin", "value": "wonder", "source": 1}
    config = {"name": "my.pin", "value": None, "readOnly": False, "configSource": 1, "isSensitive": True}
    plain = {**config, "name": "retention.ms", "value": "1", "isSensitive": False}
    configs = [{**config, "synonyms": [synonym]}, {**plain, "synonyms": [{**synonym, "value": "1"}]}]
    members = {"errorCode": 0, "errorMessage": None, "resourceType": 2, "resourceName": "secrets", "configs": configs}
    body = kwire.codec("DescribeConfigsResponse", 1).from_json({"throttleTimeMs": 0, "results": [members]})
    *_, after = sealed(asked(M.DescribeConfigsRequest(), 1), kwire.encode_response(body, 1, correlation_id=1))
    secret, shown = after.message.results[0].configs
    assert (secret.synonyms[0].value, shown.synonyms[0].value) == (Hidden("wonder"), "1")


def test_an_envelope_hides_what_hides_inside() -> None:
    (after,) = sealed(enveloped(asked(TOKEN, 1)))
    assert isinstance(after.inside, Request)
    assert after.inside.message.auth_bytes == Hidden(PLAIN)
    assert isinstance(after.message.request_data, Hidden)
    (closed,) = sealed(enveloped(b"\0\0\0\4?!?!"))
    assert isinstance(closed.message.request_data, Hidden)


def test_bare_tokens_are_hidden_except_the_user() -> None:
    *_, token = sealed(*HANDSHAKE, sized(PLAIN), trace=True)
    assert isinstance(token, Token)
    assert token.content.fields == {"authzid": "", "user": "alice", "password": Hidden(b"wonder")}
    assert (token.frame.data[4:], token.spans[-1].value) == (bytes(len(PLAIN)), Hidden(PLAIN))


def test_a_broken_frame_is_hidden_with_the_values_in_its_error() -> None:
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
        assert b"wond" not in repr(vars(after.error)).encode() + repr(after.spans).encode()


def test_other_broken_frames_are_shown() -> None:
    (after,) = sealed(request(1)[:-1])
    assert (after.hidden, after.frame.data) == (0, request(1)[:-1])
    _, after = sealed(request(1), response(1)[:-1])
    assert (after.hidden, after.frame.data) == (0, response(1)[:-1])


def test_bytes_of_which_nothing_is_known_are_hidden_and_the_reason_is_shown() -> None:
    token = M.CreateDelegationTokenResponse(token_id="id", hmac=b"wonder of a key")
    lone = [answered(token, version, number) for version in range(4) for number in (0, 7, 3000, 2**31 - 1)]
    flexible = asked(TOKEN, 2)
    config = M.CreateTopicsRequest()
    by_chance = bytes.fromhex("0000008400000000008000000002ffff06616c696365ff06616c69636502076d792e6f776e11")
    unknown = [
        by_chance + b"wonder of a key\1\1\1\x11",
        flexible[:4] + b"\x03\xe7" + flexible[6:],
        asked(config, 7)[:6] + b"\0\x63 ssl.keystore.key wonder",
    ]
    for frame in (*lone, *unknown, PLAIN[3:], b"\0\0\0\x40\0\0" + PLAIN[2:]):
        (after,) = sealed(frame, trace=True)
        assert isinstance(after, Undecodable)
        assert (after.hidden, after.frame.data) == (len(frame), bytes(len(frame)))
        assert b"wond" not in repr(after).encode()
        assert re.search("[0-9]|details hidden", after.error.reason)


def test_bytes_left_over_after_a_message_are_hidden() -> None:
    longer = request(1) + asked(TOKEN, 1)
    frame = (len(longer) - 4).to_bytes(4, "big") + longer[4:]
    (after,) = sealed(frame, trace=True)
    assert isinstance(after, Request)
    assert b"wonder" not in repr(after).encode()
    assert "bytes left over after the message" in after.faults[0].reason
    (strict,) = sealed(frame, salvage=False)
    assert strict.hidden == len(frame)


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("version", [1, 9])
def test_strict_decoding_hides_what_salvage_leaves_over(version: int, trace: bool) -> None:
    question = M.MetadataRequest(topics=None)
    whole = kwire.encode_request(question, version, correlation_id=77, client_id="me")
    other_fault = whole[:-2] + b"\x07" + whole[-1:]  # a boolean
    for front in (whole, other_fault) if version == 9 else (whole,):
        for secret in (b"\0\x07orders\x11wonder of a key\0", b"\0\0\0\x28\0\0\x0b\xb8wonder"):
            frame = (len(front) - 4 + len(secret)).to_bytes(4, "big") + front[4:] + secret
            (strict,) = sealed(frame, salvage=False, trace=trace)
            assert isinstance(strict, Undecodable)
            assert (strict.hidden, strict.frame.data) == (len(frame), bytes(len(frame)))
            assert b"wond" not in repr((strict, vars(strict.error))).encode()


def test_strict_decoding_shows_a_frame_with_a_fault_and_nothing_left_over() -> None:
    whole = kwire.encode_request(M.MetadataRequest(topics=None), 9, correlation_id=77, client_id="me")
    frame = whole[:-2] + b"\x07" + whole[-1:]  # a boolean
    (strict,) = sealed(frame, salvage=False)
    assert (type(strict), strict.hidden, strict.frame.data) == (Undecodable, 0, frame)


def test_a_secret_under_another_api_key_is_hidden_though_it_decodes_with_faults() -> None:
    token = asked(M.ExpireDelegationTokenRequest(hmac=b"wonder of a key"), 2)
    (after,) = sealed(token[:4] + b"\0\x0a" + token[6:], trace=True)  # FindCoordinator, with a tail
    assert isinstance(after, Undecodable)
    assert b"wond" not in repr(after).encode()


def test_faults_of_spans_that_are_hidden_repeat_nothing() -> None:
    configs = [{"name": "ssl.keystore.password", "value": "correct-horse"}]
    resource = {"resourceType": 4, "resourceName": "1", "configs": configs}
    message = kwire.codec("AlterConfigsRequest", 1).from_json({"resources": [resource], "validateOnly": False})
    (after,) = sealed(asked(message, 1).replace(b"correct-", b"correct\xff"), trace=True)
    (span,) = (span for span in after.spans if span.faults)
    assert isinstance(span.value, Hidden)
    assert all(b"correct" not in repr(vars(fault)).encode() for fault in (*span.faults, *after.faults))
    assert (span.faults[0].raw, span.faults[0].reason) == (b"", "the text is not UTF-8")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BadLength(found=1, need=6, have=0, raw=b"wonder"), "length 1 needs 6 bytes, 0 left"),
        (Truncated(need=4, have=1), "4 bytes needed, 1 left"),
        (UnexpectedResponse(found=7, need=8), "no request with correlation id 7 is in flight"),
        (UnknownVersion(found=("MetadataRequest", 99, "0-13")), "MetadataRequest has no version 99; versions: 0-13"),
        (BadLength(found=0x776F6E64, need=0x776F6E64, have=3), DETAILS),
        (DecodeError(found="wonder"), DETAILS),
    ],
)
def test_an_error_keeps_its_numbers_and_loses_what_it_repeats(error: DecodeError, reason: str) -> None:
    assert mask_error(error).reason == reason


def test_bytes_of_other_protocols_are_not_shown() -> None:
    frame = Frame(b"Authorization: Basic", Source(), fault=NotKafka(20, found="HTTP"))
    (result,) = kwire.decode_frames([frame])
    after = mask(result)
    assert isinstance(after, Undecodable)
    assert (after.frame.data, after.is_failure) == (b"", False)


def test_a_message_alone_is_sealed_as_in_its_frame() -> None:
    codec = kwire.codec("SaslAuthenticateRequest", 2)
    for message in (TOKEN, replaced(TOKEN, unknown_tags=bytes.fromhex("050161"))):
        (result,) = sealed(asked(message, 2))
        assert mask_message(codec, message) == result.message
        assert may_hold_secrets(codec, message)
    plain = M.MetadataRequest(unknown_tags=bytes.fromhex("050161"))
    assert mask_message(kwire.codec("MetadataRequest", 9), plain) is plain
    assert not may_hold_secrets(kwire.codec("MetadataRequest", 9), plain)
