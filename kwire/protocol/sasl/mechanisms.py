"""The SASL mechanisms PLAIN and SCRAM (KIP-12, KIP-84), and their limits."""

from __future__ import annotations

PLAIN = "PLAIN"
SHA_256 = "SCRAM-SHA-256"
SHA_512 = "SCRAM-SHA-512"
MECHANISMS = (PLAIN, SHA_256, SHA_512)
SCRAM = {1: SHA_256, 2: SHA_512}  # by Kafka's number of the mechanism
LEAST_ITERATIONS = 4096
MOST_ITERATIONS = 16384
MOST_CLIENT_ITERATIONS = 1_000_000  # the highest count that a client accepts; it takes a third of a second to compute
HASH_NAMES = {SHA_256: "sha256", SHA_512: "sha512"}


def check_mechanism(name: str) -> None:
    """Raise ValueError if kwire has no SASL mechanism of this name."""
    if name not in MECHANISMS:
        raise ValueError(f"there is no SASL mechanism {name!r} here; there are {', '.join(MECHANISMS)}")


class AuthenticationFailed(Exception):
    """Raised if a client cannot be authenticated; the text is Kafka's error message and contains no secret."""
