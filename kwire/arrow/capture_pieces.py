"""Captures that were cut at bytes, as `split -b` cuts them: files without a header are read with the one that has it.

The pieces of a capture lie in one folder and have names that differ in their numbers, or in two letters at their end.
`piece_order` puts them in order by what is in them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from io import SEEK_END, SEEK_SET
from itertools import accumulate
from typing import Any, BinaryIO, NamedTuple, cast

from ..capture.pcap import DAY, FILE_HEADER, SECOND, Packet, PcapReader
from ..capture.pcapng import PcapngReader
from ..capture.record_cursor import PORTION
from ..input.compressed import COMPRESSIONS
from ..input.file_systems import entries_in, open_file
from ..input.open import CAPTURES
from .options import PCAP
from .piece_order import Loose, Records, Sections, in_order

MOST_SORTED = 512  # pieces that are put in order by their times; more are by their names
Reader = PcapReader | PcapngReader


class Piece(NamedTuple):
    """A file, its size in bytes, and when it was changed, in nanoseconds since 1970."""

    path: str
    size: int
    changed: int = 0


class Pieces:
    """Files one after the other, read as one."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces: tuple[Piece, ...] = tuple(pieces)
        self.stops: list[int] = list(accumulate(piece.size for piece in pieces))
        self._place = 0
        self._open: tuple[int, BinaryIO] | None = None

    def __enter__(self) -> BinaryIO:
        return cast(BinaryIO, self)

    def __exit__(self, *_: object) -> None:
        if self._open is not None:
            self._open[1].close()

    def seek(self, place: int, whence: int = SEEK_SET) -> int:
        """Move; returns where to."""
        self._place = place + (self.stops[-1] if whence == SEEK_END else 0)
        return self._place

    def read(self, count: int) -> bytes:
        """Read so many bytes, or up to the end."""
        parts = list[bytes]()
        for index, stop in enumerate(self.stops):
            if count > 0 and self._place < stop:
                stream = self._file(index)
                stream.seek(self._place - stop + self.pieces[index].size)
                parts.append(stream.read(min(count, stop - self._place)))
                self._place += len(parts[-1])
                count -= len(parts[-1])
        return b"".join(parts)

    def _file(self, index: int) -> BinaryIO:
        if self._open is None or self._open[0] != index:
            self.__exit__()
            self._open = index, open_file(self.pieces[index].path, PORTION)
        return self._open[1]


def family_of(path: str) -> str:
    """Return what the names of the pieces of one capture have in common.

    >>> family_of("/in/a.pcap.ab") == family_of("/in/a.pcap.aa"), family_of("007.pcap"), family_of("dump.bin")
    (True, '#.pcap', 'dump.bin')
    """
    return re.sub(r"(?<=\.)[a-z]{2}$|(?<=/x)[a-z]{2}$", "@", re.sub(r"\d+", "#", path))


def neighbours(paths: Sequence[str]) -> dict[str, str]:
    """Return for each file the next one whose name is of the same family, of the last one the first; nothing for files
    that are alone.

    >>> neighbours(["/in/1.pcap", "/in/2.pcap", "/in/dump"])
    {'/in/1.pcap': '/in/2.pcap', '/in/2.pcap': '/in/1.pcap', '/in/dump': ''}
    """
    families: dict[str, list[str]] = {}
    for path in paths:
        families.setdefault(family_of(path), []).append(path)
    found = dict.fromkeys(paths, "")
    for family in families.values():
        if len(family) > 1:
            found |= dict(zip(family, [*family[1:], family[0]], strict=True))
    return found


def capture_kind(head: bytes) -> str:
    """Return the kind of a capture by its first bytes; nothing if they are no header."""
    return next((kind for kind, (magics, _) in CAPTURES.items() if head[:4] in magics), "")


def pieces_of(path: str) -> tuple[Piece, ...]:
    """Return the pieces of the capture that a file is one of, in their order; nothing if it is none, or whole."""
    entries = [one for one in entries_in(path.rpartition("/")[0] or ".") if not one.is_folder and one.size]
    family = family_of(path)
    files = tuple(Piece(one.path, one.size, one.changed) for one in entries if family_of(one.path) == family)
    return next((pieces for pieces in _captures_of(files) if path in {one.path for one in pieces}), ())


@lru_cache(maxsize=64)
def _captures_of(files: tuple[Piece, ...]) -> tuple[tuple[Piece, ...], ...]:
    """Return the captures that are in pieces, of files whose names are of one family."""
    runs, loose = list[list[Piece]](), list[Piece]()
    for piece in files:
        head = head_of(piece.path, 4)
        if any(head.startswith(magic) for magic, _ in COMPRESSIONS.values()):
            continue
        if capture_kind(head):
            runs.append([piece])
        else:
            (runs[-1] if runs else loose).append(piece)
    if runs:
        runs[0] += loose
    return tuple(found for run in runs if len(run) > 1 and (found := _ordered(run)))


def _ordered(run: Sequence[Piece]) -> tuple[Piece, ...]:
    """Sort pieces, the one with the file header first; return nothing if no other piece has records."""
    first, *others = run
    if len(others) > MOST_SORTED:
        return tuple(run)
    head = head_of(first.path, PORTION)
    times = [time for piece in run if (time := _first_time(first.path, piece.path)) is not None]
    if not times:
        return ()
    kind = Records if capture_kind(head) == PCAP else Sections
    grammar = kind(head, min(times) - DAY * SECOND, max(times) + DAY * SECOND)
    loose = [_loose(number, piece) for number, piece in enumerate(run)]
    return tuple(run[number] for number in in_order(loose[0], loose[1:], grammar))


def _loose(number: int, piece: Piece) -> Loose:
    with open_file(piece.path, PORTION) as stream:
        head = stream.read(PORTION)
        stream.seek(max(0, piece.size - PORTION))
        return Loose(number, piece.changed, piece.size, head, stream.read(PORTION))


def _first_time(with_header: str, path: str) -> int | None:
    """Return the time of the first record in a piece; None if there is none."""
    reader = placed(head_of(with_header, PORTION), iter([head_of(path, PORTION)]), path, FILE_HEADER)
    if not reader.synchronise():
        return None
    packet = next((one for one in reader if isinstance(one, Packet)), None)
    return None if packet is None else packet.nanoseconds


def placed(head: bytes, portions: Any, path: str, start: int) -> Reader:
    """Return a reader in the middle of a capture.

    Args:
        head: the first bytes of the file, with its first packet.
        portions: its bytes from a place on.
        path: its name.
        start: that place.
    """
    first = CAPTURES[capture_kind(head)][1](iter([head]), path)
    next((packet for packet in first if isinstance(packet, Packet)), None)
    if isinstance(first, PcapngReader):
        blocks = PcapngReader(portions, path, start, looks_ahead=True)
        blocks.begin_section(first.order, first.interfaces)
        return blocks
    records = PcapReader(_after(head[:FILE_HEADER], portions), path, start - FILE_HEADER, looks_ahead=True)
    records.begin()
    records.note_time(first.state[-1])
    return records


def _after(head: bytes, portions: Any) -> Any:
    yield head
    yield from portions


def head_of(path: str, count: int) -> bytes:
    """Return the first bytes of a file, so many."""
    with open_file(path, count) as stream:
        return stream.read(count)
