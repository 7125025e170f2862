"""The source of generated functions: lines, variables, constants; the only place that executes it."""

from __future__ import annotations

import keyword
import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Any

MOST_OF_ONE_TITLE = 10  # number of sources with the same title, from different catalogs, that are kept for tracebacks
PLAIN = (bool, int, type(None))
CONTAINERS = (tuple, str, bytes)  # literals only if they are empty: generated source holds no text of a spec


class NoEmitter(TypeError):
    """A node, or a name in it, for which the compiler has no emitter; the reference path handles it."""


class GeneratedSource:
    """The functions generated for one tree, and their constants; `title` is for tracebacks."""

    def __init__(self, title: str = "source", **constants: Any) -> None:
        self.title = title
        self.constants: dict[str, Any] = dict(constants)
        self.functions: list[GeneratedFunction] = []
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
        if type(value) in PLAIN or (type(value) in CONTAINERS and not value):
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
        exec(compile(text, _register_source(text, self.title), "exec"), namespace)  # noqa: S102 (names of our own, and literals)
        return namespace


def _register_source(text: str, title: str) -> str:
    """Register source for tracebacks; return its file name there."""
    lines = text.splitlines(keepends=True)
    for count in range(1, MOST_OF_ONE_TITLE):
        filename = f"<{title}>" if count == 1 else f"<{title} ({count})>"
        if filename not in linecache.cache or linecache.getlines(filename) == lines:
            break
    linecache.cache[filename] = (len(text), None, lines, filename)
    return filename


class GeneratedFunction:
    """A function that is being generated."""

    def __init__(self, source: GeneratedSource, name: str, parameters: str) -> None:
        self.source: GeneratedSource = source
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


def checked_attribute(name: str) -> str:
    """Return the name of an attribute if it is valid; the spec parser accepts no others."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name) or name.startswith("__"):
        raise NoEmitter(f"{name!r} is not a valid name in generated source")
    return name
