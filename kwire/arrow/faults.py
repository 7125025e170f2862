"""What `_error` says of a frame: a code out of a short list, the reason in words, the field and the place in it."""

from __future__ import annotations

from typing import NamedTuple

from .. import faults
from ..errors import DecodeError
from ..frames.pieces import BareToken, NoFrame, NotKafka

PADDING, NOT_KAFKA = HARMLESS = "PADDING", "NOT_KAFKA"  # what speaks against no dump
OVERSIZE, BAD_FIELD = "OVERSIZE", "BAD_FIELD"
# The first kind that an error is of; all else is a field that cannot be read.
CODES: tuple[tuple[type[DecodeError], str], ...] = (
    (NotKafka, NOT_KAFKA),
    (NoFrame, "NO_FRAME"),
    (faults.BadFrame, "BAD_SIZE"),
    (faults.UnknownApi, "UNSUPPORTED_API"),
    (faults.UnknownVersion, "UNSUPPORTED_VERSION"),
    (faults.UnexpectedResponse, "NO_REQUEST"),
    (faults.TrailingBytes, "TRAILING_BYTES"),
    (faults.Truncated, "TRUNCATED"),
)


class Fault(NamedTuple):
    """One row of `_error`; `position` is in bytes from the start of the frame. `bytes` is how many it stands for
    where these are not all there."""

    code: str
    reason: str
    field: str | None
    position: int | None
    bytes: int | None = None


def fault_of(error: DecodeError) -> Fault | None:
    """Return what is said of an error; None if it says nothing against a frame.

    >>> fault_of(faults.BadFrame(found=-5, need=4, have=100)).code
    'BAD_SIZE'
    """
    if isinstance(error, BareToken):
        return None
    code = next((code for kind, code in CODES if isinstance(error, kind)), BAD_FIELD)
    if code == "BAD_SIZE" and error.found > (error.have or 0):
        code = OVERSIZE
    return Fault(code, str(error), error.path or None, error.offset, getattr(error, "count", None))
