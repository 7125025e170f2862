"""Functions that write bytes, while they are generated; values to pack are pending until a line needs them."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from ..wire import Node
from .source_builder import GeneratedFunction, GeneratedSource, NoEmitter


class WritingFunction(GeneratedFunction):
    """A function that writes. Values to pack, and their checks, are pending until `settle`.

    `line` is for code that does not write; code that writes uses `append`, or calls `settle` first. Joining a list of
    pieces once takes two thirds of the time of a growing bytearray.
    """

    def __init__(self, source: GeneratedSource, name: str, parameters: str = "m, o") -> None:
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

    def pack_pending(self, *more: tuple[str, str]) -> str:
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
        together = " + ".join(filter(None, (self.pack_pending(), *parts)))
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
def emit_write(node: Any, out: WritingFunction, value: str) -> None:
    """Emit code that appends the bytes of a value, an expression that is evaluated once."""
    raise NoEmitter(f"no writing is written for {type(node).__name__}")


def write_node(node: Node, out: WritingFunction, value: str) -> None:
    """Emit code that writes a node. Raises NoEmitter for a class without emitter."""
    registry = emit_write.registry
    registry.get(type(node), registry[object])(node, out, value)
