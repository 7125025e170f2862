"""Errors about bytes that do not decode, in strict mode and in salvage, with offset and path of the field."""

from __future__ import annotations

from typing import Any

from .base import FieldError


class DecodeError(FieldError):
    """Bytes that cannot be decoded as this message.

    Attributes: `offset` (in bytes, from the start of what was decoded: of the body for a codec, of the
    frame's size field for a frame), `path`, `message`, `version`, `need` and `have` (bytes needed and available, if too
    few), `raw` (the bytes of the fault itself), `partial` (the fields decoded before, as a dict), `rest` (all bytes
    from `offset` on), `faults` (tolerated before it, in salvage). `quotes` says whether text among its data may repeat
    bytes of the message, which masked output then hides. For a fault in compressed bytes, `offset` is the position of
    the compressed bytes, and `inflated_offset` and `rest` refer to the decompressed bytes.
    """

    problem = "the bytes do not decode"
    quotes = True
    code = "BAD_FIELD"  # the stable name for programs: `error.code` in JSON lines, `_error.code` in Arrow and Spark
    is_failure = True  # whether complete data did not decode; otherwise bytes are missing or belong to another protocol

    offset: int
    need: int | None
    have: int | None
    inflated_offset: int | None
    raw: bytes
    partial: Any
    rest: bytes
    faults: tuple[DecodeError, ...]
    _defaults = {
        **FieldError._defaults,
        "offset": 0,
        "need": None,
        "have": None,
        "inflated_offset": None,
        "raw": b"",
        "partial": None,
        "rest": b"",
        "faults": (),
    }

    def __str__(self) -> str:
        inside = "" if self.inflated_offset is None else f", inflated offset {self.inflated_offset}"
        return f"{self._where()}{self.reason} (offset {self.offset}{inside})"


class Truncated(DecodeError):
    """The bytes end inside a value."""

    problem = "{need} bytes needed, {have} left"
    code = "TRUNCATED"
    hint = "the bytes are cut short, or they are another message or version"


class BadLength(Truncated):
    """A length or count claims more than the bytes that are left."""

    problem = "length {found} needs {need} bytes, {have} left"


class NullNotAllowed(DecodeError):
    """A negative length where null is not allowed."""

    problem = "null (length {found}) is not allowed here"
    hint = "another version of the message may allow it"


class StringTooLong(DecodeError):
    """Text of more than 32,767 bytes, which Kafka rejects even in compact strings."""

    problem = "text of {found} bytes; at most 32767 are allowed"
    hint = "probably another message or version"


class BadVarint(DecodeError):
    """A varint that is longer than its type allows."""

    problem = "a varint of more than {need} bytes"
    hint = "probably another message or version"


class BadTag(DecodeError):
    """A tag number that no writer can write."""

    problem = "tag {found} is outside 0 to 2147483646"


class TagOfOtherVersion(BadTag):
    """A tag that the struct has only in another version."""

    problem = "tag {found} does not belong to this version"
    hint = "try another version"


class UnknownTagOrder(BadTag):
    """Unknown tags that are not in ascending order."""

    problem = "unknown tag {found} comes after tag {need}"


class TooManyFaults(DecodeError):
    """Salvage stopped: too many faults for bytes of this message."""

    problem = "more than {need} faults"
    hint = "probably another message or version; the error's rest has the bytes from here on"


class NoColumns(DecodeError):
    """A valid message that is too large for Arrow columns."""

    problem = "a body of {found} bytes cannot be made into columns"
    hint = "decode it"
