"""The base classes of construct, with types for checkers; construct itself has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    class Construct:
        """Reads and builds one kind of value."""

        name: Any
        docs: str

        def parse(self, data: bytes, **contextkw: Any) -> Any:
            """Parse bytes and return the value."""

        def build(self, obj: Any, **contextkw: Any) -> bytes:
            """Encode a value and return the bytes."""
            ...

        def _parse(self, stream: Any, context: Any, path: str) -> Any: ...
        def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any: ...

    class Subconstruct(Construct):
        """Wraps another construct."""

        subcon: Any

        def __init__(self, subcon: Construct) -> None: ...
else:
    from construct import Construct, Subconstruct

__all__ = ["Construct", "Subconstruct"]
