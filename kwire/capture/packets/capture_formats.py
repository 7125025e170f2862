"""The formats of captures that are read: their first bytes and their readers."""

from __future__ import annotations

from collections.abc import Callable

from .pcap import MAGICS, PcapReader
from .pcapng import MAGIC, PcapngReader

# kind -> (the four bytes it begins with, which as a frame's size are above any limit; its reader)
CAPTURES: dict[str, tuple[frozenset[bytes], Callable[..., PcapReader | PcapngReader]]] = {
    "pcap": (frozenset(MAGICS), PcapReader),
    "pcapng": (frozenset([MAGIC]), PcapngReader),
}
