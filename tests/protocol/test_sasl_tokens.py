"""Tokens of SASL: who, and what is secret, told apart; the examples are those of RFC 4616, 5802 and 7628."""

from __future__ import annotations

import os

import pytest

from kwire.protocol.sasl_tokens import read_token, seems_token
from kwire.schema.sensitive_fields import SECRET_PARTS

FIRST = b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL"
CHALLENGE = b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096"
FINAL = b"c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="
VERIFIED = b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ="
BEARER = b"n,a=user@example.com,\x01auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01"


def test_plain_has_the_user_and_a_separate_password() -> None:
    found = read_token(b"Ursel\0Kurt\0xipj3plmq", "PLAIN")
    assert found.fields == {"authzid": "Ursel", "user": "Kurt", "password": b"xipj3plmq"}
    assert (found.mechanism, found.phase, found.size) == ("PLAIN", "credentials", 20)
    outcome = read_token(b"", "PLAIN", from_client=False)
    assert (outcome.phase, outcome.fields) == ("outcome", {})


@pytest.mark.parametrize(
    ("data", "from_client", "phase", "fields"),
    [
        (FIRST, True, "client first", {"authzid": "", "user": "user", "nonce": "fyko+d2lbbFgONRv9qkxdawL"}),
        (CHALLENGE, False, "server first", {"salt": "QSXCR+Q6sek8bf92", "iterations": "4096"}),
        (FINAL, True, "client final", {"channel_binding": "biws", "proof": "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="}),
        (VERIFIED, False, "server final", {"signature": "rmF9pqV8S7suAoZWja4dJRkFsKQ="}),
        (b"e=invalid-proof", False, "server final", {"error": "invalid-proof"}),
    ],
)
def test_scram_has_its_phases(data: bytes, from_client: bool, phase: str, fields: dict[str, str]) -> None:
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        found = read_token(data, mechanism, from_client)
        assert (found.mechanism, found.phase) == (mechanism, phase)
        assert found.fields.items() >= fields.items()


def test_scram_names_are_unescaped_and_delegation_tokens_told() -> None:
    found = read_token(b"n,a=b=2Cc,n=a=3Db,r=x,tokenauth=true", "SCRAM-SHA-256")
    assert (found.fields["authzid"], found.fields["user"], found.fields["delegation_token"]) == ("b,c", "a=b", "true")


@pytest.mark.parametrize(
    ("data", "mechanism"),
    [
        (FIRST, "SCRAM"),
        (CHALLENGE, "SCRAM"),
        (BEARER, "OAUTHBEARER"),
        (b"\x60\x82", "GSSAPI"),
        (b"\0a\0b", "PLAIN"),
    ],
)
def test_where_no_handshake_was_seen_the_content_shows_the_mechanism(data: bytes, mechanism: str) -> None:
    assert read_token(data).mechanism == mechanism


@pytest.mark.parametrize("mechanism", ["GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM", None])
def test_what_is_not_read_is_one_secret_part(mechanism: str | None) -> None:
    data = BEARER if mechanism == "OAUTHBEARER" else b"\x01\x02 opaque"
    found = read_token(data, mechanism)
    assert (found.fields, found.phase, found.size) == ({"token": data}, "token", len(data))
    assert found.fields.keys() <= SECRET_PARTS


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "GSSAPI", None])
def test_no_bytes_are_refused(mechanism: str | None) -> None:
    for size in range(40):
        for data in (os.urandom(size), bytes(size), b"," * size, b"=" * size):
            for from_client in (True, False):
                assert read_token(data, mechanism, from_client).size == size


def test_tokens_look_like_tokens() -> None:
    assert all(map(seems_token, (FIRST, CHALLENGE, FINAL, VERIFIED, BEARER, b"\0alice\0wonder")))
    assert not any(map(seems_token, (b"", bytes(8), b"orders", bytes.fromhex("0003000c00000001"))))


def test_a_part_of_scram_without_a_known_name_is_extra() -> None:
    found = read_token(b"r=abc,x=1,s=QSXC,i=4096", "SCRAM-SHA-256", from_client=False)
    assert found.fields == {"nonce": "abc", "extra": b"x=1", "salt": "QSXC", "iterations": "4096"}
