"""The base classes of wire types: `Node`, and `Number` for integers with a range."""

from __future__ import annotations

from typing import Any, NoReturn

from ...errors import OutOfRange, WrongType, excerpt
from .construct_classes import Construct
from .reader import Reader
from .writer import Writer


class Node(Construct):
    """A wire type.

    `type_name` is the name in traces, `least` the minimum size of a value in bytes, `nullable` whether it may be None.
    """

    type_name: str = "?"
    least: int = 0
    nullable: bool = False

    def parse_stream(self, stream: Any, **contextkw: Any) -> Any:
        """Parse from any stream, for users of construct: `node.parse(data)`."""
        return self._parse(stream if isinstance(stream, Reader) else Reader(stream.read()), None, "")

    def build_stream(self, obj: Any, stream: Any, **contextkw: Any) -> Any:
        """Build into any stream, for users of construct: `node.build(value)`."""
        writer = Writer()
        self._build(obj, writer, None, "")
        stream.write(bytes(writer.out))
        return obj

    def wrong_type(self, stream: Writer, value: Any) -> NoReturn:
        """Refuse a value that this type cannot write."""
        stream.refuse(WrongType, need=self.type_name, found=f"{type(value).__name__} {excerpt(value, 60)}")


class Number(Node):
    """An integer from `low` to `high`, both included."""

    low: int
    high: int

    def check(self, stream: Writer, value: Any) -> None:
        """Refuse a value that this type cannot write."""
        if not isinstance(value, int) or isinstance(value, bool):
            self.wrong_type(stream, value)
        if not self.low <= value <= self.high:
            value_text = excerpt(value, 60)
            stream.refuse(OutOfRange, need=self.type_name, found=value_text, low=self.low, high=self.high)
