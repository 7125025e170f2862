"""Builds functions that read or write bytes; neighbouring fields of fixed size share one struct format."""

from __future__ import annotations

import keyword
import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from functools import singledispatch
from struct import Struct, calcsize
from typing import Any

from ...wire import Node

MOST_ALIKE = 10  # sources of one title that are kept for tracebacks: those of different catalogs
PLAIN = (bool, int, type(None))


class NoEmitter(TypeError):
    """A node, or a name in it, that the compiler has no source for; the reference path reads it."""


class Source:
    """The functions that are written for one tree, and the constants they name; `title` is for tracebacks."""

    def __init__(self, title: str = "source", **constants: Any) -> None:
        self.title = title
        self.constants: dict[str, Any] = dict(constants)
        self.functions: list[Function] = []
        self._names: dict[Any, str] = {}
        self._counts: dict[str, int] = {}
        self._notes: list[str] = []

    def fresh(self, prefix: str) -> str:
        """Return a name that nothing has yet."""
        count = self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}{count}" if count > 1 or prefix[-1:].isupper() else prefix

    def constant(self, prefix: str, value: Any, note: str = "") -> str:
        """Bind a value to a name; one that was bound before keeps its name."""
        key = (prefix, id(value))
        if key not in self._names:
            name = self._names[key] = self.fresh(prefix)
            self.constants[name] = value
            if note:
                self._notes.append(f"# {name}: {note}")
        return self._names[key]

    def struct(self, codes: str, method: str) -> str:
        """Bind a method of the struct of these format codes."""
        key = (method, codes)
        if key not in self._names:
            name = self._names[key] = self.fresh(method[0].upper())
            self.constants[name] = getattr(Struct(f">{codes}"), method)
            self._notes.append(f"# {name}: {method} >{codes}")
        return self._names[key]

    def literal(self, value: Any) -> str:
        """Write a value: plain ones as they are, any other by the name of a constant."""
        if type(value) in PLAIN or value in ((), "", b""):
            return repr(value)
        return self.constant("D", value)

    def text(self) -> str:
        """Return all that was written, the notes on its constants first."""
        parts = ["\n".join(self._notes), *(function.text() for function in self.functions)]
        return "\n\n".join(filter(None, parts)) + "\n"

    def run(self) -> dict[str, Any]:
        """Make the functions. The one place that runs source."""
        text = self.text()
        namespace = dict(self.constants)
        exec(compile(text, _listed(text, self.title), "exec"), namespace)  # noqa: S102 (names of our own, and literals)
        return namespace


def _listed(text: str, title: str) -> str:
    """Put source where tracebacks look for it; return the name of its file there."""
    lines = text.splitlines(keepends=True)
    for count in range(1, MOST_ALIKE):
        filename = f"<{title}>" if count == 1 else f"<{title} ({count})>"
        if filename not in linecache.cache or linecache.getlines(filename) == lines:
            break
    linecache.cache[filename] = (len(text), None, lines, filename)
    return filename


class Function:
    """One function being written."""

    def __init__(self, source: Source, name: str, parameters: str) -> None:
        self.source: Source = source
        self.name: str = name
        self.parameters: str = parameters
        self.depth: int = 1
        self.lines: list[str] = []
        self._variables = 0
        source.functions.append(self)

    def variable(self) -> str:
        """Return a name for a value."""
        self._variables += 1
        return f"v{self._variables}"

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write a line that ends in a colon, and indent what follows."""
        self.line(head)
        self.depth += 1
        yield
        self.finish()
        self.depth -= 1

    def finish(self) -> None:
        """Write what waits to be written together with more: a block ends."""

    def text(self) -> str:
        """Return the function as text."""
        return "\n".join([f"def {self.name}({self.parameters}):", *self.lines])


def attribute(name: str) -> str:
    """Return an attribute's name, if it can be one; the reader of specs lets no other through."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name) or name.startswith("__"):
        raise NoEmitter(f"{name!r} is no name that source may hold")
    return name


