"""`records` and `record_batches`: strategies of records, and of the bytes of batches with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from ...codecs.records import Record, RecordHeader, build_batch
from .tree_values import TEXT

LARGEST = 2**62  # of offsets and timestamps; sums of two have room in 64 bits
BYTES = st.none() | st.binary(max_size=30)
HEADERS = st.lists(st.builds(RecordHeader, TEXT, BYTES), max_size=3).map(tuple)
OFFSET_DELTAS = st.integers(0, 2**31 - 1)


class DrawnBatch(NamedTuple):
    """A drawn batch, or a message set of magic 0 and 1: its bytes, and the records in it."""

    data: bytes
    records: tuple[Record, ...]


def records(magic: int = 2, *, base_offset: int = 0) -> st.SearchStrategy[Record]:
    """Return a strategy of records: with or without key, value, headers and timestamp.

    Args:
        magic: the version of the format: 0, 1 or 2. Only 2 has headers, and 0 has no timestamps.
        base_offset: the least offset; there are 2,147,483,648 from it on, as many as a batch can hold.

    >>> import kwire
    >>> from hypothesis import given
    >>> @given(records(0))
    ... def test_a_record_of_magic_0(record):
    ...     assert (record.timestamp, record.headers) == (-1, ())
    >>> test_a_record_of_magic_0()
    """
    return st.builds(
        Record,
        OFFSET_DELTAS.map(lambda delta: base_offset + delta),
        st.integers(-1, LARGEST) if magic else st.just(-1),
        BYTES,
        BYTES,
        HEADERS if magic == 2 else st.just(()),
    )


@st.composite
def record_batches(
    draw: st.DrawFn,
    *,
    magic: int = 2,
    compressions: Sequence[str] = ("none", "gzip"),
    min_size: int = 1,
    max_size: int = 6,
) -> DrawnBatch:
    """Return a strategy of batches, as fields `records` of Produce and Fetch have them.

    Args:
        magic: 2 for a batch; 0 or 1 for a message set.
        compressions: what is drawn from: `none`, `gzip`, and with the extra `compression` `snappy`, `lz4` and `zstd`.
        min_size, max_size: bounds of the number of records.

    Returns:
        A strategy of `DrawnBatch`. Offsets rise. Producer id, epochs, sequence and transactions are drawn for magic 2;
        control batches are not.

    Raises:
        MissingExtra: a compression needs a library that is not installed.
        EncodeError: the magic does not exist, or does not have a compression.

    >>> import kwire
    >>> from hypothesis import given
    >>> @given(record_batches())
    ... def test_the_records_of_a_batch(drawn):
    ...     [batch] = kwire.parse_records(drawn.data)
    ...     assert tuple(batch.records()) == drawn.records
    >>> test_the_records_of_a_batch()
    """
    base_offset = draw(st.integers(0, LARGEST))
    options: dict[str, Any] = draw(_headers()) | {"base_offset": base_offset} if magic == 2 else {}
    ordered = draw(
        st.lists(records(magic, base_offset=base_offset), min_size=min_size, max_size=max_size, unique_by=_offset_of)
        .map(lambda drawn: sorted(drawn, key=_offset_of))
        .map(tuple)
    )
    compression = draw(st.sampled_from(compressions))
    return DrawnBatch(build_batch(ordered, magic=magic, compression=compression, **options), ordered)


def _offset_of(record: Record) -> int:
    return record.offset


def _headers() -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of the fields in the header of a batch of magic 2, which has a producer id or none."""
    epochs = st.integers(0, 2**31 - 1)
    common = {"partition_leader_epoch": st.just(-1) | epochs}
    of_producers = {
        "producer_id": st.integers(0, LARGEST),
        "producer_epoch": st.integers(0, 2**15 - 1),
        "base_sequence": st.integers(0, 2**31 - 1),
        "is_transactional": st.booleans(),
    }
    return st.fixed_dictionaries(common) | st.fixed_dictionaries(common | of_producers)
