"""The two classes of the library construct that trees are made of, with types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    class Construct:
        """Reads and builds one kind of value."""

        name: Any
        docs: str

        def parse(self, data: bytes, **contextkw: Any) -> Any:
            """Read bytes to a value."""

        def build(self, obj: Any, **contextkw: Any) -> bytes:
            """Write a value as bytes."""
            ...

        def _parse(self, stream: Any, context: Any, path: str) -> Any: ...
        def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any: ...

    class Subconstruct(Construct):
        """Has something of another construct."""

        subcon: Any

        def __init__(self, subcon: Construct) -> None: ...
else:
    from construct import Construct, Subconstruct

__all__ = ["Construct", "Subconstruct"]
