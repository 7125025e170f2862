"""Reading short messages that are alike: one struct unpacks a whole message whose counts were all seen before.

Short messages of one kind come from the same programs: names and ids differ, their lengths seldom. For a length of a
message that is seen often, a function is made that expects the counts of the last such message, and compares them.
Where they differ, the next such function reads the message, or straight lines do. Functions are few: bytes may be
hostile, and making one takes time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

from ..wire import COMPACT_LENGTH, INT8, Array, Boolean, Bytes, Float64, Integer, NullableStruct, String, Struct, Uuid
from ..wire.varints import unsigned_varint
from .numbers import code_of
from .shaped_reads import absent_values
from .source import Function, NoEmitter, Source, attribute
from .structs import construct
from .support import CONSTANTS

LONGEST = 2048  # bytes of a message; longer ones are arrays, which have shapes of their own
MOST_VALUES = 640  # in a message, and comparisons
MOST_COUNTED = 256  # lengths whose messages are counted
MOST_KNOWN = 64  # functions, of one message at one version
MOST_HELD = 2048  # values that these read, together; and those of one more
OFTEN = 384  # messages of a length until a function is made for them: these take as long to read as that to make
LATER = 1 << 18  # messages that found no room, until all are learnt anew: traffic may be another by then
MOST_SHAPES = 3  # functions of one length
CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
Decoder = Callable[[bytes, int], tuple[Any, int]]


class Unlike(Exception):
    """A message that no struct unpacks: with tags, or with too much in it; never seen outside."""


def by_length(schema: Struct, straight: Decoder, title: str) -> Decoder:
    """Return a decoder that reads messages alike by functions made for them, others by `straight`.

    Args:
        schema: the tree.
        straight: reads any message; as `compile_decoder` has it.
        title: what tracebacks call the functions.
    """
    known = Lengths(schema, straight, title)

    def decode(b: bytes, p: int) -> tuple[Any, int]:
        return known[len(b) - p](b, p)

    return decode


class Lengths(dict[int, Decoder]):
    """By the length of a message, what reads it.

    Attributes:
        made: the lengths with functions.
        held: how many functions there are, and how many values they read.
    """

    def __init__(self, schema: Struct, straight: Decoder, title: str) -> None:
        self.schema, self.straight, self.title = schema, straight, title
        self.made: set[int] = set()
        self.held = 0, 0

    def __missing__(self, length: int) -> Decoder:
        """Begin to count messages of a length."""
        if length > LONGEST:
            return self.straight
        if len(self) >= MOST_COUNTED:  # all count from one again, but for those with a function
            kept = {known: self[known] for known in self.made}
            self.clear()
            self.update(kept)
        reader = self[length] = self._counting(length, 0)
        return reader

    def _counting(self, length: int, depth: int) -> Decoder:
        """Return what reads messages of a length that so many functions do not read.

        It goes by straight lines, until there is a function for one more shape.
        """
        left, following = OFTEN, None

        def count(b: bytes, p: int) -> tuple[Any, int]:
            nonlocal left, following
            if following is not None:
                return following(b, p)
            left -= 1
            message, stop = self.straight(b, p)
            if left <= 0 and stop == len(b):
                following = self._learnt(length, depth, message)
            return message, stop

        return count

    def _learnt(self, length: int, depth: int, message: Any) -> Decoder:
        """Return the function for messages that look like this one, or what does without it."""
        count, values = self.held
        if depth == MOST_SHAPES or count >= MOST_KNOWN or values >= MOST_HELD:
            reader = self._waiting()
        else:
            try:
                reader, more = reader_for(self.schema, message, self._counting(length, depth + 1), self.title)
                self.held = count + 1, values + more
                self.made.add(length)
            except (Unlike, NoEmitter):
                reader = self.straight
        if not depth:
            self[length] = reader
        return reader

    def _waiting(self) -> Decoder:
        """Return what reads messages that found no room; when they were many, all are learnt anew."""
        left = LATER

        def wait(b: bytes, p: int) -> tuple[Any, int]:
            nonlocal left
            left -= 1
            if not left:
                self.clear()
                self.made.clear()
                self.held = 0, 0
            return self.straight(b, p)

        return wait


def reader_for(schema: Struct, message: Any, otherwise: Decoder, title: str) -> tuple[Decoder, int]:
    """Make the function that reads messages with all the counts of this one, and hands others on.

    Returns:
        The function, and how many values it reads.

    Raises:
        Unlike: the message has tags, or too many values.
        NoEmitter: there is a node that the compiler does not know.
    """
    source = Source(f"{title}, alike", otherwise=otherwise, **CONSTANTS)
    out = Whole(source, source.fresh("decode"), "b, p")
    expression = emit_alike(schema, message, out)
    out.unpack()
    out.line(f"return {expression}, len(b)")
    decoder: Decoder = source.run()["decode"]
    return decoder, out.values


class Whole(Function):
    """A function that unpacks everything at once; `constant` bytes are compared, `value`s have variables."""

    def __init__(self, source: Source, name: str, parameters: str) -> None:
        super().__init__(source, name, parameters)
        self._codes: list[str] = []
        self._targets: list[str] = []
        self._tests: list[str] = []
        self._constant = b""

    @property
    def values(self) -> int:
        """How many values it reads, the compared ones among them."""
        return len(self._targets)

    def constant(self, raw: bytes) -> None:
        """Expect bytes; neighbours are compared together."""
        self._constant += raw

    def value(self, code: str, count: int = 1) -> list[str]:
        """Read values of a format code; return their variables."""
        self._compare()
        variables = [self.variable() for _ in range(count)]
        if len(self._targets) + count > MOST_VALUES:
            raise Unlike
        self._codes.append(code if count == 1 else f"{count}{code}" * (count > 0))
        self._targets += variables
        return variables

    def _compare(self) -> None:
        raw, self._constant = self._constant, b""
        if raw:
            [variable] = self.value(CODES.get(len(raw), f"{len(raw)}s"))
            expected = int.from_bytes(raw, "big") if len(raw) in CODES else raw
            self._tests.append(f"{variable} != {expected!r}")

    def unpack(self) -> None:
        """Write the lines that unpack and compare."""
        self._compare()
        unpack = self.source.struct("".join(self._codes), "unpack_from")
        self.line(f"{''.join(f'{target}, ' for target in self._targets) or '_'} = {unpack}(b, p)")
        if self._tests:
            self.line(f"if {' or '.join(self._tests)}: return otherwise(b, p)")


@singledispatch
def emit_alike(node: Any, value: Any, out: Whole) -> str:
    """Expect the counts that a node has in a value; return an expression of what is read."""
    raise NoEmitter(f"no reading of what is alike is written for {type(node).__name__}")


@emit_alike.register(Integer)
@emit_alike.register(Float64)
def _(node: Integer | Float64, value: Any, out: Whole) -> str:
    return out.value(code_of(node))[0]


@emit_alike.register
def _(node: Boolean, value: bool, out: Whole) -> str:
    return f"BOOL[{out.value('B')[0]}]"


@emit_alike.register
def _(node: Uuid, value: bytes, out: Whole) -> str:
    return out.value("16s")[0]


@emit_alike.register(String)
@emit_alike.register(Bytes)
def _(node: String | Bytes, value: str | bytes | None, out: Whole) -> str:
    raw = value.encode() if isinstance(value, str) else value
    _expect_count(node.length, raw, out)
    if not raw:
        return repr(value)
    variable = out.value(f"{len(raw)}s")[0]
    return f"{variable}.decode()" if isinstance(node, String) else variable


@emit_alike.register
def _(node: Array, value: tuple[Any, ...] | None, out: Whole) -> str:
    _expect_count(node.length, value, out)
    if value is None:
        return "None"
    if type(node.element) in (Integer, Float64):
        items = out.value(code_of(node.element), len(value)) if value else []
    else:
        items = [emit_alike(node.element, item, out) for item in value]
    return f"({''.join(f'{item}, ' for item in items)})"


def _expect_count(length: Any, value: Any, out: Whole) -> None:
    count = -1 if value is None else len(value)
    if length is not COMPACT_LENGTH:
        out.constant(length.struct.pack(count))
    else:
        out.constant(unsigned_varint(count + 1))


@emit_alike.register
def _(node: Struct, value: Any, out: Whole) -> str:
    values = absent_values(node, out)
    for field in node.fields:
        values[field.name] = emit_alike(field.subcon, getattr(value, attribute(field.name)), out)
    if node.tagged is not None:
        if value.unknown_tags or any(getattr(value, f.name) != f.default for f in node.tagged.fields.values()):
            raise Unlike
        out.constant(b"\0")
    if not node.fields:  # nothing that could differ: as straight lines, all share one
        return out.source.constant("D", value)
    return construct(node, out.source, values)


@emit_alike.register
def _(node: NullableStruct, value: Any, out: Whole) -> str:
    out.constant(INT8.struct.pack(node.null if value is None else 1))
    return "None" if value is None else emit_alike(node.subcon, value, out)
