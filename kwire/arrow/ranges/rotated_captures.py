"""Captures whose files follow each other in time, as those of one sniffer with `tcpdump -C` or `-G` do.

Their connections continue from file to file. Files of several sniffers overlap in time: they are no such capture, and
neither are compressed files or the pieces of `split -b`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from ...capture.files import open_file
from ...capture.packets.capture_formats import CAPTURES
from ...capture.packets.packet import Packet
from ...errors import DumpError, without_password
from ..find_files import InputFile, capture_of
from ..read_options import AUTO, PCAP, Options
from .capture_readers import Reader, capture_kind, read_from_middle

EDGE = 128 << 10  # bytes at both ends of a file, in which its first and last packets are sought


class FileSpan(NamedTuple):
    """A capture file and the times of its first and last packets, in nanoseconds since 1970.

    The times are None if the file is not an uncompressed capture with packets that have times.
    """

    file: InputFile
    first: int | None = None
    last: int | None = None


class RotatedCapture(NamedTuple):
    """A capture of one sniffer: its name, and its files in order of time."""

    name: str
    files: tuple[InputFile, ...]

    @property
    def weight(self) -> int:
        """The size of all files in bytes."""
        return sum(file.size for file in self.files)


def span_of(file: InputFile, options: Options) -> FileSpan:
    """Return when the packets of a file were captured, from its first and last bytes.

    Raises:
        OSError: the file cannot be read.
    """
    span = FileSpan(file)
    if options.dump_format not in (AUTO, PCAP):
        return span
    with open_file(file.path, EDGE) as stream:
        head = stream.read(EDGE)
        if not capture_kind(head):
            return span
        stream.seek(max(0, file.size - EDGE))
        tail = stream.read(EDGE)
    with suppress(DumpError):
        times = _times_in(CAPTURES[capture_kind(head)][1](iter([head]), file.path, looks_ahead=True))
        first = next(times, None)
        if file.size > EDGE:
            reader = read_from_middle(head, iter([tail]), file.path, file.size - len(tail))
            times = _times_in(reader) if reader.synchronise() else iter(())
            last = max(times, default=None)
        else:
            last = max(times, default=first)
        if first is not None and last is not None:
            return span._replace(first=first, last=last)
    return span


def _times_in(reader: Reader) -> Iterator[int]:
    for packet in reader:
        if isinstance(packet, Packet) and packet.nanoseconds is not None:
            yield packet.nanoseconds


def find_rotated(spans: Sequence[FileSpan], pattern: str) -> tuple[list[RotatedCapture], list[InputFile]]:
    """Return the captures whose files follow each other in time, and all files that belong to none.

    Args:
        spans: the files.
        pattern: the option `capture`.

    Raises:
        BadOption: the pattern does not match a path.
    """
    by_capture: dict[str, list[FileSpan]] = {}
    for span in spans:
        by_capture.setdefault(capture_of(without_password(span.file.path), pattern), []).append(span)
    captures, others = list[RotatedCapture](), list[InputFile]()
    for name, files in by_capture.items():
        ordered = _in_order(files)
        if ordered:
            captures.append(RotatedCapture(name, ordered))
        else:
            others += [span.file for span in files]
    return captures, others


def _in_order(spans: Sequence[FileSpan]) -> tuple[InputFile, ...]:
    """Return files in order of time; an empty tuple if they overlap, or some are not captures."""
    known = [span for span in spans if span.first is not None]
    times = sorted((span.first or 0, span.last or 0, span.file) for span in known)
    if len(times) < len(spans):
        return ()
    for (first, last, _), (following, _, _) in pairwise(times):
        if last > following or first == following:
            return ()
    return tuple(file for _, _, file in times)
