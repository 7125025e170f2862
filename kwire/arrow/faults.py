"""What `_error` says of a frame: a code out of a short list, the reason in words, the field and the place in it."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import DecodeError
from ..frames.pieces import BareToken, BegunBefore, CutShort, Fragment, Gap, LostPackets, NotKafka, RequestNotCaptured

PADDING = "PADDING"
HARMLESS = frozenset([PADDING, NotKafka.code])  # what no mode calls malformed
# What is incomplete, too, does not count as corrupt: nothing that was captured whole failed to decode.
INCOMPLETE = frozenset(kind.code for kind in (BegunBefore, CutShort, Fragment, Gap, LostPackets, RequestNotCaptured))
NOT_CORRUPT = HARMLESS | INCOMPLETE


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

    >>> from kwire.faults import BadFrame
    >>> fault_of(BadFrame(found=-5, need=4, have=100)).code
    'BAD_SIZE'
    """
    if isinstance(error, BareToken):
        return None
    return Fault(error.code, str(error), error.path or None, error.offset, getattr(error, "count", None))
