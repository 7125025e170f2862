"""Reads a growing capture range by range; connection state is kept, so that each range continues the previous one.

Without that state, the capture is read again from its start, and only the rows of the range are returned; the result is
the same. A hash of its bytes identifies the file. Decodes nothing.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from typing import BinaryIO

from ..capture.frame_extractor import Streams
from ..capture.record_cursor import portions_of
from ..capture.sharding import Share
from ..input.open import CAPTURES
from ..protocol.api_registry import Apis
from ..spec.catalog import Catalog
from .frame_rows import Pairing, Row, Sink
from .growing_files import SAMPLE
from .input_splits import Unit

MOST_KEPT, MOST_BYTES = 64, 64 << 20  # limits: number of stored replays, and their memory
Whose = tuple[str, str, int, int]


class Replay:
    """A capture, or a share of one, that is read from its start, one range after the other.

    Args:
        unit: a range of it.
        catalog: the specs that identify requests.
        apis: what is known of frames.

    Attributes:
        place: how far it was read.
        is_new: whether the current rows belong to the requested range.
        waits: whether the range was read to its end, so that the next one may follow.
    """

    def __init__(self, unit: Unit, catalog: Catalog, apis: Apis) -> None:
        self.whose: Whose = _whose(unit)
        self.place: int = 0
        self.is_new: bool = False
        self.waits: bool = False
        self._streams = Streams(unit.path, catalog, share=Share(unit.part, unit.parts))
        self._packets = CAPTURES[unit.kind][1](iter(()), unit.path)
        self._pairing = Pairing(apis, _discard)
        self._number = 0, 0
        self._head = self._tail = b""  # of the data read so far

    def read(self, stream: BinaryIO, unit: Unit, sink: Sink) -> Iterator[None]:
        """Read to the end of a range; only at the end of the file are incomplete connections ended.

        Args:
            stream: the file.
            unit: the range; it starts at or after the end of the last one.
            sink: receives the rows of the range.

        Yields:
            None, periodically, so that the caller can emit batches.

        Raises:
            DumpError: the capture cannot be read at all.
        """
        assert unit.stop is not None
        streams, pairing = self._streams, self._pairing
        self.is_new, self.waits = False, False
        self._number, pairing.sink = _number_of(stream), _discard
        stream.seek(self.place)
        yield from self._receive(portions_of(stream, unit.start - self.place), may_grow=True)
        self.is_new, pairing.sink = True, sink
        yield from self._receive(portions_of(stream, unit.stop - unit.start), may_grow=not unit.is_end)
        is_broken = streams.broken is not None
        self.waits = not unit.is_end and (is_broken or self.place == unit.stop)
        if unit.is_end or is_broken:
            pairing.add_batch(streams.finish())
            yield
        pairing.sink = _discard

    def _receive(self, portions: Iterator[bytes], *, may_grow: bool) -> Iterator[None]:
        """Process packets up to the end of the portions; incomplete data is kept if the file may grow."""
        self._packets.cursor.portions, self._packets.may_grow = self._noted(portions), may_grow
        for batch in self._streams.receive(self._packets):
            self._pairing.add_batch(batch)
            yield

    def _noted(self, portions: Iterator[bytes]) -> Iterator[bytes]:
        """Update the hash that identifies the file."""
        for portion in portions:
            self.place += len(portion)
            self._head += portion[: SAMPLE - len(self._head)]
            self._tail = (self._tail + portion[-SAMPLE:])[-SAMPLE:]
            yield portion

    def goes_on(self, stream: BinaryIO, unit: Unit) -> bool:
        """Whether a range continues from here: it belongs to the same unchanged file."""
        if self.whose != _whose(unit) or self.place > unit.start or self._number != _number_of(stream):
            return False
        stream.seek(0)
        if stream.read(len(self._head)) != self._head:
            return False
        stream.seek(self.place - len(self._tail))
        return stream.read(len(self._tail)) == self._tail

    @property
    def weight(self) -> int:
        """Estimate the memory in bytes."""
        return self._streams.weight + self._pairing.weight


class Replays:
    """Stores replays until their files grow: the newest ones, within a memory limit."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Whose, int], tuple[Replay, int]] = OrderedDict()

    def take(self, stream: BinaryIO, unit: Unit) -> Replay | None:
        """Remove and return the replay that can continue with a range; of several, the one that read furthest.

        It is not stored while it reads, so that after an error nothing remains.
        """
        fit = [key for key, (replay, _) in self._kept.items() if replay.goes_on(stream, unit)]
        return self._kept.pop(max(fit, key=lambda key: key[1]))[0] if fit else None

    def keep(self, replay: Replay) -> None:
        """Store a replay that expects more data and is not too large."""
        weight = replay.weight
        if not replay.waits or weight > MOST_BYTES:
            return
        self._kept.pop((replay.whose, replay.place), None)
        self._kept[replay.whose, replay.place] = replay, weight
        while len(self._kept) > MOST_KEPT or sum(weight for _, weight in self._kept.values()) > MOST_BYTES:
            self._kept.popitem(last=False)


def _whose(unit: Unit) -> Whose:
    return unit.path, unit.kind, unit.part, unit.parts


def _number_of(stream: BinaryIO) -> tuple[int, int]:
    status = os.fstat(stream.fileno())
    return status.st_dev, status.st_ino


def _discard(row: Row) -> None:
    """Discard rows that were returned before."""
