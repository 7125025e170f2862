"""Bytes that did not decode, and look as if they held a secret."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.codecs.field_search import field_locations
from kwire.redact.secret_bytes import looks_secret, may_hold_secret, reads_as_secret
from kwire.redact.secret_messages import carriers
from kwire.redact.sensitive_configs import is_sensitive
from kwire.schema.sensitive_fields import ENVELOPED, SECRET_FIELDS
from tests.conftest import ROOT
from tests.messages.message_lists import released_pairs
from tests.protocol.connections.test_connection_table import answered, asked
from tests.protocol.test_frame_decoder import response
from tests.protocol.test_sasl_tokens import BEARER, CHALLENGE, FINAL, FIRST, VERIFIED

M: Any = kwire.messages


@pytest.mark.parametrize("token", [FIRST, CHALLENGE, FINAL, VERIFIED, BEARER, b"\0alice\0wonder"])
def test_tokens_are_found_wherever_they_are(token: bytes) -> None:
    assert looks_secret(token)
    assert looks_secret(len(token).to_bytes(4, "big") + token)
    assert looks_secret(b"\x00\x00\x00\x07 lost" + token)


def test_requests_that_carry_secrets_are_found_after_other_bytes() -> None:
    for message in (M.SaslAuthenticateRequest(), M.AlterUserScramCredentialsRequest(), M.RenewDelegationTokenRequest()):
        assert looks_secret(b"some lost bytes" + asked(message, 0))


def test_what_is_none_of_these_stays() -> None:
    frames = [frame.data for frame in kwire.read_dump(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")]
    assert len(frames) > 100
    suspected = sum(looks_secret(data[:-1]) or reads_as_secret(data[:-1]) for data in frames)
    assert suspected < len(frames) / 50


def test_answers_with_secrets_are_found_without_their_requests() -> None:
    token = M.CreateDelegationTokenResponse(token_id="id", hmac=b"a long key")
    for version in range(4):
        whole = answered(token, version)
        assert reads_as_secret(whole)
        assert all(reads_as_secret(whole[:-cut]) for cut in range(1, 5))
    assert reads_as_secret(answered(M.EnvelopeResponse(response_data=b"a long answer"), 0))
    assert not reads_as_secret(response(1))


def test_all_messages_with_secrets_are_known_without_reading_all_specs() -> None:
    codecs = (
        kwire.codec(name, version) for name, version in released_pairs() if name.endswith(("Request", "Response"))
    )
    fields = ENVELOPED | SECRET_FIELDS.keys()
    found = {codec for codec in codecs if any(place.name in fields for place in field_locations(codec).values())}
    assert {codec for codecs in carriers().values() for codec in codecs} == found
    assert len(found) == 23


def test_names_of_sensitive_configurations_are_those_of_one_list() -> None:
    for name in ("ssl.keystore.key", "sasl.jaas.config", "s3.access.key", "SSL.TRUSTSTORE.CERTIFICATES"):
        assert is_sensitive(name)
        assert looks_secret(b"\0\0\0\1 lost \x10" + name.encode() + b"\x05words")


def test_a_version_far_from_those_known_is_a_correlation_id_and_its_bytes_are_hidden() -> None:
    """A response of DescribeDelegationToken with the correlation id 3000 reads as a request of Produce."""
    body = bytes.fromhex("00010000 0001 40 066f7264657273 00000004 73656372 000000")
    for version, hidden in ((3000, True), (14, False)):
        frame = (len(body) + 4).to_bytes(4, "big") + bytes(2) + version.to_bytes(2, "big") + body
        (result,) = kwire.decode_frames(kwire.protocol.cut_frames(frame))
        assert isinstance(result, kwire.Undecodable)
        assert may_hold_secret(result) == hidden
