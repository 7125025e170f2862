"""Record batches: strict reading is exact, and salvage never raises and loses no byte."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from kwire.errors import DecodeError
from tests.codecs.records.cases import all_cases, data_of, with_right_crcs
from tests.codecs.records.test_hostile import read_strictly, salvage

MOST = 1000  # bytes of a batch: mutations of longer ones seldom reach their end


def fuzz_records(data: bytes) -> None:
    """Read batches as they are, and with right checksums."""
    for batches in (bytes(data), with_right_crcs(bytes(data))):
        with suppress(DecodeError):
            read_strictly(batches)
        salvage(batches)


def seeds() -> Iterator[bytes]:
    """Yield batches that Kafka wrote."""
    yield from (data for case in all_cases() if 0 < len(data := data_of(case)) <= MOST)


if __name__ == "__main__":
    from tests.fuzz.running import run

    run(fuzz_records, seeds())
