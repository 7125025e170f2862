"""The users who can authenticate, with their passwords and SCRAM credentials (RFC 5802). No secret is in a `repr`."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from .mechanisms import HASH_NAMES, LEAST_ITERATIONS


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """What a server stores for a SCRAM user instead of the password (RFC 5802); the password cannot be computed from
    it.
    """

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int

    @classmethod
    def of(cls, mechanism: str, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
        """Return the credential for a salted password, the form that AlterUserScramCredentials contains."""
        name = HASH_NAMES[mechanism]
        client_key = hmac.digest(salted, b"Client Key", name)
        return cls(salt, hashlib.new(name, client_key).digest(), hmac.digest(salted, b"Server Key", name), iterations)


@dataclass(slots=True)
class Users:
    """The users who can authenticate.

    Attributes:
        passwords: the password of each user, valid for all mechanisms.
        scram: credentials set by administrators, by user and mechanism; they take precedence over `passwords`.

    >>> Users({"alice": "wonder"})
    Users(names=['alice'])
    """

    passwords: Mapping[str, str] = field(default_factory=dict)
    scram: dict[tuple[str, str], ScramCredential] = field(default_factory=dict)
    _derived: dict[tuple[str, str], ScramCredential] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Users(names={sorted({*self.passwords, *(name for name, _ in self.scram)})})"

    def check(self, name: str, password: str) -> bool:
        """Return whether the password is the user's password."""
        known = self.passwords.get(name)
        return known is not None and hmac.compare_digest(known.encode(), password.encode())

    def credential(self, name: str, mechanism: str, rng: Random) -> ScramCredential | None:
        """Return a user's credential for a SCRAM mechanism; None if there is none."""
        key = name, mechanism
        if key in self.scram:
            return self.scram[key]
        if name in self.passwords and key not in self._derived:
            salt = rng.randbytes(16)
            salted = hashlib.pbkdf2_hmac(HASH_NAMES[mechanism], self.passwords[name].encode(), salt, LEAST_ITERATIONS)
            self._derived[key] = ScramCredential.of(mechanism, salted, salt, LEAST_ITERATIONS)
        return self._derived.get(key)
