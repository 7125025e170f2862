"""Writes functions in Python that read or write bytes; adjacent fields of fixed size share one struct format.

Also contains the helpers that these functions call for long or unusual values, which are not worth inlining. Both raise
`Refused` or another of `REFUSALS`, without details; the reference path then raises the error.
"""

from __future__ import annotations

import keyword
import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, singledispatch
from operator import itemgetter
from struct import Struct, calcsize, pack, unpack_from
from typing import Any

from ..native import Refused
from ..wire import Node, Writer
from ..wire.primitives import short_varint as varint
from ..wire.primitives import unsigned_varint
from ..wire.structs import HIGHEST_TAG, is_default, pass_unknown

SHORT = 32  # shorter arrays of numbers have one struct for each length


def refuse(*_: Any) -> Any:
    """Raise `Refused`."""
    raise Refused


@cache
def unpackers(code: str, compact: bool) -> tuple[Callable[..., tuple[Any, ...]], ...]:
    """Return unpackers for 0, 1, 2 ... numbers of a format code; if compact, indexed by the count plus one."""
    unpackers = tuple(Struct(f">{count}{code}").unpack_from for count in range(SHORT))
    return (refuse, *unpackers) if compact else unpackers


def wide(b: bytes, p: int, most: int) -> tuple[int, int]:
    """Read a varint of two or more bytes, whose first byte is before `p`; it must not exceed `most`."""
    value, p = varint(b, p - 1)
    if not 127 < value <= most:
        raise Refused
    return value, p


def compact_numbers(b: bytes, p: int, _: int, code: str, size: int, nullable: bool) -> tuple[Any, int]:
    """Read an array of numbers that is null or long, and whose compact count starts before `p`."""
    count, p = varint(b, p - 1)
    return numbers(b, p, count - 1, code, size, nullable)


def numbers(b: bytes, p: int, count: int, code: str, size: int, nullable: bool) -> tuple[Any, int]:
    """Read an array of numbers with a given count."""
    if count < 0:
        if count == -1 and nullable:
            return None, p
        raise Refused
    return unpack_from(f">{count}{code}", b, p), p + size * count


def unknown_tags(b: bytes, p: int, foreign: frozenset[int]) -> tuple[bytes, int]:
    """Read a tagged section with only unknown tags; return their raw bytes and the position after them."""
    count, p = varint(b, p)
    stop, left, _ = pass_unknown(b, p, count, -1, foreign)
    if left:
        raise Refused
    return b[p:stop], stop


def unknown_tag(b: bytes, start: int, stop: int, tag: int, foreign: frozenset[int]) -> bytes:
    """Return the raw bytes of an unknown tagged field."""
    if tag > HIGHEST_TAG or tag in foreign or stop > len(b):
        raise Refused
    return b[start:stop]


@cache
def packers(prefix: str, code: str) -> tuple[Callable[..., bytes], ...]:
    """Return packers for a count, with the format code `prefix`, and 0, 1, 2 ... numbers."""
    return tuple(Struct(f">{prefix}{count}{code}").pack for count in range(SHORT))


@cache
def packed_lengths(code: str) -> tuple[bytes, ...]:
    """Return short lengths as bytes: a lookup takes a third of the time of packing."""
    return tuple(pack(f">{code}", length) for length in range(128))


def ints(*values: Any) -> None:
    """Refuse values that are not integers: structs would accept booleans and others."""
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        raise Refused


def floats(*values: Any) -> None:
    """Refuse values that are not floats: structs would accept integers."""
    if not all(isinstance(value, float) for value in values):
        raise Refused


def bools(*values: Any) -> None:
    """Refuse values that are not booleans: structs would accept anything."""
    if not all(isinstance(value, bool) for value in values):
        raise Refused


def uuids(value: Any) -> None:
    """Refuse values that are not 16 bytes: structs would truncate or pad them."""
    if not isinstance(value, bytes) or len(value) != 16:
        raise Refused


def raw(value: Any) -> bytes:
    """Return any bytes-like object as bytes."""
    if not isinstance(value, bytes | bytearray | memoryview):
        raise Refused
    return bytes(value)


