"""Functions that read bytes, while they are generated; adjacent fields of fixed size share one struct format."""

from __future__ import annotations

from functools import singledispatch
from struct import calcsize
from typing import Any

from ..wire import Node
from .source_builder import GeneratedFunction, GeneratedSource, NoEmitter


class ReadingFunction(GeneratedFunction):
    """A function that reads.

    Fixed-size fields are collected as a run; any other line first emits the run, so that its variables are set. The
    position `p` is updated lazily: the next byte is `behind` bytes after it.
    """

    def __init__(self, source: GeneratedSource, name: str, parameters: str = "b, p") -> None:
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
        if not offset:
            return "p"
        return f"p + {offset}" if offset > 0 else f"p - {-offset}"

    def line(self, text: str) -> None:
        """Emit a line after the pending run, with `p` at the next byte."""
        self.finish()
        super().line(text + self._comment())

    def early(self, text: str) -> None:
        """Emit a line after the pending run, with `p` still `behind` bytes before the next byte."""
        self.settle()
        super().line(text + self._comment())

    def mark_read(self) -> None:
        """Record that the emitted lines have moved `p` to the next byte."""
        self.behind = 0

    def step(self) -> str:
        """Return the end of a line that moves `p` to the next byte; call `mark_read` once every branch does."""
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
        names = self._notes
        self._notes = []
        return f"  # {', '.join(names)}" if names else ""


@singledispatch
def emit_read(node: Any, out: ReadingFunction) -> str:
    """Emit code that reads a node at `p`; return an expression of the value."""
    raise NoEmitter(f"no reading is written for {type(node).__name__}")


def read_node(node: Node, out: ReadingFunction) -> str:
    """Emit code that reads a node. Raises NoEmitter for a class without emitter."""
    registry = emit_read.registry
    text: str = registry.get(type(node), registry[object])(node, out)
    return text
