"""Records by each execution: the native engine, Python's fast path, and the layouts, which explain what is wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from random import Random
from typing import Any

from kwire.codecs import native
from kwire.codecs.compression.compression_types import NAMES, deflate
from kwire.codecs.records import Record, RecordBatch, RecordHeader, UndecodableRecords, build_batch, parse_records
from kwire.codecs.records.python_cursors import RecordCursor
from kwire.codecs.records.record_iterator import GeneralPath
from kwire.errors import DecodeError, EncodeError
from tests.codecs.records.cases import message_around, with_right_crcs
from tests.codecs.records.damaged_batches import damaged_batches, drawn_batch
from tests.executions import Disagreement
from tests.messages.random_values import damaged

ENGINE = native.ENGINE  # which tests change
LIMIT = 100_000


class PythonRecords(GeneralPath, RecordCursor):
    """Records read by Python's fast path."""


@contextlib.contextmanager
def without_native_records() -> Iterator[None]:
    """Leave all records to the layouts."""
    if not native.AVAILABLE:
        yield
        return
    native.use_records()
    try:
        yield
    finally:
        if ENGINE == "native":
            native.use_records(Record, RecordBatch, RecordHeader)


def told_error(error: DecodeError | EncodeError) -> tuple[Any, ...]:
    """Return what an error says, and the bytes that it keeps."""
    facts = [(name, getattr(error, name, None)) for name in ("offset", "inflated_offset", "path", "rest", "raw")]
    return type(error).__name__, str(error), *facts, [str(fault) for fault in getattr(error, "faults", None) or ()]


def told_item(item: Any) -> Any:
    """Return a record, a batch or undecodable bytes so that they can be compared, with the types of its values."""
    if isinstance(item, UndecodableRecords):
        return item.data, told_error(item.error)
    if isinstance(item, RecordBatch):
        return repr([getattr(item, name) for name in item.__struct_fields__[:-1]]), [*map(told_error, item.faults)]
    return repr(item)


def told_all(items: Any) -> list[Any]:
    """Return all items of an iterator, its faults, and the error that ends it."""
    told: list[Any] = []
    for _ in range(2):  # also after the end, or an error
        try:
            for item in items:
                told.append(told_item(item))
        except DecodeError as error:
            told.append(told_error(error))
    return [told, [told_error(fault) for fault in items.faults], getattr(items, "rest", None)]


def compare_records(batch: RecordBatch, salvage: bool) -> int:
    """Compare the records of a batch by each execution; return how many items there are."""
    fast = told_all(batch.records(salvage=salvage, limit=LIMIT))
    python = told_all(PythonRecords(batch, salvage, LIMIT))
    with without_native_records():
        reference = told_all(batch.records(salvage=salvage, limit=LIMIT))
    if fast != reference or python != reference:
        raise Disagreement(f"{batch.data.hex()}: {fast}, by Python {python}, by the layouts {reference}")
    return len(reference[0])


def compare_batches(data: bytes, **options: bool) -> list[RecordBatch]:
    """Compare the batches in some bytes by the engine and by the layouts; return them."""
    fast = told_all(parse_records(data, **options))
    with without_native_records():
        reference = told_all(parse_records(data, **options))
    if fast != reference:
        raise Disagreement(f"{data.hex()} {options}: {fast}, by the layouts {reference}")
    batches: list[RecordBatch] = []
    with contextlib.suppress(DecodeError):
        batches.extend(batch for batch in parse_records(data, **options) if isinstance(batch, RecordBatch))
    return batches


def compare_building(records: list[Any], **options: Any) -> bytes | None:
    """Compare the bytes, or the error, of records built by the engine and by the layouts."""

    def build() -> Any:
        try:
            return build_batch(records, **options)
        except EncodeError as error:
            return told_error(error)

    fast = build()
    with without_native_records():
        reference = build()
    if fast != reference:
        raise Disagreement(f"{records} {options}: {fast!r}, by the layouts {reference!r}")
    return fast if isinstance(fast, bytes) else None


