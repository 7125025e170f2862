"""Users, and the SASL exchange of a connection; the SCRAM dialogues are those of RFC 5802 and RFC 7677."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from random import Random

import pytest

from kwire.broker.security.principals import principal_of
from kwire.broker.security.sasl_session import SaslSession
from kwire.protocol.sasl.mechanisms import MECHANISMS, AuthenticationFailed
from kwire.protocol.sasl.scram_credentials import ScramCredential, Users
from kwire.protocol.sasl.server_exchange import SaslServerExchange
from tests.interop.security_steps import Scram


def exchange(mechanism: str = "SCRAM-SHA-256") -> SaslServerExchange:
    return SaslServerExchange(mechanism, Users({"user": "pencil"}), Random(1))


def test_the_keys_are_those_of_the_rfc() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    known = ScramCredential.of("SCRAM-SHA-256", salted, salt, 4096)
    first = "n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    made = SaslServerExchange("SCRAM-SHA-256", Users(scram={("user", "SCRAM-SHA-256"): known}), Random(1))
    made.answer(f"n,,{first}".encode())
    made._challenge = f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"  # the server's random part
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert made.answer(f"c=biws,r={nonce},p={proof}".encode()) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert made.name == "user"


@pytest.mark.parametrize(("mechanism", "hash_name"), [("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")])
def test_both_sides_prove_that_they_have_the_password(mechanism: str, hash_name: str) -> None:
    client, made = Scram("user", "pencil", hash_name), exchange(mechanism)
    assert client.trusts(made.answer(client.proof(made.answer(client.begin()))))
    assert made.name == "user"


@pytest.mark.parametrize(
    "tokens",
    [
        [b""],
        [b"\xff\xff"],
        [b"n,,n=user"],
        [b"p=tls-unique,,n=user,r=abc"],
        [b"n,a=other,n=user,r=abc"],
        [b"n,,n=nobody,r=abc"],
        [b"n,,n=user,r=abc", b"n,,n=user,r=abc"],
        [b"n,,n=user,r=abc", b"c=biws,r=abc,p=AAAA"],
        [b"n,,n=user,r=abc", b"c=%%%%,r=abc,p=AAAA"],
        [b"n,,n=user,r=abc", b"c=b,r=abc,p=A"],
    ],
)
def test_bad_tokens_of_scram_prove_nothing(tokens: Sequence[bytes]) -> None:
    made = exchange()
    for token in tokens[:-1]:
        made.answer(token)
    with pytest.raises(AuthenticationFailed, match="invalid credentials"):
        made.answer(tokens[-1])
    assert made.name is None


def test_a_proof_of_no_bytes_is_no_proof() -> None:
    client, made = Scram("user", "pencil"), exchange()
    final = client.proof(made.answer(client.begin())).partition(b",p=")[0]
    with pytest.raises(AuthenticationFailed):
        made.answer(final + b",p=====")


def test_names_may_have_commas() -> None:
    users = Users({"a,b=c": "pencil"})
    client, made = Scram("a=2Cb=3Dc", "pencil"), SaslServerExchange("SCRAM-SHA-256", users, Random(1))
    made.answer(client.proof(made.answer(client.begin())))
    assert made.name == "a,b=c"


def test_nothing_that_is_printed_has_a_secret() -> None:
    users = Users({"alice": "wonder"})
    users.credential("alice", "SCRAM-SHA-256", Random(1))
    made = ScramCredential(b"the salt", b"the stored", b"the server", 4096)
    text = f"{users!r} {made!r} {SaslSession(users, MECHANISMS, Random(1)).users!r}"
    assert not any(one in text for one in ("wonder", "the salt", "the stored", "the server"))


def test_sessions_end_and_begin_again() -> None:
    session = SaslSession(Users({"a": "pw"}), ["PLAIN"], Random(1), 10.0)
    assert session.problem("Metadata", 0.0)
    assert session.handshake("PLAIN", 1)
    session.authenticate(b"\0a\0pw", 100.0)
    assert session.lifetime_ms(100.0) == 10_000
    assert (session.problem("Metadata", 109.0), bool(session.problem("Metadata", 110.0))) == ("", True)
    assert session.handshake("PLAIN", 1)
    session.authenticate(b"\0a\0pw", 111.0)
    assert not session.problem("Metadata", 120.0)


@pytest.mark.parametrize(
    ("subject", "principal"),
    [
        ((), "User:"),
        (((("commonName", "client"),),), "User:CN=client"),
        (
            ((("countryName", "SE"),), (("organizationName", "A, B"),), (("commonName", " x+y "),)),
            r"User:CN=\ x\+y\ ,O=A\, B,C=SE",
        ),
        (((("commonName", "a"), ("userId", "u")),), "User:CN=a+UID=u"),
    ],
)
def test_subjects_are_written_as_in_rfc_2253(subject: object, principal: str) -> None:
    assert principal_of({"subject": subject}) == principal
    assert principal_of(None) == principal_of({}) == "User:ANONYMOUS"


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (b"alice\0wonder", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0\0wonder", "Authentication failed: username not specified"),
        (b"\0user\0", "Authentication failed: password not specified"),
        (b"\0user\0pen", "Authentication failed: Invalid username or password"),
        (b"other\0user\0pencil", "an authorization id that is different from username"),
    ],
)
def test_bad_tokens_of_plain_are_refused(token: bytes, message: str) -> None:
    made = exchange("PLAIN")
    with pytest.raises(AuthenticationFailed, match=message):
        made.answer(token)
    assert made.name is None


def test_a_session_is_authenticated_after_the_last_token_alone() -> None:
    session, client = SaslSession(Users({"user": "pencil"}), ["SCRAM-SHA-256"], Random(1)), Scram("user", "pencil")
    assert session.handshake("SCRAM-SHA-256", 1)
    answer = session.authenticate(client.begin(), now=0.0)
    assert (session.is_authenticated, session.is_under_way) == (False, True)
    assert session.problem("Metadata", 0.0) == "Metadata during SASL authentication"
    assert session.problem("SaslAuthenticate", 0.0) == ""
    session.authenticate(client.proof(answer), now=0.0)
    assert (session.is_authenticated, session.is_under_way, session.problem("Metadata", 0.0)) == (True, False, "")


def test_a_session_that_is_renewed_keeps_its_principal() -> None:
    session = SaslSession(Users({"user": "pencil", "other": "pen"}), ["PLAIN"], Random(1), most_seconds=60)
    for token in (b"\0user\0pencil", b"\0user\0pencil"):
        assert session.handshake("PLAIN", 1)
        session.authenticate(token, now=0.0)
    session.handshake("PLAIN", 1)
    with pytest.raises(AuthenticationFailed, match=r"from User\.user: User\.other"):
        session.authenticate(b"\0other\0pen", now=0.0)
    assert (session.principal, session.has_failed) == ("User:user", True)


def test_a_mechanism_that_is_not_enabled_begins_nothing() -> None:
    session = SaslSession(Users({"user": "pencil"}), ["PLAIN"], Random(1))
    assert not session.handshake("SCRAM-SHA-256", 1)
    assert (session.has_failed, session.is_under_way, session.takes_tokens) == (True, False, False)
