"""Addresses of brokers: a host and a port."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import CallError

PORT = 9092
LOOPBACK = ("localhost", "127.0.0.1", "::1")  # hosts that other machines cannot reach
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[^\s:\[\]]*))(?::(?P<port>\d{1,5}))?")


class Address(NamedTuple):
    """A host, by name or number, and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def check(self) -> None:
        """Raise CallError for what no look-up of names should see: brokers can name any text as host, and any number.

        getaddrinfo ends a name at its first NUL, and keeps only 16 bits of a port.

        >>> Address("b1", 70_000).check()
        Traceback (most recent call last):
            ...
        kwire.errors.CallError: b1:70000: this is not an address
        """
        if not self.host.isprintable() or not self.host or not 0 < self.port <= 0xFFFF:
            raise CallError(str(self), "this is not an address", "a host has no control characters, a port 1 to 65535")


def address(text: str, host: str = "localhost", port: int = PORT) -> Address:
    """Read `host:port`, `:port`, `host` or `[::1]:port`.

    Args:
        text: the address as text.
        host, port: the defaults for a missing host or port.

    Raises:
        CallError: the text has none of these forms.

    >>> str(address(":19092")), str(address("b1.example")), str(address("[::1]:9093"))
    ('localhost:19092', 'b1.example:9092', '[::1]:9093')
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"] or port) > 0xFFFF:
        raise CallError(text, "this is not an address", "write HOST:PORT, :PORT or [IPv6]:PORT")
    return Address(match["six"] or match["host"] or host, int(match["port"] or port))
