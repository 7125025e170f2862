"""Captures that were divided by `split -b`: which files belong together, and in which order.

Such files are in one folder, and their names differ in a number, or in two letters at the end. They are read with the
file that has the capture's header.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice

from ...capture.files import list_folder, open_file
from ...capture.packets.capture_formats import CAPTURES
from ...capture.packets.packet import SECOND, Packet
from ...capture.packets.pcap import DAY, FILE_HEADER
from ...capture.portions import PORTION
from ...errors import DumpError
from ..read_options import PCAP
from .byte_ranges import ByteRange
from .capture_readers import capture_kind, head_of, is_compressed, read_from_middle
from .concatenated_files import Piece
from .file_order import PcapGrammar, PcapngGrammar, UnorderedPiece, order_pieces

MOST_SORTED = 512  # maximum number of pieces that are ordered by time; more pieces are ordered by name


def family_of(path: str) -> str:
    """Return the common part of the names of a capture's pieces.

    >>> family_of("/in/a.pcap.ab") == family_of("/in/a.pcap.aa"), family_of("007.pcap"), family_of("dump.bin")
    (True, '#.pcap', 'dump.bin')
    """
    return re.sub(r"(?<=\.)[a-z]{2}$|(?<=/x)[a-z]{2}$", "@", re.sub(r"\d+", "#", path))


def neighbours(paths: Sequence[str]) -> dict[str, str]:
    """Return for each file the next one of its family (for the last file the first); an empty string without one.

    >>> neighbours(["/in/1.pcap", "/in/2.pcap", "/in/dump"])
    {'/in/1.pcap': '/in/2.pcap', '/in/2.pcap': '/in/1.pcap', '/in/dump': ''}
    """
    families: dict[str, list[str]] = {}
    for path in paths:
        families.setdefault(family_of(path), []).append(path)
    following = dict.fromkeys(paths, "")
    for family in families.values():
        if len(family) > 1:
            following |= dict(zip(family, [*family[1:], family[0]], strict=True))
    return following


def pieces_of(path: str) -> tuple[Piece, ...]:
    """Return the pieces of the capture to which a file belongs, in order; an empty tuple if the file is not a piece."""
    entries = [entry for entry in list_folder(path.rpartition("/")[0] or ".") if not entry.is_folder and entry.size]
    family = family_of(path)
    files = tuple(Piece(entry.path, entry.size, entry.changed) for entry in entries if family_of(entry.path) == family)
    return next((pieces for pieces in _captures_of(files) if path in {entry.path for entry in pieces}), ())


@lru_cache(maxsize=64)
def _captures_of(files: tuple[Piece, ...]) -> tuple[tuple[Piece, ...], ...]:
    """Return the captures among files of one family that are divided into pieces."""
    runs, loose = list[list[Piece]](), list[Piece]()
    for piece in files:
        head = head_of(piece.path, 4)
        if is_compressed(head):
            continue
        if capture_kind(head):
            runs.append([piece])
        else:
            (runs[-1] if runs else loose).append(piece)
    if runs:
        runs[0] += loose
    return tuple(pieces for run in runs if len(run) > 1 and (pieces := _order_files(run)))


def _order_files(run: Sequence[Piece]) -> tuple[Piece, ...]:
    """Sort pieces; the one with the file header is first.

    Return an empty tuple if no packet follows the header or no other piece has records.
    """
    first, *others = run
    head = _beginning(first, others)
    if not head:
        return ()
    if len(others) > MOST_SORTED:
        return tuple(run)
    times = [time for piece in run if (time := _first_time(head, piece.path)) is not None]
    if not times:
        return ()
    kind = PcapGrammar if capture_kind(head) == PCAP else PcapngGrammar
    grammar = kind(head, min(times) - DAY * SECOND, max(times) + DAY * SECOND)
    loose = [_loose(number, piece) for number, piece in enumerate(run)]
    return tuple(run[number] for number in order_pieces(loose[0], loose[1:], grammar))


def _beginning(first: Piece, others: Sequence[Piece]) -> bytes:
    """Return the first bytes of a capture, up to its first packet at least; empty if no piece continues the header."""
    head = head_of(first.path, PORTION)
    for more in chain([b""], (head_of(piece.path, PORTION) for piece in others[:MOST_SORTED])):
        reader = CAPTURES[capture_kind(head)][1](iter([head + more]), first.path, looks_ahead=True)
        with suppress(DumpError):
            items = islice(reader, 1) if more else reader  # only the first record proves that a piece continues it
            if any(isinstance(item, Packet) for item in items):
                return head + more
    return b""


def _loose(number: int, piece: Piece) -> UnorderedPiece:
    with open_file(piece.path, PORTION) as stream:
        head = stream.read(PORTION)
        stream.seek(max(0, piece.size - PORTION))
        return UnorderedPiece(number, piece.changed, piece.size, head, stream.read(PORTION))


def _first_time(head: bytes, path: str) -> int | None:
    """Return the time of the first record in a piece; None if there is none."""
    reader = read_from_middle(head, iter([head_of(path, PORTION)]), path, FILE_HEADER)
    if not reader.synchronise():
        return None
    packet = next((item for item in reader if isinstance(item, Packet)), None)
    return None if packet is None else packet.nanoseconds


def pieces_around(split: ByteRange) -> tuple[tuple[Piece, ...], ByteRange] | None:
    """Return the pieces of the capture to which a file belongs, and the range in them; None for a whole capture."""
    if not split.neighbour:
        return None
    if capture_kind(head_of(split.path, 4)) and capture_kind(head_of(split.neighbour, 4)):
        return None
    pieces = pieces_of(split.path)
    if not pieces:
        return None
    base = sum(piece.size for piece in pieces[: [piece.path for piece in pieces].index(split.path)])
    return pieces, split._replace(path=pieces[0].path, start=base + split.start, stop=base + split.stop)
