"""The bases of all errors: `KwireError`, and `FieldError` for an error at a position in a message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from .texts import Segments, path_text


class KwireError(Exception):
    """Base of all errors that kwire raises intentionally. `hint` suggests what to try."""

    hint: str = ""

    @property
    def args(self) -> tuple[str]:  # type: ignore[override]
        """The text of the error, for programs that print an exception's arguments."""
        return (str(self),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class FieldError(KwireError):
    """An error at a position in a message; `problem` is a template for the error's own attributes."""

    problem = "something is wrong"
    segments: Segments
    message: str | None
    version: int | None
    found: Any
    _defaults: ClassVar[dict[str, Any]] = {"segments": (), "message": None, "version": None, "found": None}

    def __init__(self, *, segments: Iterable[str | int] = (), **facts: Any) -> None:
        attributes = self.__dict__  # setting them one by one took half the time of a short body that is refused
        attributes.update(self._defaults)
        attributes.update(facts)
        attributes["segments"] = tuple(segments)

    @property
    def path(self) -> str:
        """The position as text: `topic_states[0].partition_states[3].isr[1]`; empty for the message itself."""
        return path_text(self.segments)

    @property
    def reason(self) -> str:
        """The description of the error, without the position."""
        return self.problem.format_map(vars(self))

    def _where(self) -> str:
        name = f"{self.message} v{self.version}: " if self.message else ""
        return name + (f"{self.path}: " if self.segments else "")
