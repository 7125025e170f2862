"""Errors of reading captures as tables, and the column `_error` of a frame that did not decode."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import DecodeError, KwireError, excerpt, without_password
from ..protocol.framing import (
    BareToken,
    BegunBefore,
    CutShort,
    Fragment,
    Gap,
    LostPackets,
    NotKafka,
    RequestNotCaptured,
)


class BadOption(KwireError):
    """An unknown option, or an invalid value of one: `option`, `value`, `problem`, `hint`."""

    def __init__(self, option: str = "", value: Any = None, problem: str = "", hint: str = "") -> None:
        super().__init__(option, value, problem, hint)  # its arguments when Spark unpickles it
        self.option: str = option
        self.value: Any = value
        self.problem: str = problem
        self.hint = hint

    def __str__(self) -> str:
        value = without_password(self.value) if isinstance(self.value, str) else self.value
        given = "" if value is None else f"={excerpt(value)}"
        return f"option {self.option}{given}: {without_password(self.problem)}" + (
            f"; {self.hint}" if self.hint else ""
        )


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


class MixedClusters(KwireError):
    """Files of several clusters were given as one: `cluster` is its name, `files` has a file for each cluster id."""

    hint = "name clusters by the paths of their files, with --cluster REGEX, or give the files of one cluster alone"

    def __init__(self, cluster: str = "", files: dict[str, str] | None = None) -> None:
        super().__init__(cluster, files)
        self.cluster: str = cluster
        self.files: dict[str, str] = files or {}

    def __str__(self) -> str:
        found = ", ".join(f"{cluster_id} ({file})" for cluster_id, file in self.files.items())
        name = f"cluster {self.cluster}: " if self.cluster else ""
        return f"{name}its files name {len(self.files)} cluster ids: {found}; {self.hint}"


class LostData(KwireError):
    """A file of a stream that was replaced or truncated after it was read: `file`, `offset` in bytes, `problem`."""

    hint = (
        "give new files new names; failOnDataLoss=false reads such a file anew, from its start; what is no raw frames "
        "and no capture is read but once: move it in when it is complete, or set tailTimeout"
    )

    def __init__(self, file: str = "", offset: int = 0, problem: str = "") -> None:
        super().__init__(file, offset, problem)
        self.file: str = file
        self.offset: int = offset
        self.problem: str = problem

    def __str__(self) -> str:
        return f"[KWIRE_LOST_DATA] path={self.file}, offset={self.offset}: {self.problem}; {self.hint}"


PADDING = "PADDING"
HARMLESS = frozenset([PADDING, NotKafka.code])  # not malformed in any mode
# Incomplete frames are not corrupt: nothing that was captured completely failed to decode.
INCOMPLETE = frozenset(kind.code for kind in (BegunBefore, CutShort, Fragment, Gap, LostPackets, RequestNotCaptured))
NOT_CORRUPT = HARMLESS | INCOMPLETE


class Fault(NamedTuple):
    """A value of the column `_error`; `position` is in bytes from the start of the frame. `bytes` is the number of
    bytes it represents, if not all of them are available."""

    code: str
    reason: str
    field: str | None
    position: int | None
    bytes: int | None = None


def fault_of(error: DecodeError) -> Fault | None:
    """Return the `_error` of a fault; None if it is not about a frame.

    >>> from kwire.errors.decode import BadFrame
    >>> fault_of(BadFrame(found=-5, need=4, have=100)).code
    'BAD_SIZE'
    """
    if isinstance(error, BareToken):
        return None
    return Fault(error.code, str(error), error.path or None, error.offset, getattr(error, "count", None))
