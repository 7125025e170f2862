"""A served api: its versions and its handler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class ClosesConnection(ConnectionAbortedError):
    """A handler has no response and closes the connection, so that the client looks for the cause."""


class ServedApi(NamedTuple):
    """The versions of an api that are served, and its handler.

    Attributes:
        first, last: the lowest and the highest served version.
        handler: takes a `RequestContext`; returns the response,
            a `Parked` that will contain it, or None if there is none.
        finds_errors: whether the handler applies error rules to the parts of a request (`RequestContext.error`).
        is_advertised: whether ApiVersions lists it.
    """

    first: int
    last: int
    handler: Callable[..., Any]
    finds_errors: bool = False
    is_advertised: bool = True
