"""Several captures or request logs in order of time: their frames are merged, and only those that overlap in time are
open at once.

Inputs without times (raw frames, hex text) and those that can be read only once (standard input, pipes) are not merged:
they stay where they are named.
"""

from __future__ import annotations

import argparse
import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from math import inf
from typing import Any, Generic, NamedTuple, TypeVar

from ...capture.dump import Dump
from ...capture.files import local_path
from ...capture.open_capture import open_packets
from ...capture.open_dump import open_dump
from ...capture.open_text import REQUEST_LOG
from ...errors import DumpError
from ...protocol import Result
from ...protocol.frames.captured_frame import SECOND, CapturedFrame
from .dumps import NamedInput, inputs_in
from .files import has_several

T = TypeVar("T")
MOST_WITHOUT_TIME = 100  # frames at the start of a request log; after that it counts as one without times


class BegunInput(NamedTuple):
    """An input, and the time of its first packet in nanoseconds since 1970; None if it is not merged."""

    begins: int | None
    named: NamedInput


def groups_in(
    options: argparse.Namespace, *, logs: bool = False, zookeeper: bool = False
) -> Iterator[list[BegunInput]]:
    """Return the groups of the inputs that the options name; for the arguments see `inputs_in`."""
    inputs = inputs_in(options, logs=logs, zookeeper=zookeeper)
    return group_inputs(inputs) if has_several(options) else ([BegunInput(None, named)] for named in inputs)


def read_groups(
    groups: Iterable[list[BegunInput]],
    all_of: Callable[[Dump], Iterator[T]],
    batches_of: Callable[[Dump], TimedBatches[T]] | None,
) -> Iterator[T]:
    """Yield what is made of the items of all inputs.

    Args:
        groups: the inputs, see `group_inputs`.
        all_of: called with a dump that is read alone.
        batches_of: called with each capture that is merged with others; None to read them one after the other.
    """
    for group in groups:
        if len(group) > 1 and batches_of is not None:
            yield from merge_by_time(group, batches_of)
            continue
        for begun in group:
            for dump in begun.named.open():
                yield from all_of(dump)


def group_inputs(inputs: Iterable[NamedInput]) -> Iterator[list[BegunInput]]:
    """Divide inputs into groups: captures that follow each other, in order of their first packets, or any other input.

    Args:
        inputs: the inputs, in the order in which they are named.
    """
    group: list[BegunInput] = []
    for named in inputs:
        begins = _first_time(named)
        if begins is not None:
            group.append(BegunInput(begins, named))
            continue
        if group:
            yield _in_order(group)
            group = []
        yield [BegunInput(None, named)]
    if group:
        yield _in_order(group)


def _in_order(group: list[BegunInput]) -> list[BegunInput]:
    return sorted(group, key=lambda begun: begun.begins or 0)


def _first_time(named: NamedInput) -> int | None:
    """Return the time of the first packet or frame of a file that can be read twice; None for other inputs."""
    path = local_path(named.file)
    if not named.is_file or named.file == "-" or (path is not None and not path.is_file()):
        return None
    with suppress(DumpError, OSError), open_packets(named.file) as packets:  # reading the input itself reports it
        packet = next(packets, None)
        return None if packet is None else packet.nanoseconds
    with suppress(DumpError, OSError), open_dump(named.file) as dump:
        if REQUEST_LOG in dump.kind:
            times = (frame.source.time for frame in islice(dump.frames, MOST_WITHOUT_TIME))
            return next((round(time * SECOND) for time in times if time is not None), None)
    return None


class TimedBatches(Generic[T]):
    """The frames of one capture, to be taken up to a time.

    Args:
        batches: lists of items, in order.
        time_of: returns the time of an item in nanoseconds since 1970; None for an item that belongs to the one before.
        consume: makes of a batch, or of a part of it, what is merged.

    Attributes:
        time: the time of the next item.
        is_done: whether there is no further item.
    """

    def __init__(
        self,
        batches: Iterator[Any],
        time_of: Callable[[Any], int | None],
        consume: Callable[[Any], Iterator[T]],
    ) -> None:
        self._batches, self._time_of, self._consume = batches, time_of, consume
        self._batch: Any = ()
        self._at = 0
        self.time = 0
        self.is_done = False
        self._begin_batch()

    def take(self, until: float) -> Iterator[T]:
        """Yield what is made of all items up to a time."""
        while not self.is_done and self.time <= until:
            yield from self._consume(self._cut(until))

    def _cut(self, until: float) -> Any:
        """Return the items up to a time that are in the current batch, and pass over them."""
        batch, start = self._batch, self._at
        if start == 0 and self._last_time() <= until:
            self._begin_batch()
            return batch
        part = type(batch)()
        for at in range(start, len(batch)):
            item = batch[at]
            time = self._time_of(item)
            if time is not None and time > until:
                self._at, self.time = at, time
                return part
            part.append(item)
        self._begin_batch()
        return part

    def _begin_batch(self) -> None:
        """Read the next batch that is not empty."""
        self._at = 0
        for batch in self._batches:
            if len(batch):
                self._batch = batch
                first = next((time for time in map(self._time_of, batch) if time is not None), None)
                self.time = self.time if first is None else first
                return
        self.is_done = True

    def _last_time(self) -> int:
        for at in range(len(self._batch) - 1, -1, -1):
            time = self._time_of(self._batch[at])
            if time is not None:
                return time
        return self.time


def merge_by_time(group: list[BegunInput], batches_of: Callable[[Dump], TimedBatches[T]]) -> Iterator[T]:
    """Yield what is made of the frames of captures, in order of time. A capture is opened when its first packet is due.

    Args:
        group: captures, in order of their first packets.
        batches_of: called with each capture once it is open.
    """
    waiting = deque(group)
    opened: list[tuple[float, int, TimedBatches[T], Iterator[Dump]]] = []
    while waiting or opened:
        next_begin = _time_of_begin(waiting)
        if not opened or next_begin <= opened[0][0]:
            dumps = waiting.popleft().named.open()
            for dump in dumps:
                batches = batches_of(dump)
                heapq.heappush(opened, (batches.time, len(group) - len(waiting), batches, dumps))
                break
            continue
        _, number, batches, dumps = heapq.heappop(opened)
        yield from batches.take(min(next_begin, opened[0][0] if opened else inf))
        if batches.is_done:
            deque(dumps, maxlen=0)  # closes the capture, with its remarks
        else:
            heapq.heappush(opened, (batches.time, number, batches, dumps))


def _time_of_begin(waiting: deque[BegunInput]) -> float:
    begins = waiting[0].begins if waiting else None
    return inf if begins is None else begins


def captured_time(captured: CapturedFrame | int) -> int | None:
    """Return the time of a captured frame; None for the end of a connection."""
    return None if isinstance(captured, int) else captured.nanoseconds


def item_time(item: object) -> int | None:
    """Return the time of a decoded frame in nanoseconds since 1970; None for others."""
    time = item.frame.source.time if isinstance(item, Result) else None
    return None if time is None else round(time * SECOND)
