"""The client side of a SASL authentication with PLAIN (RFC 4616) or SCRAM (RFC 5802)."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as BadBase64

from .mechanisms import HASH_NAMES, LEAST_ITERATIONS, MOST_CLIENT_ITERATIONS, PLAIN, AuthenticationFailed
from .scram_credentials import ScramCredential
from .scram_messages import GS2_HEADER, SERVER_FIRST


class SaslClientExchange:
    """The client side of one authentication.

    Args:
        mechanism: one of MECHANISMS.
        name, password: the user's name and password.
        nonce: random printable text without commas.

    >>> SaslClientExchange("PLAIN", "alice", "wonder", "").begin()
    b'\\x00alice\\x00wonder'
    """

    def __init__(self, mechanism: str, name: str, password: str, nonce: str) -> None:
        self.mechanism = mechanism
        self._name = name
        self._password = password
        self._nonce = nonce
        self._bare = f"n={name.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        self._verifier: bytes | None = None

    def begin(self) -> bytes:
        """Return the client's first token."""
        if self.mechanism == PLAIN:
            return f"\0{self._name}\0{self._password}".encode()
        return f"{GS2_HEADER}{self._bare}".encode()

    def proceed(self, answer: bytes) -> bytes | None:
        """Return the client's next token in response to a token of the server; None if authentication is complete.

        Raises:
            AuthenticationFailed: the token is not valid for the mechanism, or it does not prove that the server has the
                credential.
        """
        if self.mechanism == PLAIN:
            return None
        if self._verifier is not None:
            if not hmac.compare_digest(answer.partition(b",")[0], b"v=" + b64encode(self._verifier)):
                raise AuthenticationFailed("its signature does not match the user's credential")
            return None
        challenge = SERVER_FIRST.fullmatch(answer.decode("utf-8", "replace"))
        if challenge is None or not challenge["nonce"].startswith(self._nonce) or challenge["nonce"] == self._nonce:
            raise AuthenticationFailed(f"the token is not a challenge of {self.mechanism}")
        iterations = int(challenge["iterations"])
        if not LEAST_ITERATIONS <= iterations <= MOST_CLIENT_ITERATIONS:
            raise AuthenticationFailed(f"{iterations} iterations; at least {LEAST_ITERATIONS} are required")
        return self._prove(challenge, iterations)

    def _prove(self, challenge: re.Match[str], iterations: int) -> bytes:
        name = HASH_NAMES[self.mechanism]
        try:
            salt = b64decode(challenge["salt"])
        except BadBase64:
            raise AuthenticationFailed("its salt is not Base64") from None
        salted = hashlib.pbkdf2_hmac(name, self._password.encode(), salt, iterations)
        unproved = f"c={b64encode(GS2_HEADER.encode()).decode()},r={challenge['nonce']}"
        signed = f"{self._bare},{challenge[0]},{unproved}".encode()
        credential = ScramCredential.of(self.mechanism, salted, salt, iterations)
        signature = hmac.digest(credential.stored_key, signed, name)
        client_key = hmac.digest(salted, b"Client Key", name)
        proof = bytes(byte ^ mask for byte, mask in zip(client_key, signature, strict=True))
        self._verifier = hmac.digest(credential.server_key, signed, name)
        return f"{unproved},p={b64encode(proof).decode()}".encode()
