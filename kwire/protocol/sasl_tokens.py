"""Parses the SASL tokens of a connection for display: user and proof of PLAIN (RFC 4616) and SCRAM (RFC 5802).

Tokens of OAUTHBEARER (RFC 7628) and GSSAPI are not parsed. `connection` decides which frames are tokens;
`kwire.protocol.sasl` authenticates, for clients and for brokers.
"""

from __future__ import annotations

import re

import msgspec

from ..runtime.former_dataclasses import was_dataclass
from ..runtime.lazy_patterns import lazy_pattern

_SCRAM = lazy_pattern(rb"(?:[ny],|p=[^,]*,)(?:a=[^,]*)?,[a-zA-Z]=|[a-zA-Z]=[^,]*(?:,[a-zA-Z]=[^,]*)*\Z")
_BEARER = lazy_pattern(rb"(?:[ny],|p=[^,]*,)(?:a=[^,]*)?,\x01")
_GSSAPI = 0x60  # the ASN.1 tag at the start of an RFC 2743 token
# SCRAM attribute -> field name
_PARTS = {
    "n": "user",
    "r": "nonce",
    "s": "salt",
    "i": "iterations",
    "c": "channel_binding",
    "p": "proof",
    "v": "signature",
    "e": "error",
    "tokenauth": "delegation_token",
}
_OPAQUE = "token"


@was_dataclass
class SaslMessage(msgspec.Struct, frozen=True):
    """The content of a SASL token.

    Attributes:
        mechanism: the SASL mechanism, for example `PLAIN`; None if no SaslHandshake was seen and the token does not
            identify the mechanism.
        phase: `credentials`, `client first`, `server first`, `client final`, `server final`, `outcome`, or `token` if
            only its direction is known.
        size: the size of the token in bytes.
        fields: the parts of the token by name; `kwire.schema.sensitive_fields.SECRET_PARTS` lists which are secret.
    """

    mechanism: str | None
    phase: str
    size: int
    fields: dict[str, object] = msgspec.field(default_factory=dict)


def read_token(data: bytes, mechanism: str | None = None, from_client: bool = True) -> SaslMessage:
    """Parse a SASL token. Never raise an error: unknown content becomes one field, `token`.

    Args:
        data: the token without its size field.
        mechanism: the mechanism from SaslHandshake, if known.
        from_client: whether the client sent it.

    >>> read_token(b"\\0alice\\0wonder", "PLAIN").fields["user"]
    'alice'
    >>> read_token(b"n,,n=carol,r=abc").mechanism
    'SCRAM'
    """
    name = mechanism or _guess_mechanism(data, from_client)
    if name == "PLAIN":
        return _read_plain(data, name, from_client)
    if name is not None and name.startswith("SCRAM"):
        return _read_scram(data, name, from_client)
    phase = "token" if from_client or data else "outcome"
    return SaslMessage(name, phase, len(data), {_OPAQUE: data} if data else {})


def seems_token(data: bytes) -> bool:
    """Whether bytes of unknown type look like a token that contains a secret."""
    return _guess_mechanism(data, True) in ("PLAIN", "SCRAM", "OAUTHBEARER")


def _guess_mechanism(data: bytes, from_client: bool) -> str | None:
    if _BEARER.match(data):
        return "OAUTHBEARER"
    if _SCRAM.match(data):
        return "SCRAM"
    if data[:1] == bytes([_GSSAPI]):
        return "GSSAPI"
    parts = data.split(b"\0")
    plain = from_client and len(parts) == 3 and all(parts[1:]) and min(parts[1] + parts[2]) >= 0x20
    return "PLAIN" if plain else None


def _read_plain(data: bytes, mechanism: str, from_client: bool) -> SaslMessage:
    parts = data.split(b"\0")
    if not from_client or len(parts) != 3:
        phase = "credentials" if from_client else "outcome"
        return SaslMessage(mechanism, phase, len(data), {_OPAQUE: data} if data else {})
    authzid, user, password = parts
    fields: dict[str, object] = {"authzid": _text(authzid), "user": _text(user), "password": password}
    return SaslMessage(mechanism, "credentials", len(data), fields)


def _read_scram(data: bytes, mechanism: str, from_client: bool) -> SaslMessage:
    if not _SCRAM.match(data):
        return SaslMessage(mechanism, "token", len(data), {_OPAQUE: data} if data else {})
    fields: dict[str, object] = {}
    opening = re.match(rb"([ny]|p=[^,]*),(?:a=([^,]*))?,", data)
    if opening:
        fields["authzid"] = _name(opening[2] or b"")
    for part in data[opening.end() if opening else 0 :].split(b","):
        key, _, value = part.partition(b"=")
        name = _PARTS.get(key.decode("latin-1"))
        if name is None:
            fields["extra"] = part
        else:
            fields[name] = _name(value) if name == "user" else _text(value)
    return SaslMessage(mechanism, _phase(fields, bool(opening)), len(data), fields)


def _phase(fields: dict[str, object], opening: bool) -> str:
    if opening:
        return "client first"
    if "salt" in fields:
        return "server first"
    return "client final" if "proof" in fields else "server final"


def _name(raw: bytes) -> str:
    """Decode the escapes of SCRAM names: =2C is a comma, =3D an equals sign."""
    return _text(raw).replace("=2C", ",").replace("=3D", "=")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
