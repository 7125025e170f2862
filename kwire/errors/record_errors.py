"""Errors about record batches and message sets that Kafka refuses, and kwire's limit of their size."""

from __future__ import annotations

from .decode_errors import DecodeError


class BadRecords(DecodeError):
    """Record batches, or records in them, that Kafka refuses."""


class BadBatchLength(BadRecords):
    """A length field that is smaller than a batch of its magic can be."""

    problem = "length {found}; a batch has {need} bytes at least"
    hint = "these bytes are not record batches, or do not begin at the start of one"


class BadRecordSize(BadRecords):
    """A record whose size field does not match its fields."""

    problem = "the record's size field is {found}, its fields take {have} bytes"


class BadRecordCount(BadRecords):
    """A batch whose record count is wrong; `have` is the number of records that were read, `rest` the bytes after
    them."""

    problem = "the count of {found} records and the end of the batch do not agree; {have} were read"


class EmptyMessageSet(BadRecords):
    """A compressed message of magic 0 or 1 without a complete message inside."""

    problem = "a compressed message with no message inside"


class NestedCompression(BadRecords):
    """A compressed message inside another."""

    problem = "a compressed message inside a compressed one"


class BadOuterOffset(BadRecords):
    """An invalid offset of a compressed message of magic 1, which must be the offset of its last record."""

    problem = "offset {found} of the outer message is less than {need}, the offset of the last inner one"


class UnknownMagic(BadRecords):
    """A record format that does not exist."""

    problem = "magic {found}; 0, 1 and 2 are known"
    hint = "a newer broker or client; or these bytes are not record batches"


class UnknownCompression(BadRecords):
    """A compression that does not exist, or that this magic does not support (zstd before magic 2)."""

    quotes = False
    problem = "compression {found[0]} does not exist in magic {found[1]}"


class BadCompression(BadRecords):
    """Compressed records that do not decompress."""

    quotes = False
    problem = "the records do not decompress as {found[0]}: {found[1]}"


class LimitExceeded(BadRecords):
    """Records whose decompressed size exceeds the limit."""

    problem = "{have} bytes of {found} hold more than {need} bytes"
    hint = "allow more with limit="
