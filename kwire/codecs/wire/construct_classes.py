"""The base classes of construct, with types for checkers; construct itself has none.

Importing construct takes as long as importing everything else that decodes a small capture, and kwire needs none of its
functions. So the classes here stand in for construct's until someone uses a tree as a construct.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any


class _Base:
    """A base that can be exchanged, which `object` cannot."""


class Construct(_Base):
    """Reads and builds one kind of value: has the methods of construct's class once one of them is used."""

    def __init__(self) -> None:
        self.name: Any = None
        self.docs: str = ""
        self.flagbuildnone: bool = False
        self.parsed: Any = None

    if TYPE_CHECKING:

        def parse(self, data: bytes, **contextkw: Any) -> Any:
            """Parse bytes and return the value."""

        def build(self, obj: Any, **contextkw: Any) -> bytes:
            """Encode a value and return the bytes."""
            ...

        def _parse(self, stream: Any, context: Any, path: str) -> Any: ...
        def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any: ...
    else:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__") or not use_construct():
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(self, name)


class Subconstruct(Construct):
    """Wraps another construct, as construct's class does."""

    def __init__(self, subcon: Construct) -> None:
        super().__init__()
        self.subcon: Any = subcon


def use_construct() -> bool:
    """Make all nodes constructs, as `Codec.schema` promises; return whether they were none before."""
    import construct

    if issubclass(Construct, construct.Construct):
        return False
    own: Any = Subconstruct
    own.__bases__ = (Construct, construct.Subconstruct)
    own = Construct
    own.__bases__ = (construct.Construct,)
    return True


if "construct" in sys.modules:
    use_construct()

__all__ = ["Construct", "Subconstruct", "use_construct"]
