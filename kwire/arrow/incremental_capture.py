"""Reads a growing capture range by range: connection state is kept, so that each range continues the one before.

Where that is not known, the capture is read from its start; what is said behind the place where the range begins is
given out, the same either way. Knows files again by their bytes. Decodes nothing.
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

MOST_KEPT, MOST_BYTES = 64, 64 << 20  # of replays that wait, and of their memory
Whose = tuple[str, str, int, int]


class Replay:
    """A capture, or a share of one, read from its start, one range after the other.

    Args:
        unit: a range of it.
        catalog: the specs by which requests are recognised.
        apis: what is known of frames.

    Attributes:
        place: how far it was read.
        is_new: whether what comes now is in the range that was asked for.
        waits: whether a range was read to its end, and the next may follow; behind a break, nothing is said of it.
    """

    def __init__(self, unit: Unit, catalog: Catalog, apis: Apis) -> None:
        self.whose: Whose = _whose(unit)
        self.place: int = 0
        self.is_new: bool = False
        self.waits: bool = False
        self._streams = Streams(unit.path, catalog, share=Share(unit.part, unit.parts))
        self._packets = CAPTURES[unit.kind][1](iter(()), unit.path)
        self._pairing = Pairing(apis, _to_nobody)
        self._number = 0, 0
        self._head = self._tail = b""  # of what was read

    def read(self, stream: BinaryIO, unit: Unit, sink: Sink) -> Iterator[None]:
        """Read on to the end of a range; at its end nothing is given up unless the file has ended, too.

        Args:
            stream: the file.
            unit: the range, which begins where the last one ended, or behind.
            sink: takes the rows of the range.

        Yields:
            Now and then.

        Raises:
            DumpError: nothing can be read of the capture.
        """
        assert unit.stop is not None
        streams, pairing = self._streams, self._pairing
        self.is_new, self.waits = False, False
        self._number, pairing.sink = _number_of(stream), _to_nobody
        stream.seek(self.place)
        yield from self._hear(portions_of(stream, unit.start - self.place), may_grow=True)
        self.is_new, pairing.sink = True, sink
        yield from self._hear(portions_of(stream, unit.stop - unit.start), may_grow=not unit.is_end)
        is_broken = streams.broken is not None
        self.waits = not unit.is_end and (is_broken or self.place == unit.stop)
        if unit.is_end or is_broken:
            pairing.said(streams.finish())
            yield
        pairing.sink = _to_nobody

    def _hear(self, portions: Iterator[bytes], *, may_grow: bool) -> Iterator[None]:
        """Read packets up to the end of some portions; what is not whole there waits if more may be written."""
        self._packets.cursor.portions, self._packets.may_grow = self._noted(portions), may_grow
        for batch in self._streams.hear(self._packets):
            self._pairing.said(batch)
            yield

    def _noted(self, portions: Iterator[bytes]) -> Iterator[bytes]:
        """Note by which bytes the file is known again."""
        for portion in portions:
            self.place += len(portion)
            self._head += portion[: SAMPLE - len(self._head)]
            self._tail = (self._tail + portion[-SAMPLE:])[-SAMPLE:]
            yield portion

    def goes_on(self, stream: BinaryIO, unit: Unit) -> bool:
        """Whether a range can be read on from here: it is of what was read, and of a file that is still the same."""
        if self.whose != _whose(unit) or self.place > unit.start or self._number != _number_of(stream):
            return False
        stream.seek(0)
        if stream.read(len(self._head)) != self._head:
            return False
        stream.seek(self.place - len(self._tail))
        return stream.read(len(self._tail)) == self._tail

    @property
    def weight(self) -> int:
        """About how many bytes of memory this takes."""
        return self._streams.weight + self._pairing.weight


class Replays:
    """Replays that wait for more of their files: the newest ones, as many as the memory for them allows."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Whose, int], tuple[Replay, int]] = OrderedDict()

    def take(self, stream: BinaryIO, unit: Unit) -> Replay | None:
        """Take out the replay that a range goes on with, of all that can the one that came furthest.

        It is not here while it is read: of a reading that fails or is left, nothing remains.
        """
        fit = [key for key, (replay, _) in self._kept.items() if replay.goes_on(stream, unit)]
        return self._kept.pop(max(fit, key=lambda key: key[1]))[0] if fit else None

    def keep(self, replay: Replay) -> None:
        """Keep a replay, if it waits for more and is not too large."""
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


def _to_nobody(row: Row) -> None:
    """Rows of what was given out before."""