def keep(message: Any, fields: Sequence[tuple[str, Any]]) -> None:
    """Refuse a message with a field that this version does not have, unless the field has its default."""
    for name, default in fields:
        value = getattr(message, name)
        if not is_default(value, default) and not (name == "unknown_tags" and value == b""):
            raise Refused


def sequence(value: Any) -> None:
    """Refuse a value that is not written as an array."""
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Sequence):
        raise Refused


def long(size: int, most: int) -> bytes:
    """Write a compact length."""
    if size > most:
        raise Refused
    return unsigned_varint(size + 1)


def long_compact(count: int, code: str, values: Sequence[Any]) -> bytes:
    """Write an array of numbers with a compact count."""
    return unsigned_varint(count + 1) + pack(f">{count}{code}", *values)


def long_numbers(count: int, code: str, values: Sequence[Any]) -> bytes:
    """Write an array of numbers with a count of four bytes."""
    return pack(f">i{count}{code}", count, *values)


def unknown(value: Any, section: Callable[..., bytes]) -> bytes:
    """Write a tagged section with only unknown tags."""
    return section(value, Writer()) if value else b"\0"


def section(fields: list[tuple[int, bytes]], unknown: Any, checked: Callable[..., list[tuple[int, bytes]]]) -> bytes:
    """Write a tagged section: known fields by ascending tag, with unknown fields between them."""
    entries = [(tag, unsigned_varint(len(value)) + value) for tag, value in fields]
    if unknown:
        entries += checked(unknown, Writer())
        entries.sort(key=itemgetter(0))
    return unsigned_varint(len(entries)) + b"".join(unsigned_varint(tag) + sized for tag, sized in entries)


_FUNCTIONS = (
    *(refuse, wide, compact_numbers, numbers, unknown_tags, unknown_tag),
    *(ints, floats, bools, uuids, raw, keep, sequence, long, long_compact, long_numbers, unknown, section, is_default),
)
CONSTANTS: dict[str, Any] = {
    "BOOL": (False, True),
    "BYTE": tuple(bytes([value]) for value in range(128)),
    "EMPTY": (),
    "Refused": Refused,
    "utf8": str.encode,
    "varint": varint,
    **{function.__name__: function for function in _FUNCTIONS},
}

MOST_OF_ONE_TITLE = 10  # number of sources with the same title, from different catalogs, that are kept for tracebacks
PLAIN = (bool, int, type(None))


class NoEmitter(TypeError):
    """A node, or a name in it, for which the compiler has no emitter; the reference path handles it."""


class Source:
    """The functions generated for one tree, and their constants; `title` is for tracebacks."""

    def __init__(self, title: str = "source", **constants: Any) -> None:
        self.title = title
        self.constants: dict[str, Any] = dict(constants)
        self.functions: list[Function] = []
        self._names: dict[Any, str] = {}
        self._counts: dict[str, int] = {}
        self._notes: list[str] = []

    def fresh(self, prefix: str) -> str:
        """Return an unused name."""
        count = self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}{count}" if count > 1 or prefix[-1:].isupper() else prefix

    def constant(self, prefix: str, value: Any, note: str = "") -> str:
        """Bind a value to a name; a value that is already bound keeps its name."""
        key = (prefix, id(value))
        if key not in self._names:
            name = self._names[key] = self.fresh(prefix)
            self.constants[name] = value
            if note:
                self._notes.append(f"# {name}: {note}")
        return self._names[key]

    def struct(self, codes: str, method: str) -> str:
        """Bind a method of the struct with these format codes."""
        key = (method, codes)
        if key not in self._names:
            name = self._names[key] = self.fresh(method[0].upper())
            self.constants[name] = getattr(Struct(f">{codes}"), method)
            self._notes.append(f"# {name}: {method} >{codes}")
        return self._names[key]

    def literal(self, value: Any) -> str:
        """Return the source of a value: a literal, or the name of a constant."""
        if type(value) in PLAIN or value in ((), "", b""):
            return repr(value)
        return self.constant("D", value)

    def text(self) -> str:
        """Return the complete source, preceded by comments about its constants."""
        parts = ["\n".join(self._notes), *(function.text() for function in self.functions)]
        return "\n\n".join(filter(None, parts)) + "\n"

    def run(self) -> dict[str, Any]:
        """Execute the source and return its functions. This is the only place that executes generated code."""
        text = self.text()
        namespace = dict(self.constants)
        exec(compile(text, _listed(text, self.title), "exec"), namespace)  # noqa: S102 (names of our own, and literals)
        return namespace


