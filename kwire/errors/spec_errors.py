"""Errors about specs: one that is not valid, a name that does not exist, a version that a message lacks."""

from __future__ import annotations

from collections.abc import Sequence

from .base import KwireError
from .texts import suggestion, without_password


class SpecError(KwireError):
    """A JSON spec that is not valid.

    `file`, `line` (from 1) and `json_path` locate it; `problem` describes it; `hint` says what to write instead;
    `others` contains further errors of the same file.
    """

    def __init__(
        self, problem: str = "", *, file: str = "", line: int = 0, json_path: str = "$", hint: str = ""
    ) -> None:
        super().__init__()
        self.problem: str = problem
        self.file: str = without_password(file)
        self.line: int = line
        self.json_path: str = json_path
        self.hint = hint
        self.others: tuple[SpecError, ...] = ()

    def __str__(self) -> str:
        where = f":{self.line}: {self.json_path}" if self.line or self.json_path != "$" else ""
        return f"{self.file or 'spec'}{where}: {self.problem}" + (f"; {self.hint}" if self.hint else "")


class UnknownMessage(KwireError):
    """There is no message, profile, release, api or value with that name."""

    def __init__(self, kind: str = "message", name: str = "", known: Sequence[str] = ()) -> None:
        super().__init__()
        self.kind: str = kind
        self.name: str = name
        self.known: tuple[str, ...] = tuple(known)
        self.hint: str = suggestion(name, known) or (f"known: {', '.join(known)}" if 0 < len(known) < 12 else "")

    def __str__(self) -> str:
        return f"there is no {self.kind} {self.name!r}" + (f"; {self.hint}" if self.hint else "")


class UnsupportedVersion(KwireError):
    """The message exists, but has no such version."""

    def __init__(self, message: str = "", version: int = 0, supported: str = "", where: str = "") -> None:
        super().__init__()
        self.message: str = message
        self.version: int = version
        self.supported: str = supported
        self.where: str = where
        self.hint: str = f"versions: {supported or 'none'}"

    def __str__(self) -> str:
        release = f" in {self.where}" if self.where else ""
        return f"{self.message} has no version {self.version}{release}; {self.hint}"
