"""JSON with comments and trailing commas, where every value knows its line.

Kafka's specs are written so. Knows JSON, knows nothing of Kafka. No recursion deeper than
`DEPTH`, no file longer than `LONGEST`: specs are hostile input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from .errors import SpecError, suggestion

DEPTH = 64
LONGEST = 1 << 20

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)
    |(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<word>true|false|null)
    |(?P<mark>[\[\]{}:,])
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


class Value:
    """One JSON value and its place: `value` (for an object: name -> Value; for an array: a list of Values)."""

    __slots__ = ("file", "json_path", "line", "value")

    def __init__(self, value: Any, file: str, line: int, json_path: str) -> None:
        self.value, self.file, self.line, self.json_path = value, file, line, json_path

    def error(self, problem: str, hint: str = "") -> SpecError:
        """Make the error that says what is wrong with this value."""
        return SpecError(problem, file=self.file, line=self.line, json_path=self.json_path, hint=hint)

    def members(self, allowed: frozenset[str]) -> dict[str, Value]:
        """Return the members of an object; an unknown name is an error."""
        if not isinstance(self.value, dict):
            raise self.error(f"an object is needed, not {_kind(self.value)}", "write { ... }")
        members: dict[str, Value] = self.value
        for name, member in members.items():
            if name not in allowed:
                hint = suggestion(name, allowed) or f"known keys: {', '.join(sorted(allowed))}"
                raise member.error(f"unknown key {name!r}", hint)
        return members

    def items(self) -> list[Value]:
        """Return the elements of an array."""
        if not isinstance(self.value, list):
            raise self.error(f"an array is needed, not {_kind(self.value)}", "write [ ... ]")
        return self.value

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            raise self.error(f"a string is needed, not {_kind(self.value)}", 'write "..."')
        return self.value

    def boolean(self) -> bool:
        """Return true or false; Kafka's reader takes them in quotes too."""
        if self.value is True or self.value == "true":
            return True
        if self.value is False or self.value == "false":
            return False
        raise self.error(f"true or false is needed, not {_kind(self.value)}", "write true or false, without quotes")

    def integer(self) -> int:
        """Return an integer, also one in quotes (`"tag": "0"`)."""
        text = self.value
        if isinstance(text, int) and not isinstance(text, bool):
            return text
        if isinstance(text, str) and re.fullmatch(r"-?\d{1,10}", text):
            return int(text)
        raise self.error(f"an integer is needed, not {_kind(self.value)}", "write a number, without quotes")


def parse(text: str, file: str) -> Value:
    """Parse a whole document; `file` is its name for errors. Raises SpecError."""
    if len(text) > LONGEST:
        raise SpecError(f"the file is longer than {LONGEST} characters", file=file, line=1)
    return _Parser(text, file).document()


class _Parser:
    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.tokens = _tokens(text)
        self.token = next(self.tokens)

    def fail(self, problem: str, json_path: str, hint: str = "") -> NoReturn:
        raise SpecError(problem, file=self.file, line=self.token.line, json_path=json_path, hint=hint)

    def step(self) -> _Token:
        token, self.token = self.token, next(self.tokens, self.token)
        return token

    def document(self) -> Value:
        value = self.value("$", 0)
        if self.token.kind != "end":
            self.fail(f"{self.token.text!r} stands behind the end of the document", "$")
        return value

    def value(self, path: str, depth: int) -> Value:
        if depth > DEPTH:
            self.fail(f"nested deeper than {DEPTH} levels", path)
        kind, text, line = self.step()
        if text == "{":
            return Value(self.object(path, depth), self.file, line, path)
        if text == "[":
            return Value(self.array(path, depth), self.file, line, path)
        return Value(self.scalar(kind, text, path), self.file, line, path)

    def scalar(self, kind: str, text: str, path: str) -> Any:
        if kind not in ("string", "number", "word") or (len(text) > 4000 and kind == "number"):
            self.fail("the file ends here" if kind == "end" else f"a value is needed, not {text!r}", path)
        try:
            return json.loads(text)
        except ValueError as error:
            self.fail(f"{text[:40]}: {error}", path)

    def object(self, path: str, depth: int) -> dict[str, Value]:
        members: dict[str, Value] = {}
        while self.token.text != "}":
            if self.token.kind != "string":
                self.fail(f"a key in double quotes is needed, not {self.token.text!r}", path)
            token = self.step()
            name = self.scalar(token.kind, token.text, path)
            if self.step().text != ":":
                self.fail(f"a colon is needed behind {name!r}", path)
            value = self.value(f"{path}.{name}", depth + 1)
            # Kafka 3.9's DescribeTopicPartitionsRequest says "versions" twice, both times the same.
            if name in members and not _is_same_scalar(members[name].value, value.value):
                self.fail(f"the key {name!r} stands here twice", path, "keep one of them")
            members[name] = value
            self.comma("}", path)
        self.step()
        return members

    def array(self, path: str, depth: int) -> list[Value]:
        items: list[Value] = []
        while self.token.text != "]":
            items.append(self.value(f"{path}[{len(items)}]", depth + 1))
            self.comma("]", path)
        self.step()
        return items

    def comma(self, end: str, path: str) -> None:
        if self.token.text == ",":
            self.step()
        elif self.token.text != end:
            found = "the end of the file" if self.token.kind == "end" else repr(self.token.text)
            self.fail(f"a comma or {end!r} is needed, not {found}", path)


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        if kind != "space":
            yield _Token(kind, match[0], line)
        line += match[0].count("\n")
    yield _Token("end", "", line)


def _is_same_scalar(one: Any, other: Any) -> bool:
    return type(one) is type(other) and not isinstance(one, dict | list) and bool(one == other)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
