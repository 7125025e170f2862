"""Names for numbers. Each kind is an `IntEnum`: `kwire.values.ErrorCode(56)` is `ErrorCode.KAFKA_STORAGE_ERROR`.

A kind is created on first use. Type checkers and editors read a stub, which `kwire.schema.stubs` generates.
"""

from __future__ import annotations

from typing import Any

from ..schema.enums import Value as Value
from ..schema.enums import kind as kind
from ..schema.enums import kind_of as kind_of
from ..schema.enums import kinds as kinds
from ..schema.enums import words as words


def __getattr__(name: str) -> Any:
    """Return a kind by its name."""
    if name == "__all__":
        return __dir__()
    if name[0].isupper() and name in kinds():
        return kind(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*kinds(), "Value", "kind", "kind_of", "kinds", "words"]