class Reads(Function):
    """A function that reads.

    Any line settles the run, so that every variable has its value where it is used. What was read before it, `p` is
    advanced by not at once, but where it is next needed: `behind` bytes are read from `p` on.
    """

    def __init__(self, source: Source, name: str, parameters: str = "b, p") -> None:
        super().__init__(source, name, parameters)
        self.loops = 0
        self.behind: int = 0
        self._run: list[tuple[str, str]] = []
        self._notes: list[str] = []

    def fixed(self, code: str) -> str:
        """Read what one format code says; return its variable."""
        variable = self.variable()
        self._run.append((code, variable))
        return variable

    def byte(self) -> tuple[str, bool]:
        """Read a byte that may begin a varint; return its variable, and whether it is signed.

        In a run it is signed, so that the one test `< 1` finds both null and what needs more bytes.
        """
        signed = bool(self._run)
        variable = self.fixed("b" if signed else "B")
        self.settle()
        return variable, signed

    def note(self, name: str) -> None:
        """Name the field that is read next, in a comment."""
        self._notes.append(name)

    def at(self, more: int = 0) -> str:
        """Return where the next byte is, or one `more` bytes on."""
        offset = self.behind + more
        return "p" if not offset else f"p {'+' if offset > 0 else '-'} {abs(offset)}"

    def line(self, text: str) -> None:
        """Write a line, behind what waits; `p` is where the next byte is."""
        self.finish()
        super().line(text + self._comment())

    def early(self, text: str) -> None:
        """Write a line behind what waits, with `p` where it is, `behind` bytes in front."""
        self.settle()
        super().line(text + self._comment())

    def arrived(self) -> None:
        """Say that the lines before have moved `p` to where the next byte is."""
        self.behind = 0

    def step(self) -> str:
        """Return the end of a line that moves `p` to where the next byte is; say `arrived` when every branch has."""
        return f"; p += {self.behind}" if self.behind else ""

    def settle(self) -> None:
        """Read the run."""
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
        """Settle, and move `p` to where the next byte is."""
        self.settle()
        if self.behind:
            super().line(f"p += {self.behind}{self._comment()}")
            self.behind = 0

    def _comment(self) -> str:
        names, self._notes = self._notes, []
        return f"  # {', '.join(names)}" if names else ""


class Writes(Function):
    """A function that writes. What is to be packed waits, with what is to be checked before, until `settle`.

    `line` is for what does not write; what writes goes through `append`, or settles first. Pieces in a list, joined
    once, take two thirds of the time of a bytearray that grows.
    """

    def __init__(self, source: Source, name: str, parameters: str = "m, o") -> None:
        super().__init__(source, name, parameters)
        self.loops = 0
        self._run: list[tuple[str, str]] = []
        self._typed: dict[str, list[str]] = {}

    def held(self, value: str) -> str:
        """Hold an expression in a variable, if it is none."""
        if value.isidentifier():
            return value
        variable = self.variable()
        self.line(f"{variable} = {value}")
        return variable

    def fixed(self, code: str, value: str, type_name: str = "") -> None:
        """Pack a variable, or a number of our own; `type_name` is the type that it must have."""
        self._run.append((code, value))
        if type_name:
            self._typed.setdefault(type_name, []).append(value)

    def packed(self, *more: tuple[str, str]) -> str:
        """Return an expression of the bytes of what waits and of `more`; it still waits. Empty if there is nothing."""
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
        """Whether something waits to be packed."""
        return bool(self._run)

    def check(self) -> None:
        """Write the checks of types that wait: in one comparison where they are as expected."""
        for type_name, values in self._typed.items():
            test = _no_ints(values) if type_name == "int" else _not_all(type_name, values)
            self.line(f"if {test}: {type_name}s({', '.join(values)})")
        self._typed.clear()

    def forget(self) -> None:
        """Let nothing wait: it was written in every branch."""
        self._run.clear()

    def append(self, *parts: str) -> None:
        """Write what waits and these parts, which are expressions of bytes."""
        self.check()
        together = self.piece(*parts)
        if together:
            self.line(together)
        self.forget()

    def piece(self, *parts: str) -> str:
        """Return a statement that writes what waits and these parts as one piece. What waits still does."""
        together = " + ".join(filter(None, (self.packed(), *parts)))
        return f"o.append({together})" if together else ""

    def finish(self) -> None:
        """Write what waits."""
        self.append()


def _no_ints(values: list[str]) -> str:
    """Return a condition that values are not all of the type int.

    An integer is its own plus; of True that is 1, and of numbers of other types one of theirs. A tenth faster than
    asking for types.
    """
    return " or ".join(f"+{value} is not {value}" for value in values)


def _not_all(type_name: str, values: list[str]) -> str:
    chain = " is ".join(f"type({value})" for value in values)
    return f"{chain} is not {type_name}" if len(values) == 1 else f"not {chain} is {type_name}"


def zeroes(count: int) -> str:
    """Return the source of some zero bytes."""
    return repr(bytes(count))


@singledispatch
def emit_read(node: Any, out: Reads) -> str:
    """Write lines that read a node from `p`; return an expression of the value."""
    raise NoEmitter(f"no reading is written for {type(node).__name__}")


@singledispatch
def emit_write(node: Any, out: Writes, value: str) -> None:
    """Write lines that append the bytes of a value, an expression that is to be evaluated once."""
    raise NoEmitter(f"no writing is written for {type(node).__name__}")


def read(node: Node, out: Reads) -> str:
    """Emit the reading of a node. Raises NoEmitter for a class that has no emitter."""
    registry = emit_read.registry
    text: str = registry.get(type(node), registry[object])(node, out)
    return text


def write(node: Node, out: Writes, value: str) -> None:
    """Emit the writing of a node. Raises NoEmitter for a class that has no emitter."""
    registry = emit_write.registry
    registry.get(type(node), registry[object])(node, out, value)
