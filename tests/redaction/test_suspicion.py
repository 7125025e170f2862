"""Bytes that did not decode, and look as if they held a secret."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.redaction.suspicion import may_answer_with_secret, may_hold_secret
from tests.conftest import ROOT
from tests.frames.test_decoding import response
from tests.frames.test_sasl import BEARER, CHALLENGE, FINAL, FIRST, VERIFIED
from tests.frames.test_talk import answered, asked

M: Any = kwire.messages


@pytest.mark.parametrize("token", [FIRST, CHALLENGE, FINAL, VERIFIED, BEARER, b"\0alice\0wonder"])
def test_tokens_are_found_wherever_they_are(token: bytes) -> None:
    assert may_hold_secret(token)
    assert may_hold_secret(len(token).to_bytes(4, "big") + token)
    assert may_hold_secret(b"\x00\x00\x00\x07 lost" + token)


def test_requests_that_carry_secrets_are_found_behind_other_bytes() -> None:
    for message in (M.SaslAuthenticateRequest(), M.AlterUserScramCredentialsRequest(), M.RenewDelegationTokenRequest()):
        assert may_hold_secret(b"some lost bytes" + asked(message, 0))


def test_what_is_none_of_these_stays() -> None:
    frames = [frame.data for frame in kwire.read_dump(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")]
    assert len(frames) > 100
    suspected = sum(may_hold_secret(data[:-1]) for data in frames)
    assert suspected < len(frames) / 10


def test_answers_with_secrets_are_found_without_their_requests() -> None:
    token = M.CreateDelegationTokenResponse(token_id="id", hmac=b"a key")
    assert all(may_answer_with_secret(answered(token, version)) for version in range(4))
    assert may_answer_with_secret(answered(M.EnvelopeResponse(response_data=b"?"), 0))
    assert not may_answer_with_secret(response(1))
