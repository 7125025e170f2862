"""`Reader` and `Writer`, with their position in the bytes and in the message; and `Node`, the base class of the tree.

Reader and writer track the path, so that an error names its field although nodes pass no names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import DecodeError, EncodeError, Tolerated, TooManyFaults, TrailingBytes, Truncated, WrongType, excerpt

if TYPE_CHECKING:

    class Construct:
        """Reads and builds one kind of value."""

        name: Any
        docs: str

        def parse(self, data: bytes, **contextkw: Any) -> Any:
            """Parse bytes; return the value."""

        def build(self, obj: Any, **contextkw: Any) -> bytes:
            """Encode a value; return the bytes."""
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


MOST_FAULTS = 10_000
# Arguments: bytes, a position and a count. Result: that many elements of an array, and the position after them.
Elements = Callable[[bytes, int, int], tuple[Sequence[Any], int]]


def bytes_of(data: Any) -> bytes:
    """Return a bytes-like object as bytes; raises TypeError for text, numbers and other objects."""
    if type(data) is bytes:
        return data
    try:
        return bytes(memoryview(data))
    except TypeError:
        hint = "; hex text becomes bytes by bytes.fromhex(...)" if isinstance(data, str) else ""
        raise TypeError(f"bytes are needed, not {type(data).__name__}{hint}") from None


class Reader:
    """A position in the bytes and in the message. Acts as construct's stream.

    Args:
        data: all the bytes.
        start: where to begin.
        salvage: collect what Kafka tolerates in `faults` instead of raising it.

    `ahead` returns the fast path of an array's elements, if the codec has one: the reference path uses it to skip the
    valid elements of long arrays in bytes that the fast path refused, because reading them one by one takes many times
    as long.
    """

    __slots__ = ("ahead", "data", "end", "faults", "message", "path", "pos", "salvage", "version")

    def __init__(self, data: bytes, start: int = 0, *, salvage: bool = False) -> None:
        self.data: bytes = data
        self.end: int = len(data)
        self.pos: int = start
        self.salvage: bool = salvage
        self.faults: list[DecodeError] = []
        self.path: list[str | int] = []
        self.message: str | None = None
        self.version: int | None = None
        self.ahead: Callable[[Any], Elements] | None = None

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes and advance; raises Truncated if there are fewer."""
        start, stop = self.pos, self.pos + count
        if stop > self.end:
            self.refuse(Truncated, start, need=count, have=self.end - start)
        self.pos = stop
        return self.data[start:stop]

    def child(self, segment: str | int, node: Construct) -> Any:
        """Read one part of the message, under its name or index."""
        self.path.append(segment)
        value = node._parse(self, None, "")
        self.path.pop()
        return value

    def elements(self, array: Construct, count: int) -> Sequence[Any] | None:
        """Read `count` elements of an array by the fast path; None, without advancing, if it refuses one or is missing.

        The fast path accepts only bytes that the reference path reads without fault or note, so either may read the
        next element.
        """
        if self.ahead is None or type(self.data) is not bytes:
            return None
        try:
            items, stop = self.ahead(array)(self.data, self.pos, count)
        except Exception:
            return None
        if stop > self.end:
            return None
        self.pos = stop
        return items

    def prefix(self, node: Construct) -> Any:
        """Read a count, marker or tag that precedes the parts."""
        return node._parse(self, None, "")

    def mark(self, start: int, type_name: str, value: Any) -> None:
        """Report the bytes from `start` to here as one field; does nothing unless tracing."""

    def refuse(self, kind: type[DecodeError], offset: int, **facts: Any) -> NoReturn:
        """Raise an error with all that is known here."""
        error = self._error(kind, offset, facts)
        error.rest = self.data[offset : self.end]
        error.faults = tuple(self.faults)
        raise error

    def fault(self, kind: type[Tolerated], offset: int, **facts: Any) -> None:
        """Raise a fault that Kafka tolerates, or record it in salvage."""
        if not self.salvage:
            self.refuse(kind, offset, **facts)
        if len(self.faults) >= MOST_FAULTS:
            self.refuse(TooManyFaults, offset, need=MOST_FAULTS)
        self.note(kind, offset, **facts)

    def note(self, kind: type[Tolerated], offset: int, **facts: Any) -> None:
        """Record a note about valid but unusual bytes, even in strict mode; at most `MOST_FAULTS` notes are stored."""
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(self._error(kind, offset, facts))

    def finish(self) -> bytes:
        """Require that no bytes are left over; in salvage, return them."""
        left = self.data[self.pos : self.end]
        if left:
            self.fault(TrailingBytes, self.pos, have=len(left), raw=left)
        return left

    def read(self, count: int = -1) -> bytes:
        """Read as a plain stream does; for construct's own classes."""
        stop = self.end if count < 0 else min(self.end, self.pos + count)
        start, self.pos = self.pos, stop
        return self.data[start:stop]

    def tell(self) -> int:
        """Return the position; for construct's own classes."""
        return self.pos

    def _error(self, kind: type[DecodeError], offset: int, facts: dict[str, Any]) -> DecodeError:
        return kind(offset=offset, segments=self.path, message=self.message, version=self.version, **facts)


class Writer:
    """The bytes written so far, and the path of the value being written. Acts as construct's stream."""

    __slots__ = ("message", "out", "path", "version")

    def __init__(self, message: str | None = None, version: int | None = None) -> None:
        self.out: bytearray = bytearray()
        self.path: list[str | int] = []
        self.message: str | None = message
        self.version: int | None = version

    def child(self, segment: str | int, node: Construct, value: Any) -> None:
        """Write one part of the message, under its name or index."""
        self.path.append(segment)
        node._build(value, self, None, "")
        self.path.pop()

    def refuse(self, kind: type[EncodeError], **facts: Any) -> NoReturn:
        """Raise an error with all that is known here."""
        raise kind(segments=self.path, message=self.message, version=self.version, **facts)

    def write(self, data: bytes) -> int:
        """Write as a plain stream does; for construct's own classes."""
        self.out += data
        return len(data)


class Node(Construct):
    """A wire type.

    `type_name` is its name in traces, `least` the smallest size of a value in bytes, `nullable` whether it may be None.
    """

    type_name: str = "?"
    least: int = 0
    nullable: bool = False

    def parse_stream(self, stream: Any, **contextkw: Any) -> Any:
        """Parse from any stream, as construct's users do: `node.parse(data)`."""
        return self._parse(stream if isinstance(stream, Reader) else Reader(stream.read()), None, "")

    def build_stream(self, obj: Any, stream: Any, **contextkw: Any) -> Any:
        """Build into any stream, as construct's users do: `node.build(value)`."""
        writer = Writer()
        self._build(obj, writer, None, "")
        stream.write(bytes(writer.out))
        return obj

    def wrong_type(self, stream: Writer, value: Any) -> NoReturn:
        """Refuse a value that this type cannot write."""
        stream.refuse(WrongType, need=self.type_name, found=f"{type(value).__name__} {excerpt(value, 60)}")
