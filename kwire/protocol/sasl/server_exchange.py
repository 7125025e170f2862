"""The server side of a SASL authentication: checks the client's tokens of PLAIN (RFC 4616) and SCRAM (RFC 5802)."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from random import Random

from .mechanisms import HASH_NAMES, PLAIN, AuthenticationFailed
from .scram_credentials import ScramCredential, Users
from .scram_messages import CLIENT_FINAL, CLIENT_FIRST


class SaslServerExchange:
    """The server side of one authentication. `name` is the user once the exchange is complete."""

    def __init__(self, mechanism: str, users: Users, rng: Random) -> None:
        self.mechanism: str = mechanism
        self._users = users
        self._rng = rng
        self.name: str | None = None
        self._first: re.Match[str] | None = None
        self._challenge = ""
        self._credential: ScramCredential | None = None

    def answer(self, token: bytes) -> bytes:
        """Return the server's token in response to a client's token; raises AuthenticationFailed if authentication
        fails.
        """
        if self.mechanism == PLAIN:
            return self._plain(token)
        try:
            text = token.decode()
            return self._final(text) if self._first is not None else self._begin(text)
        except (UnicodeDecodeError, BadBase64):
            raise self._failure() from None

    def _failure(self) -> AuthenticationFailed:
        wrong = "Authentication failed during authentication due to invalid credentials with SASL mechanism"
        return AuthenticationFailed(f"{wrong} {self.mechanism}")

    def _plain(self, token: bytes) -> bytes:
        """Check the token of SASL/PLAIN (RFC 4616)."""
        parts = token.decode("utf-8", "replace").split("\0")
        if len(parts) != 3:
            raise AuthenticationFailed(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authzid, name, password = parts
        for value, what in ((name, "username"), (password, "password")):
            if not value:
                raise AuthenticationFailed(f"Authentication failed: {what} not specified")
        if not self._users.check(name, password):
            raise AuthenticationFailed("Authentication failed: Invalid username or password")
        if authzid not in ("", name):
            wrong = "Client requested an authorization id that is different from username"
            raise AuthenticationFailed(f"Authentication failed: {wrong}")
        self.name = name
        return b""

    def _begin(self, text: str) -> bytes:
        first = CLIENT_FIRST.fullmatch(text)
        if first is None:
            raise self._failure()
        name = _plain_name(first["name"])
        self._credential = self._users.credential(name, self.mechanism, self._rng)
        if self._credential is None or first["authzid"] not in (None, first["name"]):
            raise self._failure()
        self._first = first
        nonce = first["nonce"] + b64encode(self._rng.randbytes(18)).decode()
        salt = b64encode(self._credential.salt).decode()
        self._challenge = f"r={nonce},s={salt},i={self._credential.iterations}"
        return self._challenge.encode()

    def _final(self, text: str) -> bytes:
        assert self._first is not None
        assert self._credential is not None
        credential = self._credential
        final = CLIENT_FINAL.fullmatch(text)
        nonce = self._challenge[2:].partition(",")[0]
        if final is None or final["nonce"] != nonce or b64decode(final["binding"]).decode() != self._first["header"]:
            raise self._failure()
        signed = f"{self._first['bare']},{self._challenge},{final['unproved']}".encode()
        hash_name = HASH_NAMES[self.mechanism]
        signature = hmac.digest(credential.stored_key, signed, hash_name)
        proof = b64decode(final["proof"])
        client_key = bytes(byte ^ mask for byte, mask in zip(signature, proof, strict=False))
        if not hmac.compare_digest(hashlib.new(hash_name, client_key).digest(), credential.stored_key):
            raise self._failure()
        self.name = _plain_name(self._first["name"])
        return b"v=" + b64encode(hmac.digest(credential.server_key, signed, hash_name))


def _plain_name(text: str) -> str:
    return text.replace("=2C", ",").replace("=3D", "=")
