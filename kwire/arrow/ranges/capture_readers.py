"""Readers of captures: what a file begins with, and a reader that starts in the middle."""

from __future__ import annotations

from itertools import chain
from typing import Any

from ...capture.compressed_files import COMPRESSIONS
from ...capture.files import open_file
from ...capture.packets.capture_formats import CAPTURES
from ...capture.packets.packet import Packet
from ...capture.packets.pcap import FILE_HEADER, PcapReader
from ...capture.packets.pcapng import PcapngReader

Reader = PcapReader | PcapngReader


def capture_kind(head: bytes) -> str:
    """Return the kind of a capture from its first bytes; an empty string if they are not a header."""
    return next((kind for kind, (magics, _) in CAPTURES.items() if head[:4] in magics), "")


def is_compressed(head: bytes) -> bool:
    """Whether a file is compressed, judging by its first bytes."""
    return any(head.startswith(magic) for magic, _ in COMPRESSIONS.values())


def read_from_middle(head: bytes, portions: Any, path: str, start: int) -> Reader:
    """Return a reader that starts in the middle of a capture.

    Args:
        head: the first bytes of the file, including its first packet.
        portions: the bytes of the file from `start` on.
        path: the name of the file.
        start: a position in the file.
    """
    first = CAPTURES[capture_kind(head)][1](iter([head]), path)
    next((packet for packet in first if isinstance(packet, Packet)), None)
    if isinstance(first, PcapngReader):
        blocks = PcapngReader(portions, path, start, looks_ahead=True)
        blocks.begin_section(first.order, first.interfaces)
        return blocks
    records = PcapReader(chain([head[:FILE_HEADER]], portions), path, start - FILE_HEADER, looks_ahead=True)
    records.begin()
    records.note_time(first.state[-1])
    return records


def head_of(path: str, count: int) -> bytes:
    """Return the first `count` bytes of a file."""
    with open_file(path, count) as stream:
        return stream.read(count)
