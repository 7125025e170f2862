"""The client that uses a version of an api, as the counts name it."""

from __future__ import annotations

from typing import NamedTuple

NOTHING = "-"


class User(NamedTuple):
    """The client that uses a version of an api. What is no column is `NOTHING`: fewer users need less memory.

    `span` is the number of the span of time in which it does, if time is a column; else -1.
    """

    api_key: int
    version: int
    client: str
    software: str
    ip: str
    broker: str = NOTHING
    span: int = -1


def ip_of(end: str | None) -> str:
    """Return the IP address of an endpoint; `-` if there is none.

    >>> ip_of("[::1]:9092"), ip_of(None)
    ('[::1]', '-')
    """
    return (end or NOTHING).rpartition(":")[0] or NOTHING


def user_of(
    key: int | None, version: int, client: str | None, ip: str, software: str, broker: str = NOTHING, span: int = -1
) -> User:
    """Return the sender of a request, from its header."""
    # A client id has no control characters: this is another message, which may contain a secret.
    name = client if client is not None and client.isprintable() else NOTHING
    return User(-1 if key is None else key, version, name, software, ip, broker, span)
