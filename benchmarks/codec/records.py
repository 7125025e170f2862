"""How fast records are read and built, beside aiokafka and kafka-python: python -m benchmarks.codec.records [--help]

All take turns in one process, in processor time. What is printed are ratios within a round: their median, and in
brackets the least and the greatest; above 1 kwire is faster. Peers that are not installed are left out (aiokafka has
an extension in C; kafka-python is Python). Before anything is timed, all must have read and built the same.

    read        bytes to a list of records, with the header of the batch and its checksum
    fields      the same, and each field of each record once
    loop        the same, but each record is dropped before the next
    build       records to the bytes of a batch that is not compressed
    whole       `RecordBatch.is_whole`, by compression, beside snappy; lz4+ has checksums of its blocks
    views       decoding a Produce request of 512 KB with its records as a view, beside a copy
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import kwire
from benchmarks.lib.rounds import Times, ratios, round_robin, short, spread, timer
from kwire import Record, build_batch, parse_records
from kwire.codecs.compression.lz4 import LZ4_BLOCK, LZ4_MAGIC, deflate_lz4, lz4_header_checksum
from kwire.codecs.compression.xxh32 import xxh32
from kwire.codecs.records.record_layouts import BATCH

PEERS = {"aiokafka": "aiokafka.record", "kafka-python": "kafka.record"}
BLOCK_CHECKSUMS = 0x10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose names hold this text")
    parser.add_argument("--counts", default="1,100,1000,10000", help="records of a batch (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--slot", type=float, default=0.1, help="seconds of a turn")
    parser.add_argument("--frozen", action="store_true", help="without the garbage collector's work on older objects")
    options = parser.parse_args()
    peers = {name: peer for name, module in PEERS.items() if (peer := find_peer(name, module)) is not None}
    rows: dict[str, dict[str, Callable[[], object]]] = {}
    for count in map(int, options.counts.split(",")):
        rows |= rows_of(count, peers)
    rows |= checks() | views()
    chosen = {name: row for name, row in rows.items() if options.only in name}
    runs = [{name: timer(call, [()], time.process_time) for name, call in row.items()} for row in chosen.values()]
    for name, times in zip(chosen, round_robin(runs, options.rounds, options.slot, frozen=options.frozen), strict=True):
        print(line(name, times), flush=True)


class Peer:
    """The records of another implementation.

    Args:
        module: its package of records.
        headers: its value for no headers.
    """

    def __init__(self, module: str, headers: Any) -> None:
        self.memory_records = import_module(f"{module}.memory_records").MemoryRecords
        self.builder = import_module(f"{module}.default_records").DefaultRecordBatchBuilder
        self.headers = headers

    def batches(self, data: bytes) -> Any:
        """Yield batches, after their checksum was compared."""
        records = self.memory_records(data)
        while records.has_next():
            batch = records.next_batch()
            if not batch.validate_crc():
                raise ValueError
            yield batch

    def build(self, records: list[Record]) -> bytes:
        """Return a batch."""
        builder = self.builder(
            magic=2,
            compression_type=0,
            is_transactional=0,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            batch_size=1 << 30,
        )
        for record in records:
            builder.append(record.offset, record.timestamp, record.key, record.value, self.headers)
        return bytes(builder.build())


def find_peer(name: str, module: str) -> Peer | None:
    """Return a peer, or None if it is not installed."""
    try:
        return Peer(module, [])
    except ImportError:
        print(f"{name} is not installed")
        return None


def drawn_records(count: int) -> list[Record]:
    """Return records with a key of 6 bytes and a value of about 55, whose timestamps ascend."""
    return [
        Record(index, 1_700_000_000_000 + 3 * index, b"key%03d" % (index % 1000), VALUE % index)
        for index in range(count)
    ]


VALUE = b'{"id": %8d, "name": "Ada Byron", "amount": 1234.5, "x": 0}'


def kwire_batches(data: bytes) -> Any:
    """Return an iterator over the records of each batch."""
    return (batch.records() for batch in parse_records(data))


def rows_of(count: int, peers: dict[str, Peer]) -> dict[str, dict[str, Callable[[], object]]]:
    """Return what is timed for batches of so many records."""
    records = drawn_records(count)
    data = build_batch(records)
    readers: dict[str, Reader] = {"kwire": kwire_batches}
    builders: dict[str, Callable[[list[Record]], bytes]] = {"kwire": build_batch}
    for name, peer in peers.items():
        readers[name], builders[name] = peer.batches, peer.build
    wanted = [(record.offset, record.timestamp, record.key, record.value) for record in records]
    for name, read in readers.items():
        found = [(one.offset, one.timestamp, one.key, one.value) for batch in read(data) for one in batch]
        assert found == wanted, name
        header = builders[name](records)
        assert header[BATCH.size :] == data[BATCH.size :], name
        assert list(next(parse_records(header)).records()) == records, name
    readings = {"read": lists_of, "fields": fields_of, "loop": loop}
    rows: dict[str, dict[str, Callable[[], object]]] = {}
    for label, use in readings.items():
        rows[f"{label} {count}"] = {name: partial(use, read, data) for name, read in readers.items()}
    return rows | {f"build {count}": {name: partial(build, records) for name, build in builders.items()}}


Reader = Callable[[bytes], Any]


def lists_of(read: Reader, data: bytes) -> list[Any]:
    """Return the records of each batch."""
    return [[*batch] for batch in read(data)]


def fields_of(read: Reader, data: bytes) -> list[Any]:
    """Return the fields of all records."""
    return [(one.offset, one.timestamp, one.key, one.value, one.headers) for batch in read(data) for one in batch]


def loop(read: Reader, data: bytes) -> None:
    """Read all records."""
    for batch in read(data):
        for _ in batch:
            pass


def checks() -> dict[str, dict[str, Callable[[], object]]]:
    """Return what is timed of `is_whole`: all compressions in one row."""
    records = drawn_records(1000)
    batches = {name: next(parse_records(build_batch(records, compression=name))) for name in COMPRESSIONS}
    batches["lz4+"] = next(parse_records(with_block_checksums(records), check_crcs=False))
    for name, batch in batches.items():
        assert batch.is_whole() and list(batch.records()) == records, name
    return {"whole 1000": {name: batch.is_whole for name, batch in batches.items()}}


COMPRESSIONS = ("snappy", "none", "gzip", "lz4", "zstd")


def with_block_checksums(records: list[Record]) -> bytes:
    """Return a batch compressed with lz4, whose frame has a checksum of each block."""
    plain = build_batch(records)
    frame = deflate_lz4(plain[BATCH.size :])
    head = bytearray(LZ4_MAGIC + bytes((frame[4] | BLOCK_CHECKSUMS, frame[5])))
    out = head + bytes([lz4_header_checksum(head, 2)])
    at = 7
    while size := int.from_bytes(frame[at : at + 4], "little") & 0x7FFFFFFF:
        assert size <= LZ4_BLOCK
        stop = at + 4 + size
        out += frame[at:stop] + xxh32(frame[at + 4 : stop]).to_bytes(4, "little")
        at = stop
    body = bytes(out) + bytes(4)
    length = (len(body) + BATCH.size - 12).to_bytes(4, "big")
    return plain[:8] + length + plain[12:22] + b"\3" + plain[23 : BATCH.size] + body


def views() -> dict[str, dict[str, Callable[[], object]]]:
    """Return what is timed of a Produce request."""
    codec: Any = kwire.codec("ProduceRequest", 9)
    message = kwire.messages.ProduceRequest
    partition = message.PartitionProduceData(index=0, records=build_batch(drawn_records(7_500)))
    topic = message.TopicProduceData(name="t", partition_data=(partition,))
    body = codec.encode(message(acks=-1, timeout_ms=1000, topic_data=(topic,)))
    assert codec.decode(body, records="view") == codec.decode(body)
    return {
        f"views {len(body)}": {"view": lambda: codec.decode(body, records="view"), "copy": lambda: codec.decode(body)}
    }


def line(name: str, times: Times) -> str:
    """Return the line of a row: microseconds of its first, and how many times longer the others took."""
    first, *others = times
    cells = [f"{other} {spread(ratios(times[other], times[first]))}" for other in others]
    return f"{name:<14}{first} {short(statistics.median(times[first]) * 1e6)} us  " + "  ".join(cells)


if __name__ == "__main__":
    main()