def drawn_message_set(rng: Random) -> bytes:
    """Return messages of magic 0 or 1; or one around others, which may be damaged."""
    magic, codec = rng.randrange(2), rng.choice((0, 1, 2, 3))
    records = [
        Record(
            rng.choice((0, 7, 2**40)) + index,
            rng.choice((-1, 5, 2**41)) if magic else -1,
            rng.choice((None, b"", b"key")),
            rng.choice((None, b"", b"value", rng.randbytes(70))),
            attributes=rng.choice((0, 0, 8, 16)),
        )
        for index in range(rng.randrange(1, 4))
    ]
    options: Any = {"timestamp_type": "LogAppendTime"} if magic and rng.random() < 0.3 else {}
    if rng.random() < 0.4:
        return build_batch(records, magic=magic, compression=NAMES[codec], **options)
    messages = build_batch(records, magic=magic)
    inner = damaged(messages, rng) if rng.random() < 0.7 else messages
    value = deflate(NAMES[codec or 1], with_right_crcs(inner) if rng.random() < 0.5 else inner, magic=magic)
    attributes = (codec or 1) | rng.choice((0, 8))
    return message_around(value, offset=rng.choice((0, 3, 9, 2**62)), magic=magic, attributes=attributes)


def compare_damaged(rng: Random, count: int) -> int:
    """Compare all executions over drawn batches, most of them damaged; return how many items were read."""
    items = 0
    for batch in damaged_batches(rng, count):
        items += compare_records(batch, salvage=rng.random() < 0.5)
    for _ in range(count):
        data = b"".join(rng.choice((drawn_batch, drawn_message_set))(rng) for _ in range(rng.randrange(1, 4)))
        if rng.random() < 0.6:
            data = damaged(data, rng)
            data = with_right_crcs(data) if rng.random() < 0.7 else data
        options = {name: rng.random() < 0.5 for name in ("salvage", "may_be_cut", "check_crcs")}
        for batch in compare_batches(data, **options):
            items += compare_records(batch, options["salvage"])
    return items


ODD_NUMBERS = True, 2**63, -(2**63), 2**63 - 1, 2**31, -(2**31) - 1, 2**70, 1.5, 128, -129
ODD = *ODD_NUMBERS, None, "text", b"b", bytearray(b"x")


def drawn_records(rng: Random) -> list[Any]:
    """Return records of which some have odd values."""
    records: list[Any] = []
    for index in range(rng.randrange(5)):
        headers: Any = tuple(
            rng.choice((RecordHeader("n\u00e4me", b"1"), RecordHeader("", None), ("h", b"x" * 200), ["h", None]))
            for _ in range(rng.randrange(3))
        )
        values = [
            index,
            rng.choice((5, -1, 2**40)),
            rng.choice((None, b"k")),
            rng.choice((None, b"", b"v" * 300)),
            headers,
        ]
        values += [rng.choice((0, 0, -128, 127)), rng.choice((None, None, 6))]
        if rng.random() < 0.15:
            values[rng.randrange(7)] = rng.choice((*ODD, (("\ud800", b""),), ((1, b""),), (("a", "b"),), [("a", b"")]))
        records.append(Record(*values) if rng.random() < 0.98 else rng.choice(ODD))
    return records


def compare_built(rng: Random, count: int) -> int:
    """Compare both executions over drawn records; return how many batches were built."""
    built = 0
    for _ in range(count):
        magic = rng.choice((2, 2, 1, 0))
        options: dict[str, Any] = {"magic": magic, "compression": rng.choice(NAMES[: 5 if magic == 2 else 4])}
        records = drawn_records(rng)
        if magic < 2 and rng.random() < 0.9:
            times = {} if magic else {"timestamp": -1}
            plain = [record for record in records if type(record) is Record]
            records = [Record(record.offset, times.get("timestamp", record.timestamp), record.key) for record in plain]
        numbers = ("base_offset", "last_offset", "base_timestamp", "max_timestamp", "attributes", "delete_horizon")
        for name in numbers:
            if rng.random() < 0.1:
                options[name] = rng.choice((0, 1, -1, 2**62, -(2**63), 200, *ODD))
        if rng.random() < 0.2:
            options["timestamp_type"] = "LogAppendTime"
        built += compare_building(records, **options) is not None
    return built
