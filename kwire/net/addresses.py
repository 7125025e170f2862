"""Addresses of brokers as people write them."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import CallError

PORT = 9092
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[^\s:\[\]]*))(?::(?P<port>\d{1,5}))?")


class Address(NamedTuple):
    """A host, by name or number, and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address(text: str, host: str = "localhost", port: int = PORT) -> Address:
    """Read `host:port`, `:port`, `host` or `[::1]:port`.

    Args:
        text: what was written.
        host, port: what is meant where it says none.

    Raises:
        CallError: it is none of these.

    >>> str(address(":19092")), str(address("b1.example")), str(address("[::1]:9093"))
    ('localhost:19092', 'b1.example:9092', '[::1]:9093')
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"] or port) > 0xFFFF:
        raise CallError(text, "this is no address", "write HOST:PORT, :PORT or [IPv6]:PORT")
    return Address(match["six"] or match["host"] or host, int(match["port"] or port))
