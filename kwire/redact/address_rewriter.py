"""Rewrites addresses and ports of a capture consistently: of its packets, and of brokers and clients in messages.

An address keeps the length of its text, because messages keep their sizes: `10.2.30.4` becomes another address with
the same numbers of digits. Equal addresses and ports stay equal, different ones different.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from ipaddress import ip_address
from itertools import count

from msgspec.structs import replace

from ..protocol import Source
from ..runtime.lazy_patterns import lazy_pattern

BROKER_PORTS = range(9092, 10_000)
CLIENT_PORTS = range(10_000, 1 << 16)
OTHER_PORTS = range(1, 9092)
_NUMBER = lazy_pattern(r"[0-9a-fA-F]+")


class AddressRewriter:
    """Gives addresses and ports stand-ins, in the order in which they are seen.

    >>> addresses = AddressRewriter()
    >>> addresses.host("192.168.17.4"), addresses.host("192.168.17.5"), addresses.host("192.168.17.4")
    ('100.100.10.1', '100.100.10.2', '100.100.10.1')
    >>> addresses.endpoint("192.168.17.5:19092", is_broker=True)
    '100.100.10.2:9092'
    """

    def __init__(self) -> None:
        self._hosts: dict[str, str] = {}
        self._shapes: dict[str, count[int]] = {}  # the shape of an address -> the next number
        self._ports: dict[int, int] = {0: 0, -1: -1}
        self._used: set[int] = set()
        self._next_ports = {True: iter(BROKER_PORTS), False: iter(CLIENT_PORTS)}
        self._other_ports = iter(OTHER_PORTS)

    def host(self, text: str) -> str | None:
        """Return the stand-in of an IP address of the same length; None for a name, or another form of an address."""
        if text not in self._hosts:
            try:
                address = ip_address(text)
            except ValueError:
                return None
            if str(address) != text or address.is_unspecified:
                return None
            self._hosts[text] = self._next_host(text, is_ipv6=address.version == 6)
        return self._hosts[text]

    def port(self, port: int, *, is_broker: bool = True) -> int:
        """Return the stand-in of a port; 0 and -1 stay, which stand for none."""
        if port not in self._ports:
            chosen = next(self._next_ports[is_broker], None) or next(self._other_ports, None)
            if chosen is None:  # all broker ports are used, but not all ports of clients
                chosen = next(self._next_ports[not is_broker])
            self._ports[port] = chosen
        return self._ports[port]

    def endpoint(self, text: str, *, is_broker: bool) -> str:
        """Return the stand-in of `10.0.0.1:9092` or `[::1]:9092`."""
        host, _, port = text.rpartition(":")
        plain = host.strip("[]")
        rewritten = self.host(plain) or plain
        return f"{host.replace(plain, rewritten)}:{self.port(int(port), is_broker=is_broker)}"

    def source(self, source: Source) -> Source:
        """Return the source of a frame with rewritten endpoints."""
        client = None if source.client is None else self.endpoint(source.client, is_broker=False)
        broker = None if source.broker is None else self.endpoint(source.broker, is_broker=True)
        return replace(source, client=client, broker=broker)

    def _next_host(self, text: str, *, is_ipv6: bool) -> str:
        """Return an address that no other has, with the same number of digits in each place."""
        base = 16 if is_ipv6 else 10
        shape = _NUMBER.sub(lambda match: "0" * len(match[0]), text)
        numbers = self._shapes.setdefault(shape, count())
        for number in numbers:
            rest = number
            parts: list[str] = []
            for part in reversed(_NUMBER.findall(text)):
                first, last = _bounds(len(part), base)
                rest, index = divmod(rest, last - first + 1)
                parts.append(format(first + index, "x" if is_ipv6 else "d"))
            if rest:
                return text  # there are no more of this shape: all are used
            stand_ins = iter(reversed(parts))
            candidate = _NUMBER.sub(partial(_next_of, stand_ins), text)
            if str(ip_address(candidate)) == candidate:  # not another form of one, such as ::ffff:102:304
                return candidate
        raise AssertionError("numbers never end")


def _bounds(digits: int, base: int) -> tuple[int, int]:
    """Return the lowest and highest number that is used for a number of digits in an address; 0 is not used."""
    first = max(base ** (digits - 1), 1)
    last = base**digits - 1
    return first, min(last, 199) if base == 10 else last  # up to 223 an IPv4 address is no multicast address


def _next_of(stand_ins: Iterator[str], match: re.Match[str]) -> str:
    return next(stand_ins)