def _listed(text: str, title: str) -> str:
    """Register source for tracebacks; return its file name there."""
    lines = text.splitlines(keepends=True)
    for count in range(1, MOST_OF_ONE_TITLE):
        filename = f"<{title}>" if count == 1 else f"<{title} ({count})>"
        if filename not in linecache.cache or linecache.getlines(filename) == lines:
            break
    linecache.cache[filename] = (len(text), None, lines, filename)
    return filename


class Function:
    """A function that is being generated."""

    def __init__(self, source: Source, name: str, parameters: str) -> None:
        self.source: Source = source
        self.name: str = name
        self.parameters: str = parameters
        self.depth: int = 1
        self.lines: list[str] = []
        self._variables = 0
        source.functions.append(self)

    def variable(self) -> str:
        """Return an unused variable name."""
        self._variables += 1
        return f"v{self._variables}"

    def line(self, text: str) -> None:
        """Emit a line."""
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Emit a line that ends with a colon, and indent the following lines."""
        self.line(head)
        self.depth += 1
        yield
        self.finish()
        self.depth -= 1

    def finish(self) -> None:
        """Emit pending code at the end of a block."""

    def text(self) -> str:
        """Return the source of the function."""
        return "\n".join([f"def {self.name}({self.parameters}):", *self.lines])


def attribute(name: str) -> str:
    """Return the name of an attribute if it is valid; the spec parser accepts no others."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name) or name.startswith("__"):
        raise NoEmitter(f"{name!r} is not a valid name in generated source")
    return name


class Reads(Function):
    """A function that reads.

    Fixed-size fields are collected as a run; any other line first emits the run, so that its variables are set. The
    position `p` is updated lazily: the next byte is `behind` bytes after it.
    """

    def __init__(self, source: Source, name: str, parameters: str = "b, p") -> None:
        super().__init__(source, name, parameters)
        self.loops = 0
        self.behind: int = 0
        self._run: list[tuple[str, str]] = []
        self._notes: list[str] = []

    def fixed(self, code: str) -> str:
        """Add a field with a format code to the run; return its variable."""
        variable = self.variable()
        self._run.append((code, variable))
        return variable

    def byte(self) -> tuple[str, bool]:
        """Read a byte that may start a varint; return its variable, and whether it is signed.

        In a run it is signed, so that one test, `< 1`, finds both null and longer varints.
        """
        signed = bool(self._run)
        variable = self.fixed("b" if signed else "B")
        self.settle()
        return variable, signed

    def note(self, name: str) -> None:
        """Emit a comment with the name of the next field."""
        self._notes.append(name)

    def at(self, more: int = 0) -> str:
        """Return the position of the next byte, or `more` bytes after it."""
        offset = self.behind + more
        return "p" if not offset else f"p {'+' if offset > 0 else '-'} {abs(offset)}"

    def line(self, text: str) -> None:
        """Emit a line after the pending run, with `p` at the next byte."""
        self.finish()
        super().line(text + self._comment())

    def early(self, text: str) -> None:
        """Emit a line after the pending run, with `p` still `behind` bytes before the next byte."""
        self.settle()
        super().line(text + self._comment())

    def arrived(self) -> None:
        """Record that the emitted lines have moved `p` to the next byte."""
        self.behind = 0

    def step(self) -> str:
        """Return the end of a line that moves `p` to the next byte; call `arrived` once every branch does."""
        return f"; p += {self.behind}" if self.behind else ""

    def settle(self) -> None:
        """Emit the run."""
        if not self._run:
            return
        codes, variables = zip(*self._run, strict=True)
        self._run.clear()
        together = "".join(codes)
        if together == "B":
            super().line(f"{variables[0]} = b[{self.at()}]{self._comment()}")
        else:
            targets = ", ".join(variables) + ("," if len(variables) == 1 else "")
            unpack = self.source.struct(together, "unpack_from")
            super().line(f"{targets} = {unpack}(b, {self.at()}){self._comment()}")
        self.behind += calcsize(f">{together}")

    def finish(self) -> None:
        """Emit the run, and move `p` to the next byte."""
        self.settle()
        if self.behind:
            super().line(f"p += {self.behind}{self._comment()}")
            self.behind = 0

    def _comment(self) -> str:
        names, self._notes = self._notes, []
        return f"  # {', '.join(names)}" if names else ""


