"""Builds Python source: lines, names and constants; the only place that executes generated code.

Knows nothing of Kafka. No text of a spec gets in but attribute names, and those are checked here: specs are hostile.
"""

from __future__ import annotations

import keyword
import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Any

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
