"""T10 of the test plan: damaged batches by the thousand. Only a DecodeError may escape, and no byte may be lost."""

from __future__ import annotations

import contextlib
import random

import pytest

from kwire.codecs.compression.compression_types import NAMES, deflate, inflate
from kwire.codecs.records import Record, RecordBatch, UndecodableRecords, parse_records
from kwire.errors import DecodeError
from tests.codecs.records.cases import all_cases, batch_around, data_of, message_around, rebuilt, with_right_crcs
from tests.conftest import spread
from tests.linear_time.effort import no_hang
from tests.seeds import TRIES, named, seeded

ROUNDS = 1000 * TRIES  # for each of the parts
ODD = (0, 1, 2, 126, 127, 128, 254, 255)
ODD_NUMBERS = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", bytes(4))


def bases() -> list[bytes]:
    data = [data_of(case) for case in all_cases()]
    return [each for each in data if 0 < len(each) < 6000]


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Change a few bytes, most of them in a header; half the time make the checksum right again."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(min(len(out), rng.choice((90, 90, 6000)))) if out else 0
        match rng.randrange(6):
            case 0 | 1:
                out[at : at + 1] = bytes([rng.choice((*ODD, rng.randrange(256)))])
            case 2:
                out[at : at + 4] = rng.choice(ODD_NUMBERS)
            case 3:
                del out[at : at + rng.choice((1, 2, 8, 6000))]
            case 4:
                out[at:at] = rng.randbytes(rng.choice((1, 2, 8)))
            case _:
                out[at : at + 8] = out[rng.randrange(len(out)) :][:8] if out else b""
    return with_right_crcs(bytes(out)) if rng.random() < 0.6 else bytes(out)


def read_strictly(data: bytes) -> None:
    for batch in parse_records(data):
        records = list(batch.records())
        if batch.compression == "none" and (batch.record_count or 0) >= 0:
            assert rebuilt(batch, records) == batch.data


def salvage(data: bytes) -> None:
    batches, kept = parse_records(data, salvage=True), []
    for batch in batches:
        kept.append(batch.data)
        if isinstance(batch, UndecodableRecords):
            assert isinstance(batch.error, DecodeError) and str(batch.error)
            continue
        records = batch.records(salvage=True)
        for item in records:
            if isinstance(item, UndecodableRecords):
                assert isinstance(item.error, DecodeError) and str(item.error)
            else:
                assert isinstance(item, Record)
        assert all(str(fault) for fault in records.faults)
    assert b"".join(kept) + batches.rest == data


@pytest.mark.fuzz
@pytest.mark.parametrize("part", spread(range(20), 3))
def test_damaged_batches_raise_decode_errors_only_and_lose_no_byte(part: int) -> None:
    rng, chosen = seeded(f"damaged batches {part}"), bases()
    for _ in range(ROUNDS):
        data = damaged(rng, rng.choice(chosen))
        with no_hang(), named(data.hex()):
            try:
                read_strictly(data)
            except DecodeError as error:
                assert str(error)
            salvage(data)


def compressed() -> list[tuple[RecordBatch, bytes]]:
    """Sound compressed batches, and what is in them."""
    found = []
    for data in bases():
        for batch in parse_records(data, salvage=True):
            if isinstance(batch, RecordBatch) and not batch.faults and batch.compression in NAMES[1:]:
                start = 61 if batch.magic == 2 else 26 + 8 * batch.magic
                inside = batch.data[start:]
                with contextlib.suppress(DecodeError):
                    found.append((batch, inflate(batch.compression, inside, magic=batch.magic).data))
    return found


def around(batch: RecordBatch, payload: bytes) -> bytes:
    """The batch with another payload, compressed in the same way."""
    value = deflate(batch.compression or "", payload, magic=batch.magic)
    if batch.magic < 2:
        return message_around(value, offset=batch.last_offset, magic=batch.magic, attributes=batch.attributes)
    return batch_around(value, count=batch.record_count or 0, attributes=batch.attributes)


@pytest.mark.fuzz
def test_damage_that_was_compressed() -> None:
    rng, chosen = seeded("compressed"), compressed()
    assert {batch.compression for batch, _ in chosen} == set(NAMES[1:])
    for _ in range(ROUNDS):
        batch, payload = rng.choice(chosen)
        data = around(batch, damaged(rng, payload))
        with named(data.hex()):
            with contextlib.suppress(DecodeError):
                read_strictly(data)
            salvage(data)


def test_every_cut_of_a_recorded_case_is_a_decode_error() -> None:
    for data in bases()[::7]:
        for stop in range(0, len(data), 1 + len(data) // 40):
            salvage(data[:stop])
            batches = parse_records(data[:stop], may_be_cut=True)
            try:
                kept = b"".join(batch.data for batch in batches)
            except DecodeError:
                continue
            assert kept + batches.rest == data[:stop]


@pytest.mark.fuzz
def test_random_bytes() -> None:
    rng = seeded("random bytes")
    for _ in range(3000 * TRIES):
        data = bytearray(rng.randbytes(rng.randrange(200)))
        if len(data) > 20:
            data[8:12] = (len(data) - 12).to_bytes(4, "big")
            data[16] = rng.randrange(4)
        salvage(with_right_crcs(bytes(data)))
