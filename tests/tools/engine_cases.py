"""What the native engine is fuzzed with, beside the reference path: run by `sanitize` in a child process."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import struct
import tempfile
import time
from collections import defaultdict
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np

import kwire
from kwire.arrow.rows.frame_rows import Pairing
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.packets.packet import Packet
from kwire.capture.packets.pcap import PcapReader
from kwire.capture.packets.pcapng import MAGIC, PcapngReader
from kwire.capture.tcp.connection_table import ReassemblyLimits
from kwire.codecs import native
from kwire.codecs.columns.column_plan import paths_in
from kwire.codecs.json_writer import to_json
from kwire.codecs.native.node_table import node_table
from kwire.errors import DumpError
from kwire.protocol.frame_kinds import decode_clean
from kwire.protocol.headers.apis import Apis
from kwire.protocol.message_summary import MessageSummary, make_body_facts
from kwire.schema.catalog import catalog_for
from tests.capture.building import enhanced, interface, section
from tests.capture.damaged_packets import damaged_capture
from tests.capture.kafka.test_gap_splitter import compare
from tests.codecs.columns.rows import expected
from tests.codecs.fallback.test_agreement import altered
from tests.codecs.native import misuse
from tests.codecs.records.damaged_batches import damaged_batches, read_one_by_one, whole
from tests.codecs.records.executions import compare_built, compare_damaged
from tests.conftest import ROOT
from tests.executions import Disagreement, fast_decoding, fast_encoding, reference_decoding, reference_encoding
from tests.golden.test_golden import CORPUS
from tests.messages.message_lists import released_pairs
from tests.messages.random_values import damaged, draw
from tests.render.captured.test_json_lines import whole_and_decoded

CAPTURES = [path.read_bytes() for path in sorted((ROOT / "fixtures/dumps").glob("*.pcap"))]
APIS = Apis(catalog_for())
LARGE = 1000  # bytes: what is larger is not cut at every byte
CHANGES = 6
# Lengths of 2 GiB, and counts: as int32, int16 and compact ones.
CLAIMS = [bytes.fromhex(text) for text in ("7fffffff", "7ffffffe", "80000000", "7fff", "ffffffff07", "ffffffff0f")]


class Case:
    """The message that is looked at, and where it is written down what is done with it: a sanitizer ends the process.

    Args:
        file: descriptor of the file that holds the last case.
        name, version: the message.
    """

    def __init__(self, file: int, name: str, version: int) -> None:
        self.file, self.title = file, f"{name} v{version}"
        self.codec = kwire.codec(name, version)
        self.schema = self.codec.schema
        self.table = native.NodeTable(*node_table(self.schema))
        self.facts = make_body_facts(self.codec)
        self.name, self.version = name, version

    def note(self, what: str, value: object) -> None:
        """Write down what comes next."""
        text = value.hex() if isinstance(value, bytes) else repr(value)
        os.pwrite(self.file, f"{self.title} {what} {text}\n".encode(errors="replace"), 0)

    def read(self, data: bytes) -> bool:
        """Compare decoding, skipping and JSON text; return whether the bytes are accepted."""
        self.note("read", data)
        wanted = reference_decoding(self.schema, data, 0)
        found = fast_decoding(self.table, data, 0)
        if repr(found) != repr(wanted):
            raise Disagreement(f"{found}, by the reference {wanted}")
        with contextlib.suppress(native.Declined):
            stop = self.table.skip_from(data, 0)
            if wanted is not None and stop != wanted[1]:
                raise Disagreement(f"skipped to {stop}, by the reference {wanted[1]}")
        try:
            text = self.table.json(data)
        except (native.Declined, UnicodeDecodeError):
            text = None
        is_whole = wanted is not None and wanted[1] == len(data)
        if wanted is not None and is_whole and text != msgspec.json.encode(to_json(self.schema, wanted[0])):
            raise Disagreement(f"JSON text {text!r}")
        if text is not None and not is_whole:
            raise Disagreement("JSON text of what the reference refuses")
        return is_whole

    def summarize(self, data: bytes) -> None:
        """Compare topics and errors of a body with those of its message."""
        self.note("summarize", data)
        found, message = None if self.facts is None else self.facts.of(data), decode_clean(self.codec, data)
        if self.facts is None:
            return
        if (found is None) != (message is None):
            raise Disagreement(f"facts {found}, by the reference {message}")
        if found is not None:
            wanted = MessageSummary().facts(self.codec, message)
            if (found[0], MessageSummary().names(found[1])) != (list(wanted.errors), wanted.topics):
                raise Disagreement(f"facts {found}, by the reference {wanted}")

    def cut(self, data: bytes) -> None:
        """Decode, skip and write JSON of a body that ends too early, at every byte."""
        for stop in range(len(data) if len(data) <= LARGE else 0):
            self.note("cut", data[:stop])
            for method in (self.table.decode, self.table.json, lambda one: self.table.skip_from(one, 0)):
                try:
                    method(data[:stop])
                except (native.Declined, UnicodeDecodeError):
                    continue
                raise Disagreement("accepted")

    def write(self, message: Any) -> None:
        """Compare encoding."""
        self.note("write", message)
        wanted, found = reference_encoding(self.schema, message), fast_encoding(self.table, message)
        if found is not None and found != wanted:
            raise Disagreement(f"{found!r}, by the reference {wanted!r}")

    def columns(self, path: str, good: list[bytes], bad: list[bytes]) -> None:
        """Compare the rows of good bodies between bad ones, of which nobody knows whether columns accept them."""
        bodies = [body for one in good for body in (one, *bad)]
        self.note(f"columns {path!r}", b"|".join(body.hex().encode() for body in bodies))
        places = range(0, len(bodies), len(bad) + 1)
        found = []
        options: dict[str, Any] = {"dictionary": len(bodies) % 2 == 1, "max_bytes": 1000}
        for batch in kwire.columns(self.name, self.version, path, **options).read(bodies):
            batch.rows.validate(full=True)
            found += [row for row in batch.rows.to_pylist() if row["body_index"] in places]
        wanted = expected(self.codec, path, good)
        numbers = dict(enumerate(places))
        for row in wanted:
            row["body_index"] = numbers[row["body_index"]]
        names = set(found[0]) if found else set()
        wanted = [{name: value for name, value in row.items() if name in names} for row in wanted]
        if repr([dict(sorted(row.items())) for row in found]) != repr([dict(sorted(row.items())) for row in wanted]):
            raise Disagreement(f"rows {found}, of messages {wanted}")


def claimed(data: bytes, rng: Random) -> bytes:
    """Return a body in which some bytes claim a length that is not there."""
    place, claim = rng.randrange(len(data) + 1), rng.choice(CLAIMS)
    return data[:place] + claim + data[place + (len(claim) if rng.random() < 0.5 else 0) :]


def golden() -> dict[tuple[str, int], list[bytes]]:
    """Return the bodies of the golden corpus, by message and version."""
    found = defaultdict(list)
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            found[case["message"], case["version"]].append(bytes.fromhex(case["hex"]))
    return found


def repeats(rng: Random) -> None:
    """Call what repeats values with rows that there are not."""
    codec = kwire.codec("MetadataResponse", 12)
    from kwire.codecs.columns.buffer_collector import BufferCollector
    from kwire.codecs.columns.column_plan import ColumnPlan

    collector = BufferCollector(codec.schema, ColumnPlan([codec.schema], "topics[].partitions[]", None))
    bodies = [codec.encode(draw(codec.schema, rng)) for _ in range(5)]
    collector.add_bodies(bodies, list(range(5)), 0)
    rows, levels, columns = collector._table.take()
    memories = [one for column in columns for one in column[1:] if one is not None] + levels
    for _ in range(100):
        start, stop = (rng.choice((-1, 0, 1, rows - 1, rows, 2**40, rng.randrange(rows + 2))) for _ in range(2))
        with contextlib.suppress(ValueError, OverflowError):
            repeat = native.Repeat(rng.choice(memories), start, stop)
            repeat.index()
            repeat.size(rng.choice(memories))
        with contextlib.suppress(ValueError, OverflowError):
            native.Repeat(levels[-1], start, stop).fixed(rng.choice(memories), rng.choice((-1, 0, 1, 4, 8, 2**31 - 1)))
        with contextlib.suppress(ValueError, OverflowError):
            native.Repeat(levels[-1], start, stop).binary(rng.choice(memories), rng.choice(memories))


def captured(data: bytes, engine: str, limits: ReassemblyLimits | None, size: int) -> list[object]:
    """Return what a capture that is read in portions of a size holds, by the engine or by the reference."""
    portions = (data[start : start + size] for start in range(0, len(data), size))
    reader = (PcapngReader if data.startswith(MAGIC) else PcapReader)(portions)
    try:
        frames = FrameExtractor("x", limits=limits, engine=engine).frames(reader)
        return [(one.data, one.source, type(one.fault), str(one.fault), one.closed) for one in frames]
    except kwire.KwireError as error:
        return [str(error)]


def frame_rows(data: bytes, rng: Random) -> None:
    """Compare the rows of a capture's frames, made by the engine, with those of the general path."""
    wanted: list[Any] = []
    found = native.FrameRows(rng.random() < 0.8)
    general, fast = Pairing(APIS, wanted.append), Pairing(APIS, found)
    with contextlib.suppress(kwire.KwireError):  # what was read before the damage is compared
        for batch in FrameExtractor("x").batches(PcapReader(iter([data]))):
            for captured in batch:
                if isinstance(captured, int):
                    general.add_batch([captured])
                else:
                    general.take(captured)
            fast.add_batch(batch)
    if not found.keeps_bytes:
        wanted = [
            row if row[8] is not None or kept[1] is not None else (row[0], None, *row[2:])
            for row, kept in zip(wanted, found, strict=True)
        ]
    if list(map(_plain, found)) != list(map(_plain, wanted)):
        raise Disagreement("the general path makes other rows")
    parts = found.parts(rng.randrange(1, 40), rng.randrange(1, 10_000))
    kept = found.take(rng.randrange(len(wanted) + 1))
    if any(
        [_plain(row) for row in rows] != list(map(_plain, wanted))
        for rows in ([row for _, part in parts for row in part], [*found, *kept])
    ):
        raise Disagreement("the parts are not the whole")
    for one in (found, kept, *(part for _, part in parts)):
        row_columns(one, list(one))


