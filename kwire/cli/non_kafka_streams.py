"""Collects the remarks about non-Kafka streams and damaged bytes, so that each is printed once per input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ..errors import DecodeError
from ..input import Dump
from ..protocol import Frame
from ..protocol.captured_frame import CapturedBatch
from ..protocol.fragments import Damaged, NotKafka
from ..render.values import count_text

SHOWN = 3  # places of damage


class NonKafkaStreams:
    """Counts the streams of other protocols, and damaged bytes, while a dump is read."""

    def __init__(self) -> None:
        self.connections: dict[str, set[int | None]] = {}
        self.elsewhere: Counter[str] = Counter()  # connections of other shares
        self.bytes: Counter[str] = Counter()
        self.hints: dict[str, str] = {}
        self.damaged: int = 0  # bytes
        self.places: list[int] = []  # where they lie, in bytes from the start of the file

    def watched(self, dump: Dump) -> Dump:
        """Return the same dump; what is read of it is looked at."""
        said = None if dump.captured is None else self._batches(dump.captured)
        return replace(dump, frames=self._frames(dump.frames), captured=said)

    def _frames(self, frames: Iterator[Frame]) -> Iterator[Frame]:
        for frame in frames:
            if frame.fault is not None:
                self._look(frame.fault, frame.source.connection)
            yield frame

    def _batches(self, batches: Iterator[CapturedBatch]) -> Iterator[CapturedBatch]:
        for batch in batches:
            for said in batch:
                if type(said) is tuple and said[5] is not None:
                    self._look(said[5], said[0].connection)
            yield batch

    def _look(self, fault: DecodeError, connection: int | None) -> None:
        if isinstance(fault, NotKafka):
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
        """Add those of another share."""
        self.elsewhere.update(connections)
        self.bytes.update(sizes)
        self.hints |= hints

    @property
    def counts(self) -> dict[str, int]:
        """How many connections there are of each protocol."""
        return {name: len(self.connections.get(name, ())) + self.elsewhere[name] for name in self.hints}

    def texts(self) -> Iterator[str]:
        """Yield what was there that is not Kafka's, or damaged."""
        if self.places:
            first = ", ".join(map(str, self.places[:SHOWN])) + (", ..." if len(self.places) > SHOWN else "")
            yield f"{count_text(self.damaged, 'byte')} of the capture are damaged, at offset {first}: kept, not decoded"
        for name, count in self.counts.items():
            what = f"{count_text(count, 'connection')} of {name}, {count_text(self.bytes[name], 'byte')}"
            yield f"{what}: not Kafka's protocol" + (f"; {self.hints[name]}" if self.hints[name] else "")
