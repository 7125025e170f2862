"""Parses JSON with comments; every value has a line number.

Kafka's specs have this format. The depth is limited to `DEPTH` and the size to `LONGEST`, because specs are untrusted
input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from ..errors import SpecError, excerpt, suggestion
from ..runtime.lazy_patterns import lazy_pattern

DEPTH = 64
LONGEST = 1 << 18  # twenty times Kafka's longest spec
LONGEST_NUMBER = 400  # the time to parse digits grows with the square of their number

_TOKEN = lazy_pattern(
    r"""(?P<space>[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)
    |(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
    |(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    |(?P<word>true|false|null)
    |(?P<mark>[\[\]{}:,])
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT_LINE = lazy_pattern(r"^[ \t]*//.*", re.MULTILINE)  # in JSON no string spans lines


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


# the position of a value: the position of its container, and its key or index there
JsonPath = tuple["JsonPath", str | int] | None


class JsonValue:
    """A JSON value and its position: `value` (for an object: name -> Value; for an array: a list of Values)."""

    __slots__ = ("file", "line", "path", "value")

    def __init__(self, value: Any, file: str, line: int, path: JsonPath = None) -> None:
        self.value: Any = value
        self.file: str = file
        self.line: int = line
        self.path: JsonPath = path

    @property
    def json_path(self) -> str:
        """The path of the value, such as `$.fields[0].name`."""
        return _format_path(self.path)

    def error(self, problem: str, hint: str = "") -> SpecError:
        """Return an error about this value."""
        return SpecError(problem, file=self.file, line=self.line, json_path=self.json_path, hint=hint)

    def members(self, allowed: frozenset[str]) -> dict[str, JsonValue]:
        """Return the members of an object; an unknown name is an error."""
        if not isinstance(self.value, dict):
            raise self.error(f"an object is needed, not {_describe_kind(self.value)}", "write { ... }")
        members: dict[str, JsonValue] = self.value
        for name, member in members.items():
            if name not in allowed:
                hint = suggestion(name, allowed) or f"known keys: {', '.join(sorted(allowed))}"
                raise member.error(f"unknown key {excerpt(name)}", hint)
        return members

    def items(self) -> list[JsonValue]:
        """Return the elements of an array."""
        if not isinstance(self.value, list):
            raise self.error(f"an array is needed, not {_describe_kind(self.value)}", "write [ ... ]")
        return self.value

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            raise self.error(f"a string is needed, not {_describe_kind(self.value)}", 'write "..."')
        return self.value

    def boolean(self) -> bool:
        """Return true or false; like Kafka's reader, accept them in quotes and in any case."""
        word = self.value.lower() if isinstance(self.value, str) else self.value
        if word is True or word == "true":
            return True
        if word is False or word == "false":
            return False
        raise self.error(
            f"true or false is needed, not {_describe_kind(self.value)}", "write true or false, without quotes"
        )

    def integer(self) -> int:
        """Return an integer, which may be in quotes (`"tag": "0"`)."""
        text = self.value
        if isinstance(text, int) and not isinstance(text, bool):
            return text
        if isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,10}", text):
            return int(text)
        raise self.error(f"an integer is needed, not {_describe_kind(self.value)}", "write a number, without quotes")


def parse(text: str, file: str) -> JsonValue:
    """Parse a document; `file` is its name for errors. Raises SpecError."""
    if len(text) > LONGEST:
        raise SpecError(f"the file is longer than {LONGEST} characters", file=file, line=1)
    return _JsonParser(text, file).document()


def parse_plain(text: str, file: str) -> JsonValue | None:
    """Parse a document whose comments are on separate lines, in a sixth of the time of `parse`.

    Return None for other documents.

    All line numbers are 0: to report an error, the caller parses the document again.
    """
    if len(text) > LONGEST:
        return None
    try:
        plain = _COMMENT_LINE.sub("", text)
        document = json.loads(plain, object_pairs_hook=_read_members, parse_constant=_refuse, parse_int=_read_integer)
        return _place_values(document, file, 0)
    except (ValueError, RecursionError):
        return None


def _read_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is repeated")
    return members


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _read_integer(digits: str) -> int:
    return int(digits) if len(digits) <= LONGEST_NUMBER else _refuse("a long number")


def _place_values(value: Any, file: str, depth: int) -> JsonValue:
    if depth > DEPTH:
        _refuse("what is nested too deep")
    if isinstance(value, dict):
        value = {name: _place_values(member, file, depth + 1) for name, member in value.items()}
    elif isinstance(value, list):
        value = [_place_values(item, file, depth + 1) for item in value]
    return JsonValue(value, file, 0)


class _JsonParser:
    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.tokens = _split_tokens(text)
        self.token = next(self.tokens)

    def fail(self, token: _Token, problem: str, path: JsonPath, hint: str = "") -> NoReturn:
        raise SpecError(problem, file=self.file, line=token.line, json_path=_format_path(path), hint=hint)

    def need(self, token: _Token, what: str, path: JsonPath) -> NoReturn:
        token_text = "the end of the file" if token.kind == "end" else excerpt(token.text)
        self.fail(token, f"{what} is needed, not {token_text}", path)

    def step(self) -> _Token:
        token = self.token
        self.token = next(self.tokens, self.token)
        return token

    def document(self) -> JsonValue:
        value = self.value(None, 0)
        if self.token.kind != "end":
            self.fail(self.token, f"{excerpt(self.token.text)} follows the end of the document", None)
        return value

    def value(self, path: JsonPath, depth: int) -> JsonValue:
        token = self.step()
        if depth > DEPTH:
            self.fail(token, f"nested deeper than {DEPTH} levels", path)
        if token.text == "{":
            return JsonValue(self.object(path, depth), self.file, token.line, path)
        if token.text == "[":
            return JsonValue(self.array(path, depth), self.file, token.line, path)
        return JsonValue(self.scalar(token, path), self.file, token.line, path)

    def scalar(self, token: _Token, path: JsonPath) -> Any:
        if token.kind not in ("string", "number", "word"):
            self.need(token, "a value", path)
        if token.kind == "number" and len(token.text) > LONGEST_NUMBER:
            self.fail(token, f"a number of {len(token.text)} characters", path)
        try:
            return json.loads(token.text)
        except ValueError as error:
            self.fail(token, f"{excerpt(token.text)} is not right: {getattr(error, 'msg', error)}", path)

    def object(self, path: JsonPath, depth: int) -> dict[str, JsonValue]:
        members: dict[str, JsonValue] = {}
        while self.token.text != "}":
            key = self.step()
            if key.kind != "string":
                self.need(key, "a key in double quotes", path)
            name = self.scalar(key, path)
            colon = self.step()
            if colon.text != ":":
                self.need(colon, f"a colon after {excerpt(name)}", path)
            value = self.value((path, name), depth + 1)
            # Kafka 3.9's DescribeTopicPartitionsRequest has "versions" twice, with equal values.
            if name in members and not _is_same_scalar(members[name].value, value.value):
                self.fail(key, f"the key {excerpt(name)} is repeated here", path, "keep one of them")
            members[name] = value
            self.comma("}", path)
        self.step()
        return members

    def array(self, path: JsonPath, depth: int) -> list[JsonValue]:
        items: list[JsonValue] = []
        while self.token.text != "]":
            items.append(self.value((path, len(items)), depth + 1))
            self.comma("]", path)
        self.step()
        return items

    def comma(self, end: str, path: JsonPath) -> None:
        if self.token.text == ",":
            comma = self.step()
            if self.token.text == end:
                self.fail(comma, f"there is a comma before {end!r}", path, "drop it: Kafka's generator refuses it")
        elif self.token.text != end:
            self.need(self.token, f"a comma or {end!r}", path)


def _format_path(path: JsonPath) -> str:
    segments: list[str] = []
    while path is not None:
        path, segment = path
        if isinstance(segment, int):
            segments.append(f"[{segment}]")
        elif segment.isidentifier() and segment.isascii() and len(segment) < 128:
            segments.append(f".{segment}")
        else:
            segments.append(f"[{excerpt(segment)}]")
    return "$" + "".join(reversed(segments))


def _split_tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        if kind != "space":
            yield _Token(kind, match[0], line)
        line += match[0].count("\n")
    yield _Token("end", "", line)


def _is_same_scalar(first: Any, second: Any) -> bool:
    return type(first) is type(second) and not isinstance(first, dict | list) and bool(first == second)


def _describe_kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
