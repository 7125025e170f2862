"""Builds functions that read or write bytes; neighbouring fields of fixed size share one struct format."""

from __future__ import annotations

from functools import singledispatch
from struct import calcsize
from typing import Any

from ...wire import Node
from .source_builder import Function, NoEmitter, Source


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
