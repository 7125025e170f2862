"""Errors about values that cannot be written, with the path of the field."""

from __future__ import annotations

from typing import Any

from .base import FieldError
from .texts import version_hint


class EncodeError(FieldError):
    """A value that the message cannot carry at this version: `path`, `found`, `message`, `version`."""

    problem = "{found!r} cannot be written"

    def __str__(self) -> str:
        text = f"{self._where()}{self.reason}"
        return f"{text}; {self.hint}" if self.hint else text


class WrongType(EncodeError):
    """A value of the wrong type; `OutOfRange` is one outside the range of its type."""

    problem = "{need} is needed, not {found}"


class OutOfRange(WrongType):
    """An integer that the type cannot hold: `found`, `need` (the type), `low` and `high`, both included."""

    problem = "{need}: {found} is out of range ({low} to {high})"

    def __init__(self, *, low: int | None = None, high: int | None = None, **facts: Any) -> None:
        super().__init__(low=low, high=high, **facts)


class HiddenValue(EncodeError):
    """JSON in which a secret was masked."""

    problem = "the value was hidden when this JSON was written"
    hint = "write it with kwire decode --show-secrets, or put the value in"


class NullNotWritable(EncodeError):
    """None in a field that is not nullable at this version."""

    problem = "null is not allowed here"


class TooLong(EncodeError):
    """Text, bytes or an array longer than its length field can hold."""

    problem = "{found} is too long; at most {need} can be written"


class NotInVersion(EncodeError):
    """A field that this version lacks holds something other than its default (KIP-482: not ignorable)."""

    problem = "{found} would be lost: version {version} does not have this field"

    def __init__(self, *, first: int | None = None, last: int | None = None, **facts: Any) -> None:
        super().__init__(first=first, last=last, **facts)
        self.hint: str = version_hint(first, last, self.version)


class BadUnknownTags(EncodeError):
    """Unknown tagged fields that cannot be written: out of order, truncated, or with the number of a known tag."""

    problem = "the unknown tagged fields cannot be written: {found}"


class MissingField(EncodeError):
    """JSON without a required field."""

    problem = "the field is missing"


class UnknownField(EncodeError):
    """JSON with a field that the message does not have."""

    problem = "there is no such field"
