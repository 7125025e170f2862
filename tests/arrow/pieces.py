"""Captures cut to pieces, read in stages as Spark does, without Spark."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from struct import unpack_from
from typing import Any

import pyarrow as pa

from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.ranges.byte_ranges import ByteRange
from kwire.arrow.ranges.connection_decoder import ConnectionDecoder
from kwire.arrow.ranges.connection_windows import WHOLE, Region, Windows, windows_of
from kwire.arrow.ranges.divided_captures import neighbours
from kwire.arrow.ranges.find_boundaries import regions_of
from kwire.arrow.ranges.packet_rows import GROWN, SCHEMA
from kwire.arrow.ranges.packet_scan import scan
from kwire.arrow.read_options import Options
from kwire.arrow.streams.connection_stream import decoded_batch
from kwire.arrow.streams.raw_frame_stream import raw_batch
from kwire.schema.catalog import catalog_for

ORDER = ["capture", "connection", "kind", "first", "last", "path", "place"]
COLUMNS = ["direction", "offset", "length", "timestamp", "message", "_corrupt_record", "api_key", "correlation_id"]


def records_of(file: Path) -> list[bytes]:
    """Return the records of a pcap file of this machine's byte order."""
    data, place, records = file.read_bytes(), 24, list[bytes]()
    while place + 16 <= len(data):
        stop = place + 16 + unpack_from("<I", data, place + 8)[0]
        records.append(data[place:stop])
        place = stop
    return records


def cut_at_packets(file: Path, folder: Path, parts: int, seed: int = 1) -> list[Path]:
    """Cut a pcap file into as many, at random packets, with names in random order."""
    folder.mkdir(parents=True, exist_ok=True)
    rng, records, head = random.Random(seed), records_of(file), file.read_bytes()[:24]
    cuts = [0, *sorted(rng.sample(range(1, len(records)), parts - 1)), len(records)]
    names = rng.sample(range(1000), parts)
    pieces = []
    for name, (start, stop) in zip(names, pairwise(cuts), strict=True):
        path = folder / f"{name:03}.pcap"
        path.write_bytes(head + b"".join(records[start:stop]))
        pieces.append(path)
    return pieces


def cut_at_bytes(file: Path, folder: Path, parts: int, names: random.Random | None = None) -> list[Path]:
    """Cut a file into as many pieces of a size, as `split -b` does; names are in order, or drawn."""
    folder.mkdir(parents=True, exist_ok=True)
    data = file.read_bytes()
    size = -(-len(data) // parts)
    starts = list(range(0, len(data), size))
    numbers = names.sample(range(1000), len(starts)) if names else list(range(len(starts)))
    pieces = [folder / f"{number:03}.pcap" for number in numbers]
    for count, (piece, start) in enumerate(zip(pieces, starts, strict=True)):
        piece.write_bytes(data[start : start + size])
        os.utime(piece, ns=(count * 10**9, count * 10**9))  # written one after the other
    return pieces


def staged(files: Sequence[Path], most: int, **options: Any) -> list[dict[str, Any]]:
    """Read files as one capture: byte ranges of a size, then connections."""
    parsed = Options.parse(options)
    return decoded([batch for split in splits_of(files, most) for batch in scan(split, parsed)], **options)


def splits_of(files: Sequence[Path], most: int) -> Iterator[ByteRange]:
    """Yield the byte ranges of files of one capture."""
    near = neighbours(sorted(map(str, files)))
    for file in files:
        size = file.stat().st_size
        for start in range(0, size, most):
            yield ByteRange(str(file), start, min(size, start + most), "it", near[str(file)])


def windowed(files: Sequence[Path], most: int, **options: Any) -> tuple[list[dict[str, Any]], int]:
    """Read files as `staged` does, but long connections in windows; returns the number of cuts, too."""
    splits, sizes = list(splits_of(files, most)), {str(file): file.stat().st_size for file in files}
    regions = [Region.load(one.dump()) for split in splits for one in regions_of(split, catalog_for(), most)]
    windows = Windows.load(windows_of(regions, sizes).dump())
    batches = [batch for split in splits for batch in scan(split, windows=windows)]
    return decoded(batches, windows, **options), windows.count


def decoded(batches: Sequence[Any], windows: Windows = WHOLE, **options: Any) -> list[dict[str, Any]]:
    """Bring packets into their order, and decode them."""
    table = pa.Table.from_batches(batches, schema=SCHEMA).sort_by([(name, "ascending") for name in ORDER])
    decoder = ConnectionDecoder(BatchReader(Options.parse({"body": "raw", **options})), windows)
    rows: list[dict[str, Any]] = pa.Table.from_batches(
        decoder.read(table.to_batches(max_chunksize=7)), schema=decoder.schema
    ).to_pylist()
    return rows


class Streamed:
    """Decodes batches of packets as Spark does in a stream: with the states of connections in between.

    Attributes:
        most: the most bytes that were kept of a connection.
    """

    def __init__(self, **options: Any) -> None:
        self.reading = BatchReader(Options.parse({"body": "raw", **options}))
        self.most = 0
        self.states = dict[bytes, bytes]()

    def batch(self, batches: Iterable[Any], *, is_over: bool = False) -> list[dict[str, Any]]:
        """Decode the packets of a batch; with `is_over`, also what waits for packets."""
        found = pa.Table.from_batches(batches, schema=SCHEMA).sort_by([(name, "ascending") for name in ORDER])
        decoder, made = ConnectionDecoder(self.reading), list[Any]()
        for key in sorted({*found["connection"].to_pylist(), *(self.states if is_over else ())}):
            rows = found.filter(pa.compute.equal(found["connection"], key))
            if key.startswith((b"file ", b"frames ")):
                made += [batch.drop_columns(["capture"]) for batch in decoder.read(rows.to_batches())]
                continue
            before = self.states.pop(key, None)
            if key.startswith(GROWN):
                new, after = raw_batch(self.reading, rows, before)
            else:
                new, after = decoded_batch(self.reading, rows, key, before, is_over=is_over)
            made += new
            self.states |= {} if after is None else {key: after}
            self.most = max(self.most, len(after or b""))
        decoded: list[dict[str, Any]] = pa.Table.from_batches(made, schema=self.reading.schema).to_pylist()
        return decoded


def content(rows: Sequence[dict[str, Any]]) -> Counter[Any]:
    """Return what rows say, but for the file."""
    return Counter(
        (
            tuple((row["connection"] or {}).values()),
            *(row[name] for name in COLUMNS),
            tuple((row["_error"] or {}).values()),
        )
        for row in rows
    )
