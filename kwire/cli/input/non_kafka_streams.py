"""Counts streams of other protocols, and damaged bytes, while a dump is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...capture.dump import Divide, Dump
from ...capture.kafka.other_protocols import ZOOKEEPER
from ...errors import DecodeError
from ...protocol import Frame
from ...protocol.frames.captured_frame import CapturedBatch
from ...protocol.frames.stream_faults import Damaged, NotKafka
from ...protocol.headers.apis import Apis
from ...render.value_text import count_text

if TYPE_CHECKING:
    from ...capture.ranges.capture_ranges import CaptureRange
    from ...capture.ranges.frame_consumer import FrameConsumer

SHOWN = 3  # damaged places that a remark lists


class NonKafkaStreams:
    """Counts the streams of other protocols, and damaged bytes, while a dump is read."""

    def __init__(self, knows_zookeeper: bool = False) -> None:
        self.knows_zookeeper: bool = knows_zookeeper
        self.connections: dict[str, set[int | None]] = {}
        self.elsewhere: Counter[str] = Counter()  # connections that other processes counted
        self.bytes: Counter[str] = Counter()
        self.hints: dict[str, str] = {}
        self.damaged: int = 0  # bytes
        self.places: list[int] = []  # the positions of the damage, in bytes from the start of the file

    def watched(self, dump: Dump) -> Dump:
        """Return a dump that counts streams of other protocols and damage while its frames are read."""
        captured = None if dump.captured is None else self._batches(dump.captured)
        divide = None if dump.divide is None else partial(self._divide, dump.divide)
        return replace(dump, frames=self._frames(dump.frames), captured=captured, divide=divide)

    def _divide(self, divide: Divide, consumer: FrameConsumer, size: int) -> Iterator[CaptureRange]:
        return divide(_WatchedConsumer(consumer, self), size)

    def _frames(self, frames: Iterator[Frame]) -> Iterator[Frame]:
        for frame in frames:
            if frame.fault is not None:
                self._look(frame.fault, frame.source.connection)
            yield frame

    def _batches(self, batches: Iterator[CapturedBatch]) -> Iterator[CapturedBatch]:
        for batch in batches:
            self.watch(batch)
            yield batch

    def watch(self, batch: CapturedBatch) -> None:
        """Count the streams of other protocols, and damage, in a batch."""
        for captured in batch.others():
            if not isinstance(captured, int) and captured.fault is not None:
                self._look(captured.fault, captured.ends.connection)

    def _look(self, fault: DecodeError, connection: int | None) -> None:
        if isinstance(fault, NotKafka):
            if not (self.knows_zookeeper and fault.found == ZOOKEEPER):
                self._add(fault, connection)
        elif isinstance(fault, Damaged):
            self.damaged += fault.count or 0
            self.places.append(fault.offset)

    def _add(self, fault: NotKafka, connection: int | None) -> None:
        name = str(fault.found)
        self.connections.setdefault(name, set()).add(connection)
        self.bytes[name] += fault.count or 0
        self.hints[name] = fault.hint

    def add(self, connections: dict[str, int], sizes: dict[str, int], hints: dict[str, str]) -> None:
        """Add the counts of another share."""
        self.elsewhere.update(connections)
        self.bytes.update(sizes)
        self.hints |= hints

    @property
    def counts(self) -> dict[str, int]:
        """The number of connections of each protocol."""
        return {name: len(self.connections.get(name, ())) + self.elsewhere[name] for name in self.hints}

    def texts(self) -> Iterator[str]:
        """Yield a line for each kind of stream that is damaged or is not Kafka's."""
        if self.places:
            first = ", ".join(map(str, self.places[:SHOWN])) + (", ..." if len(self.places) > SHOWN else "")
            yield f"{count_text(self.damaged, 'byte')} of the capture are damaged, at offset {first}: kept, not decoded"
        for name, count in self.counts.items():
            what = f"{count_text(count, 'connection')} of {name}, {count_text(self.bytes[name], 'byte')}"
            yield f"{what}: not Kafka's protocol" + (f"; {self.hints[name]}" if self.hints[name] else "")


class _WatchedConsumer:
    """A `FrameConsumer` that counts streams of other protocols while a capture is divided."""

    def __init__(self, consumer: FrameConsumer, watching: NonKafkaStreams) -> None:
        self._consumer, self._watching = consumer, watching

    @property
    def apis(self) -> Apis:
        return self._consumer.apis

    @property
    def state(self) -> Any:
        return self._consumer.state

    def go_on(self, state: Any) -> None:
        self._consumer.go_on(state)

    def pass_over(self, batch: CapturedBatch) -> None:
        self._watching.watch(batch)
        self._consumer.pass_over(batch)