def _plain(row: Any) -> Any:
    """Return a row by value: an api that is unknown is another object each time."""
    return [*row[:5], row[5] and row[5].number, *row[6:]]


def row_columns(found: Any, wanted: list[Any]) -> None:
    """Compare the columns of rows with the rows."""
    numbers: Any
    for (bits, values), kind, field in (
        (found.offsets(), "<i8", 0),
        (found.directions(), "i1", 4),
        (found.correlation_ids(), "<i4", 6),
        (found.times(lambda now: None if now is None else now // 1000), "<i8", 2),
    ):
        numbers = np.frombuffer(values, kind).tolist()
        there = [True] * len(wanted) if bits is None else np.unpackbits(np.frombuffer(bits, "u1"), bitorder="little")
        column = [int(number) if is_there else None for number, is_there in zip(numbers, there, strict=False)]
        expected = [
            row[field] if row[field] is None else int(row[field]) // (1000 if field == 2 else 1) for row in wanted
        ]
        if column != expected:
            raise Disagreement(f"column {field}: {column}, of rows {expected}")
    for (shared, (_, index)), fields in ((found.calls(), (5, 7)), (found.ends(), (3,))):
        for row, at in zip(wanted, np.frombuffer(index, "<i4").tolist(), strict=True):
            if (row[fields[0]] if len(fields) == 1 else (row[5], row[7])) != shared[at]:
                raise Disagreement(f"shared values {shared}, of rows {wanted}")
    if sorted(found.faults()) != [at for at, row in enumerate(wanted) if row[8] is not None]:
        raise Disagreement("other faults")


def in_blocks(data: bytes, rng: Random) -> bytes:
    """Return the packets of a capture as pcapng, with any byte order and resolution of times."""
    order, (resolution, ticks) = rng.choice("<>"), rng.choice(((6, 10**6), (9, 10**9), (0x94, 1 << 20)))
    options = struct.pack(order + "HHB3x", 9, 1, resolution)
    packets = (packet for packet in PcapReader(iter([data])) if isinstance(packet, Packet))
    first = next(packets)
    out = [section(order), interface(first.link, order, options)]
    for packet in (first, *packets):
        out.append(enhanced(packet.data, (packet.nanoseconds or 0) * ticks // 10**9, 0, order, packet.length))
    return b"".join(out)


def capture(file: int, seed: int) -> None:
    """Compare a damaged capture, read by the engine and by the general path."""
    rng = Random(seed)
    os.pwrite(file, f"capture {seed}\n".encode(), 0)
    whole = rng.choice(CAPTURES)
    if rng.random() < 0.7:
        whole = damaged_capture(whole, rng).ljust(100, b"\0")
    whole = whole[: rng.randrange(24, len(whole)) + 20_000]
    data = bytearray(whole if rng.random() < 0.5 else in_blocks(whole, rng))
    for _ in range(rng.randrange(4)):
        place = rng.randrange(24, len(data))
        data[place : place + rng.choice((0, 1, 4, 40))] = rng.choice(
            (b"", rng.randbytes(1), rng.randbytes(4), b"\xff" * 4)
        )
    limits = rng.choice((None, ReassemblyLimits(waiting=3000, all_waiting=20_000, connections=4)))
    size = rng.choice((len(data), 5000, 200))
    if captured(bytes(data), "native", limits, size) != captured(bytes(data), "python", limits, size):
        raise Disagreement("the reference reads other frames")
    if not data.startswith(MAGIC):
        frame_rows(bytes(data), rng)
    lines(bytes(data))


def gaps(file: int, seed: int) -> None:
    """Compare the frames that the engine and the reference find after gaps of a connection."""
    os.pwrite(file, f"gaps {seed}\n".encode(), 0)
    compare(Random(seed))


def lines(data: bytes) -> None:
    """Compare the lines of a capture with those of decoded frames."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(DumpError):
        path = Path(folder) / "x.pcap"
        path.write_bytes(data)
        found, wanted = whole_and_decoded(path)
        if found != wanted:
            raise Disagreement(f"lines {found}, of decoded frames {wanted}")


def wrong_use(file: int, seed: int) -> None:
    """Use the engine's objects wrongly; that must not end the process."""
    os.pwrite(file, f"wrong use {seed}\n".encode(), 0)
    misuse.run_random(Random(seed))


def batch(file: int, seed: int) -> None:
    """Compare the executions of damaged and of built batches: what is whole can be read, and nothing else."""
    os.pwrite(file, f"batch {seed}\n".encode(), 0)
    compare_damaged(Random(seed), 40)
    compare_built(Random(seed), 40)
    rng = Random(seed)
    for one in damaged_batches(rng, 20):
        for salvage in (False, True):
            if whole(one, salvage) != read_one_by_one(one, salvage):
                raise Disagreement(f"whole or not: {one.data.hex()}")


def run(case: Case, bodies: list[bytes], rng: Random) -> int:
    """Run the cases of one message; return how many."""
    message = draw(case.schema, rng)
    raw = case.codec.encode(message)
    chosen = [raw, *rng.sample(bodies, min(1, len(bodies)))]
    accepted = [body for body in chosen if case.read(body)]
    if raw not in accepted:
        raise Disagreement("what was encoded is refused")
    case.cut(raw)
    changed = [
        claimed(body, rng) if index % 3 == 0 else damaged(body, rng) for body in chosen for index in range(CHANGES)
    ]
    for body in changed:
        case.read(body)
    for body in (*chosen, *changed):
        case.summarize(body)
    for _ in range(CHANGES):
        case.write(altered(case.schema, message, rng))
    for path in rng.sample(paths := ["", *paths_in([case.schema])], min(2, len(paths))):
        case.columns(path, [*accepted, raw, raw], rng.sample(changed, 3))
    return len(chosen) * (CHANGES + 1) + CHANGES + min(len(raw), LARGE) + 2


def main(seed: int, seconds: float, file: str) -> None:
    """Run cases of all messages in turn, until the time is up."""
    until = time.monotonic() + seconds
    rng, bodies = Random(seed), golden()
    pairs = rng.sample(released_pairs(), len(released_pairs()))
    cases, messages = 0, 0
    descriptor = os.open(file, os.O_WRONLY)
    repeats(rng)
    signal.signal(signal.SIGVTALRM, misuse.stop)
    for name, use in misuse.CASES.items():
        os.pwrite(descriptor, f"{name}\n".encode(), 0)
        use()
    for pair in cycle(pairs):
        if time.monotonic() > until:
            break
        if messages % 20 == 0:
            capture(descriptor, rng.getrandbits(64))
            gaps(descriptor, rng.getrandbits(64))
            batch(descriptor, rng.getrandbits(64))
        if messages % 100 == 0:
            wrong_use(descriptor, rng.getrandbits(64))
        cases += run(Case(descriptor, *pair), bodies[pair], rng)
        messages += 1
    print(f"== {cases:,} cases of {min(messages, len(pairs))} messages and versions, no disagreement", flush=True)
