"""The frames of a dump as headers and positions, so that a million frames fit into memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import isnan, nan
from tempfile import TemporaryFile
from threading import Lock
from typing import Any

from ...errors import DecodeError
from ...protocol import Frame, FrameDecoder, Result, Source
from ...protocol.frames.captured_frame import SECOND, WHOLE_FILE, CapturedBatch, CapturedFrame
from ...protocol.headers.header import Header
from ...protocol.results import seconds_between
from ...redact.masking import mask
from ...render.response_link import link_of
from ...schema.catalog import Catalog

NOTHING = 0xFFFFFFFF  # no partner; every dump has fewer frames
OTHER = -1  # the api key of a frame whose header was not recognised
MOST_IN_FLIGHT = 1 << 16  # requests in flight of all connections together
Ends = tuple[str | None, str | None, int | None]


class FrameIndex:
    """The frames of a dump.

    One thread adds frames, and another may read them. Use the index in a `with` block, whose end removes the stored
    bytes.

    Args:
        catalog: the specs.
        sealed: whether to mask secrets in results.
    """

    def __init__(self, catalog: Catalog, *, sealed: bool = True) -> None:
        self.catalog: Catalog = catalog
        self.sealed: bool = sealed
        self._decoder = FrameDecoder(catalog)
        self._bytes = TemporaryFile()  # noqa: SIM115 (closed with the index)
        self._end, self._lock = 0, Lock()
        self._offsets, self._sizes = array("Q"), array("I")
        self._times, self._latencies = array("d"), array("d")
        self._apis, self._directions = array("h"), array("b")  # -1 where unknown; 1 request, 0 response
        self._partners, self._ends, self._places = array("I"), array("I"), array("q")
        self._known_ends: dict[Ends, int] = {}
        self._all_ends: list[Ends] = []
        self._faults: dict[int, DecodeError] = {}
        self._more: dict[int, tuple[Any, ...]] = {}  # frames whose container declares their message
        self._waiting: dict[int, tuple[Header, int]] = {}
        self._ends_of: dict[int, int] = {}  # connection of the dump -> its index in `_all_ends`
        self.result: Callable[[int], Result] = lru_cache(maxsize=512)(self._result)

    def __enter__(self) -> FrameIndex:
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the stored bytes."""
        with self._lock:
            self._bytes.close()

    def __len__(self) -> int:
        """The number of frames read so far."""
        return len(self._partners)

    def add(self, frame: Frame) -> None:
        """Add the next frame of the dump."""
        _, header = self._decoder.connections.receive(frame)
        number, source = len(self), frame.source
        with self._lock:
            self._bytes.seek(self._end)
            self._bytes.write(frame.data)
        self._offsets.append(self._end)
        self._sizes.append(len(frame.data))
        self._end += len(frame.data)
        self._times.append(nan if source.time is None else source.time)
        self._places.append(-1 if source.offset is None else source.offset)
        self._ends.append(self._end_of((source.client, source.broker, source.connection)))
        if frame.fault is not None:
            self._faults[number] = frame.fault
        if frame.message is not None or frame.bare or frame.profile:
            self._more[number] = frame.message, frame.version, frame.bare, frame.profile
        self._pair(header, number, source.time)

    def begin(self) -> None:
        """Start another dump, whose connections are numbered separately."""
        self._decoder = FrameDecoder(self.catalog)
        self._waiting.clear()
        self._ends_of.clear()

    def add_batch(self, batch: CapturedBatch) -> None:
        """Add a batch of captured frames: like `add`, but fast enough for a million frames."""
        data = b"".join([captured.data for captured in batch if not isinstance(captured, int)])
        with self._lock:
            self._bytes.seek(self._end)
            self._bytes.write(data)
        for captured in batch:
            if isinstance(captured, int):
                self._decoder.connections.forget(captured)
                self._ends_of.pop(captured, None)
            else:
                self._add_captured(captured)

    def _add_captured(self, captured: CapturedFrame) -> None:
        ends, is_request, offset, now, data, fault, *_ = captured
        header = self._decoder.connections.of(ends).pair(captured)
        number, size, of_file = len(self._partners), len(data), ends is WHOLE_FILE
        latency = partner = None
        if is_request:
            header.number(number)
        elif now is not None:
            latency, partner = link_of(header, now)
        self._offsets.append(self._end)
        self._sizes.append(size)
        self._end += size
        self._times.append(nan if now is None else now / SECOND)
        self._places.append(-1 if of_file and not data else offset)
        end = self._ends_of.get(ends.connection)
        if end is None:
            known = (None, None, None) if of_file else (ends.client, ends.broker, ends.connection)
            end = self._ends_of[ends.connection] = self._end_of(known)
        self._ends.append(end)
        if fault is not None:
            self._faults[number] = fault
        self._latencies.append(nan if latency is None else latency)
        self._apis.append(OTHER if header.problem or header.call is None else header.call.api.key or 0)
        self._directions.append(-1 if of_file else is_request)
        if partner is not None:
            self._partners[partner] = number
        self._partners.append(NOTHING if partner is None else partner)  # the last column: now the frame counts

    def _end_of(self, ends: Ends) -> int:
        number = self._known_ends.get(ends)
        if number is None:
            number = self._known_ends[ends] = len(self._all_ends)
            self._all_ends.append(ends)
        return number

    def _pair(self, header: Header, number: int, time: float | None) -> None:
        """Record the partner of a request or response."""
        key = None if header.problem or header.call is None else header.call.api.key
        request = None if header.request is None else self._waiting.pop(id(header.request), None)
        partner = NOTHING if request is None else request[1]
        if partner != NOTHING:
            self._partners[partner] = number
        asked_at = None if partner == NOTHING else self._times[partner]
        latency = seconds_between(asked_at, time)
        self._latencies.append(nan if latency is None else latency)
        self._apis.append(OTHER if key is None else key)
        self._directions.append(-1 if header.is_request is None else int(header.is_request))
        if header.is_request:
            self._waiting[id(header)] = header, number
            if len(self._waiting) > MOST_IN_FLIGHT:
                del self._waiting[next(iter(self._waiting))]
        self._partners.append(partner)  # the last column: now the frame counts

    def frame(self, number: int) -> Frame:
        """Return a frame of the dump by its number."""
        with self._lock:
            self._bytes.seek(self._offsets[number])
            data = self._bytes.read(self._sizes[number])
        client, broker, connection = self._all_ends[self._ends[number]]
        time, offset = self._times[number], self._places[number]
        known = None if client is None else {1: "request", 0: "response"}.get(self._directions[number])
        source = Source(
            frame=number,
            offset=None if offset < 0 else offset,
            time=None if isnan(time) else time,
            client=client,
            broker=broker,
            connection=connection,
            direction=known,
        )
        message, version, bare, profile = self._more.get(number, (None, None, False, None))
        return Frame(data, source, message, version, bare, profile, self._faults.get(number))

    def _result(self, number: int) -> Result:
        """Decode a frame with its spans, a response after its request; secrets are masked if the index is sealed."""
        decoder = FrameDecoder(self.catalog, trace=True)
        partner = self.partner(number)
        if partner is not None and partner < number:
            decoder.decode(self.frame(partner))
        result = decoder.decode(self.frame(number))
        return mask(result) if self.sealed else result

    def partner(self, number: int) -> int | None:
        """Return the number of the response to a request, or of the request of a response; None if it has none."""
        partner = self._partners[number]
        return None if partner == NOTHING else partner

    def latency(self, number: int) -> float | None:
        """Return the seconds between a request and its response, given either; None if unknown."""
        partner = self.partner(number)
        return self._latency_at(number if partner is None else max(number, partner))

    def connection(self, number: int) -> int:
        """Return the key of a frame's connection."""
        return self._ends[number]

    def by_latency(self, numbers: Sequence[int]) -> Sequence[int]:
        """Return frames sorted by latency, the slowest response first; frames without a latency come last."""
        return array("I", sorted(numbers, key=lambda number: -(self._latency_at(number) or -1.0)))

    def _latency_at(self, number: int) -> float | None:
        return None if isnan(self._latencies[number]) else self._latencies[number]

    def may_hold(self, number: int, wanted: Callable[[int, bool], bool]) -> bool:
        """Return whether a filter on api key and direction accepts a frame; unrecognised frames are always accepted."""
        key, direction = self._apis[number], self._directions[number]
        return key == OTHER or direction < 0 or wanted(key, bool(direction))

    def numbers(self, start: int) -> Iterator[int]:
        """Yield the numbers of all frames read so far, beginning with `start`."""
        yield from range(start, len(self))
