"""Faults in rows: the column `_error`, which faults are malformed frames, and the error of mode FAILFAST."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import DecodeError, KwireError
from ...protocol.frames.stream_faults import (
    BareToken,
    BegunBefore,
    CutShort,
    Fragment,
    Gap,
    LateFile,
    LostPackets,
    NotKafka,
    RequestNotCaptured,
)

PADDING = "PADDING"
HARMLESS = frozenset([PADDING, NotKafka.code])  # not malformed in any mode
# Incomplete frames are not corrupt: nothing that was captured completely failed to decode.
_INCOMPLETE = BegunBefore, CutShort, Fragment, Gap, LateFile, LostPackets, RequestNotCaptured
INCOMPLETE = frozenset(kind.code for kind in _INCOMPLETE)
NOT_CORRUPT = HARMLESS | INCOMPLETE


class MalformedFrame(KwireError):
    """A frame that cannot be decoded: `file`, `offset` in bytes, `api`, `version`, `problem`."""

    hint = "mode=PERMISSIVE keeps such frames in _corrupt_record"

    def __init__(
        self, file: str = "", offset: int = 0, api: str | None = None, version: int | None = None, problem: str = ""
    ) -> None:
        super().__init__(file, offset, api, version, problem)
        self.file: str = file
        self.offset: int = offset
        self.api: str | None = api
        self.version: int | None = version
        self.problem: str = problem

    def __str__(self) -> str:
        what = f", api={self.api}, version={self.version}" if self.api else ""
        return f"[KWIRE_MALFORMED_FRAME] path={self.file}, offset={self.offset}{what}: {self.problem}; {self.hint}"


class RowFault(NamedTuple):
    """A value of the column `_error`; `position` is in bytes from the start of the frame.

    `bytes` is the number of bytes that the fault represents, if some are unavailable; `is_private` is true while the
    connection authenticates, as in `Undecodable`.
    """

    code: str
    reason: str
    field: str | None
    position: int | None
    bytes: int | None = None
    is_private: bool = False


def fault_of(error: DecodeError) -> RowFault | None:
    """Return the `_error` of a fault; None if it does not concern a frame.

    >>> from kwire.errors import BadFrame
    >>> fault_of(BadFrame(found=-5, need=4, have=100)).code
    'BAD_SIZE'
    """
    if isinstance(error, BareToken):
        return None
    return RowFault(error.code, str(error), error.path or None, error.offset, getattr(error, "count", None))