class Writes(Function):
    """A function that writes. Values to pack, and their checks, are pending until `settle`.

    `line` is for code that does not write; code that writes uses `append`, or calls `settle` first. Joining a list of
    pieces once takes two thirds of the time of a growing bytearray.
    """

    def __init__(self, source: Source, name: str, parameters: str = "m, o") -> None:
        super().__init__(source, name, parameters)
        self.loops = 0
        self._run: list[tuple[str, str]] = []
        self._typed: dict[str, list[str]] = {}

    def held(self, value: str) -> str:
        """Assign an expression to a variable, unless it is one."""
        if value.isidentifier():
            return value
        variable = self.variable()
        self.line(f"{variable} = {value}")
        return variable

    def fixed(self, code: str, value: str, type_name: str = "") -> None:
        """Add a variable or constant to the pending values; `type_name` is its required type."""
        self._run.append((code, value))
        if type_name:
            self._typed.setdefault(type_name, []).append(value)

    def packed(self, *more: tuple[str, str]) -> str:
        """Return an expression for the bytes of the pending values and of `more`, which stay pending; empty without
        any.
        """
        run = [*self._run, *more]
        if not run:
            return ""
        codes = "".join(code for code, _ in run)
        if codes == "B":
            return f"BYTE[{run[0][1]}]"
        arguments = [value for code, value in run if code != "x"]
        return f"{self.source.struct(codes, 'pack')}({', '.join(arguments)})" if arguments else zeroes(len(codes))

    @property
    def waits(self) -> bool:
        """Whether values are pending."""
        return bool(self._run)

    def check(self) -> None:
        """Emit the pending type checks, as one comparison for valid values."""
        for type_name, values in self._typed.items():
            test = _no_ints(values) if type_name == "int" else _not_all(type_name, values)
            self.line(f"if {test}: {type_name}s({', '.join(values)})")
        self._typed.clear()

    def forget(self) -> None:
        """Clear the pending values, because every branch has written them."""
        self._run.clear()

    def append(self, *parts: str) -> None:
        """Emit code that writes the pending values and these parts, which are expressions of bytes."""
        self.check()
        together = self.piece(*parts)
        if together:
            self.line(together)
        self.forget()

    def piece(self, *parts: str) -> str:
        """Return a statement that writes the pending values and these parts as one piece; they stay pending."""
        together = " + ".join(filter(None, (self.packed(), *parts)))
        return f"o.append({together})" if together else ""

    def finish(self) -> None:
        """Emit the pending values."""
        self.append()


def _no_ints(values: list[str]) -> str:
    """Return a condition that some value is not of type int.

    `+x` of an int is the same object; of True it is 1, and of other types a new number. This is a tenth faster than
    `type`.
    """
    return " or ".join(f"+{value} is not {value}" for value in values)


def _not_all(type_name: str, values: list[str]) -> str:
    chain = " is ".join(f"type({value})" for value in values)
    return f"{chain} is not {type_name}" if len(values) == 1 else f"not {chain} is {type_name}"


def zeroes(count: int) -> str:
    """Return the source of zero bytes."""
    return repr(bytes(count))


@singledispatch
def emit_read(node: Any, out: Reads) -> str:
    """Emit code that reads a node at `p`; return an expression of the value."""
    raise NoEmitter(f"no reading is written for {type(node).__name__}")


@singledispatch
def emit_write(node: Any, out: Writes, value: str) -> None:
    """Emit code that appends the bytes of a value, an expression that is evaluated once."""
    raise NoEmitter(f"no writing is written for {type(node).__name__}")


def read(node: Node, out: Reads) -> str:
    """Emit code that reads a node. Raises NoEmitter for a class without emitter."""
    registry = emit_read.registry
    text: str = registry.get(type(node), registry[object])(node, out)
    return text


def write(node: Node, out: Writes, value: str) -> None:
    """Emit code that writes a node. Raises NoEmitter for a class without emitter."""
    registry = emit_write.registry
    registry.get(type(node), registry[object])(node, out, value)
