"""Log directories in memory that outlast the cluster that wrote them, for tests to damage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from random import Random
from typing import Any

from kwire.broker import MemoryDisk, Node, ServedCluster, Settings
from kwire.broker.log.batch_recovery import LogDamage, StoredBatch, read_batches


class Segments:
    """A store of segments, each a bytearray by its first offset."""

    def __init__(self, files: dict[int, bytearray], segment_bytes: int) -> None:
        self.files, self.segment_bytes, self.flushed = files, segment_bytes, 0

    def append(self, data: bytes, base_offset: int) -> Any:
        last = max(self.files, default=-1)
        if last < 0 or len(self.files[last]) + len(data) > self.segment_bytes:
            last = base_offset
        elif not self.files[last]:
            self.files.pop(last)
            last = base_offset
        file = self.files.setdefault(last, bytearray())
        file += data
        return last, len(file) - len(data), len(data)

    def read(self, places: Sequence[Any]) -> bytes:
        return b"".join(bytes(self.files[segment][at : at + size]) for segment, at, size in places)

    def batches(self) -> Iterator[StoredBatch | LogDamage]:
        if not self.files:
            yield LogDamage("no segment is there")
        for start, file in sorted(self.files.items()):
            at = 0
            for one in read_batches(BytesIO(bytes(file)).read, len(file)):
                if isinstance(one, LogDamage):
                    yield one
                    return
                yield StoredBatch(one, (start, at, len(one.data)), None if at else start)
                at += len(one.data)

    def size(self) -> int:
        return sum(map(len, self.files.values()))

    def drop_before(self, offset: int) -> None:
        starts = sorted(self.files)
        for start, following in pairwise(starts):
            if following <= offset:
                del self.files[start]

    def truncate(self, last: Any | None) -> None:
        segment, at, size = last or (-1, 0, 0)
        for start in [start for start in self.files if start > segment]:
            del self.files[start]
        if last is None:
            self.files[0] = bytearray()
        else:
            del self.files[segment][at + size :]

    def roll(self, base_offset: int) -> None:
        self.files.setdefault(base_offset, bytearray())

    def last_segment(self) -> int:
        return max(self.files, default=0)

    def rewrite(self, base_offset: int, batches: Sequence[bytes]) -> list[Any]:
        if not batches:
            del self.files[base_offset]
            return []
        self.files[base_offset] = bytearray()
        places = []
        for data in batches:
            places.append((base_offset, len(self.files[base_offset]), len(data)))
            self.files[base_offset] += data
        return places

    def flush(self) -> None:
        self.flushed += 1

    def close(self) -> None:
        pass


class StoredDisk(MemoryDisk):
    """A directory; `logs` are its partitions, `journals` what the cluster remembers."""

    def __init__(self, path: str, segment_bytes: int = 400) -> None:
        super().__init__(path)
        self.segment_bytes = segment_bytes
        self.logs: dict[tuple[str, int], dict[int, bytearray]] = {}
        self.journals: dict[str, dict[int, bytearray]] = {}
        self.first: dict[tuple[str, int], int] = {}

    def open(self, topic: str, index: int) -> Any:
        return Segments(self.logs.setdefault((topic, index), {0: bytearray()}), self.segment_bytes)

    def journal(self, name: str) -> Any:
        return Segments(self.journals.setdefault(name, {0: bytearray()}), 1 << 30)

    def starts(self) -> dict[tuple[str, int], int]:
        return dict(self.first)

    def keep_starts(self, starts: Mapping[tuple[str, int], int]) -> None:
        self.first = dict(starts)

    def delete(self, topic: str, index: int) -> None:
        del self.logs[topic, index]

    def set_aside(self, topic: str, index: int) -> None:
        del self.logs[topic, index]

    def partitions(self) -> Iterable[tuple[str, int]]:
        return sorted(self.logs)


def started(disks: Sequence[MemoryDisk], rng: Random | None = None) -> ServedCluster:
    """A cluster with a broker for each disk, with ids from 1 on."""
    nodes = [Node(node_id, disks=[disk]) for node_id, disk in enumerate(disks, 1)]
    return ServedCluster(nodes, Settings(), rng or Random(1))
