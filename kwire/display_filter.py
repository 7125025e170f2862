"""Parses and applies display filters (`kwire decode --where`) and paths to fields (`--fields`).

A path names a field at any depth of a message: `error_code` is any error code, `topics[].name` the name of any topic. A
word that is a property of the frame itself, such as `latency`, means that property. A comparison is true if it is true
for any of the values. This module does not read files.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from .caches import lazy_pattern
from .codecs import Codec, places_in
from .codecs.json import uuid_text
from .errors import KwireError, suggestion
from .names import snake_case
from .protocol import Request, Response, Result, Undecodable
from .protocol.results import client_of
from .runtime.regular_expressions import BadPattern, Pattern, compile_pattern
from .spec.catalog import Catalog, catalog_for
from .spec.model import FieldSpec, MessageSpec, StructSpec
from .values import kind_of

Steps = tuple[tuple[str, int | None], ...]  # names of attributes; for arrays the index of one element, or None for all


class Property(NamedTuple):
    """A property of a frame from its header, its connection or the capture."""

    kind: str
    read: Callable[[Result], Any]
    about: str


def _source(name: str) -> Callable[[Result], Any]:
    return lambda result: getattr(result.frame.source, name)


def _own(name: str) -> Callable[[Result], Any]:
    return lambda result: getattr(result, name, None)


def _type(result: Result) -> str:
    return type(result).__name__.lower()


def _error(result: Result) -> str | None:
    return result.error.code if isinstance(result, Undecodable) else None


PROPERTIES: dict[str, Property] = {
    "api": Property("text", _own("api_name"), "name of the api: Metadata"),
    "api_key": Property("number", _own("api_key"), "number of the api"),
    "version": Property("number", _own("api_version"), "version of the api"),
    "type": Property("text", _type, "request, response, token or undecodable"),
    "correlation_id": Property("number", _own("correlation_id"), "correlation id"),
    "client_id": Property("text", client_of, "client id of the request, of a response that of its request"),
    "software": Property("text", lambda result: result.client.software, "client software, as ApiVersions names it"),
    "size": Property("number", lambda result: len(result.frame.data), "bytes of the frame, with its size field"),
    "latency": Property("number", _own("latency"), "of a response: seconds since its request"),
    "request_frame": Property("number", _own("request_frame"), "of a response: number of the frame of its request"),
    "response_frame": Property("number", _own("response_frame"), "of a request: number of the frame of its response"),
    "time": Property("time", _source("time"), "when the frame was captured"),
    "frame": Property("number", _source("frame"), "number of the frame in the capture"),
    "client": Property("text", _source("client"), "ip:port of the client"),
    "broker": Property("text", _source("broker"), "ip:port of the broker"),
    "connection": Property("number", _source("connection"), "number of the connection"),
    "faults": Property("number", lambda result: len(getattr(result, "faults", ())), "tolerated faults"),
    "undecodable": Property("text", _error, "error code of a frame that does not decode"),
}


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A path to fields: `topics[].partitions[0].error_code`, or a property such as `latency`.

    Attributes:
        text: the path as given.
        steps: names of attributes, each with an index, or None for all elements.
    """

    text: str
    steps: Steps

    @property
    def property(self) -> Property | None:
        """The property of a frame that the path names; a path that begins with a dot names a field."""
        return PROPERTIES.get(self.steps[0][0]) if len(self.steps) == 1 and self.text[0] != "." else None

    def values(self, result: Result) -> Iterator[Any]:
        """Yield all values at this path in a frame, including the message inside an envelope."""
        if self.property is not None:
            value = self.property.read(result)
            if value is not None:
                yield value
        elif isinstance(result, Request | Response):
            for steps in _matching(result.codec, self.steps):
                yield from _held(result.message, steps)
            if isinstance(result.inside, Request | Response):
                yield from self.values(result.inside)

    def fields(self, spec: MessageSpec) -> Iterator[FieldSpec]:
        """Yield the fields of a message that match the path, in all its versions."""
        names = tuple(name for name, _ in self.steps)
        yield from (member for path, member in fields_of(spec.struct) if path[-len(names) :] == names)


@lru_cache(maxsize=4096)
def _matching(codec: Codec, steps: Steps) -> tuple[Steps, ...]:
    """Return the fields of a codec that match a path, each as steps from the message."""
    names = tuple(name for name, _ in steps)
    found: dict[Steps, None] = {}
    for path in places_in(codec):
        parts = tuple(path.split("."))
        for end in range(len(names), len(parts) + 1):
            if parts[end - len(names) : end] == names:
                found[(*((part, None) for part in parts[: end - len(names)]), *steps)] = None
    return tuple(found)


def _held(value: Any, steps: Steps) -> Iterator[Any]:
    if not steps:
        yield value
        return
    (name, index), rest = steps[0], steps[1:]
    held = getattr(value, name, None)
    if not isinstance(held, tuple | list):
        if held is not None or not rest:
            yield from _held(held, rest)
        return
    for one in held if index is None else held[index : index + 1]:
        yield from _held(one, rest)


def fields_of(struct: StructSpec, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], FieldSpec]]:
    """Yield all fields of a struct and of the structs inside it, with their paths of attributes."""
    for member in struct.fields:
        path = (*above, member.attribute)
        yield path, member
        if member.struct is not None:
            yield from fields_of(member.struct, path)


_KINDS = {"string": "text", "bool": "boolean", "uuid": "uuid", "bytes": "bytes", "records": "bytes"}


def kind_name(member: FieldSpec) -> str:
    """Return the kind of a field's values: number, text, boolean, uuid, bytes or struct."""
    if member.struct is not None:
        return "struct"
    return _KINDS.get(member.element, "number")


class FilterError(KwireError):
    """A display filter that cannot be parsed.

    Attributes:
        text: the filter.
        column: the position of the mistake, counted from 0.
        problem: the mistake.
        hint: what to write instead; may be empty.
    """

    def __init__(self, text: str = "", column: int = 0, problem: str = "", hint: str = "") -> None:
        self.text: str = text
        self.column: int = column
        self.problem: str = problem
        self.hint: str = hint
        self.add_note(f"  {text}\n  {' ' * column}^")

    def __str__(self) -> str:
        return f"column {self.column + 1}: {self.problem}" + (f"; {self.hint}" if self.hint else "")


_TOKENS = lazy_pattern(
    r"""\s*(?:
    (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<number>-?(?:0[xX][0-9A-Fa-f]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?P<unit>[A-Za-z]*))
  | (?P<path>\.?[A-Za-z_]\w*(?:\[\d*\])?(?:\.[A-Za-z_]\w*(?:\[\d*\])?)*)
  | (?P<sign>==|!=|<=|>=|&&|\|\||[<>=~!(),])
    )""",
    re.VERBOSE,
)
UNITS: dict[str, float] = {
    "": 1, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}  # fmt: skip
_WORDS = frozenset(("and", "or", "not", "in", "contains", "matches", "true", "false", "null"))
_SIGNS = {"&&": "and", "||": "or", "!": "not", "~": "matches", "=": "=="}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
OPERATORS = (*COMPARISONS, "in", "contains", "matches")
_ESCAPED = lazy_pattern(r"\\(.)")


class Token(NamedTuple):
    """A word of a filter, and the column where it starts."""

    kind: str  # text, number, path, word, sign, end
    value: Any
    column: int


def tokens(text: str) -> Iterator[Token]:
    """Split a filter into tokens; the last one is of kind `end`. Raises FilterError."""
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKENS.match(text, at)
        if match is None:
            column = at + len(text[at:]) - len(text[at:].lstrip())
            is_open = text[column] in "\"'"
            problem = "the text has no closing quote" if is_open else f"{text[column]!r} has no meaning here"
            raise FilterError(text, column, problem)
        kind = str(match.lastgroup) if match["number"] is None else "number"
        column, word = match.start(kind), match[kind]
        if kind == "sign":
            word = _SIGNS.get(word, word)
            kind = "word" if word.isalpha() else "sign"
        elif kind == "path" and word in _WORDS:
            kind = "word"
        elif kind == "text":
            word = _ESCAPED.sub(r"\1", word[1:-1])
        elif kind == "number":
            word = _number(text, match)
        yield Token(kind, word, column)
        at = match.end()
    yield Token("end", "", end)


def seconds_of(text: str, day: date | None = None) -> float:
    """Return an ISO time in seconds since 1970; without a zone it is UTC, as kwire prints times.

    Args:
        text: `2026-11-21T09:30:00`, with or without a zone, or a date.
        day: the day for a time of day such as `09:30`; without it, a time of day is an error.

    Raises:
        ValueError: the text is not a time in this format.

    >>> seconds_of("2026-11-21T06:00:00"), seconds_of("2026-11-21T07:00:00+01:00"), seconds_of("1970-01-02")
    (1795240800.0, 1795240800.0, 86400.0)
    """
    moment = None
    if day is not None:
        with suppress(ValueError):
            moment = datetime.combine(day, time.fromisoformat(text))
    moment = moment or datetime.fromisoformat(text)
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except OverflowError:
        raise ValueError(f"{text}: no calendar has this time") from None


def _number(text: str, match: re.Match[str]) -> float | int:
    unit = match["unit"]
    if unit not in UNITS:
        hint = f"write one of {', '.join(filter(None, UNITS))}"
        raise FilterError(text, match.start("unit"), f"{unit} is not a unit", hint)
    digits = match["number"][: len(match["number"]) - len(unit)]
    if len(digits) > MOST_DIGITS:
        raise FilterError(text, match.start("number"), f"a number of {len(digits)} digits", "no field has such values")
    number: float | int = int(digits, 16) if "x" in digits.lower() else float(digits)
    number = int(digits) if isinstance(number, float) and digits.lstrip("-").isdigit() else number
    return number if UNITS[unit] == 1 else number * UNITS[unit]


MOST_DIGITS = 100  # of a number
MOST_TEXT, MOST_DEPTH = 10_000, 100  # most characters of a filter; deepest nesting of parentheses and `not`
Holds = Callable[[Result], bool]


def _any_value(path: FieldPath, holds: Callable[[Any], bool]) -> Holds:
    """Return a function that tests whether `holds` is true for any value at a path."""
    return lambda result: any(holds(value) for value in path.values(result))


@dataclass(frozen=True, slots=True)
class DisplayFilter:
    """A parsed display filter.

    Attributes:
        text: the filter.
        messages: names of the only messages that can match it; None if any frame may match.

    >>> import kwire
    >>> frames = list(kwire.read_dump("fixtures/dumps/kafka-3.9-zk.bin"))
    >>> wanted = parse_filter('type == "response" and brokers[].port > 1024')
    >>> [result.codec.name for result in kwire.decode_frames(frames) if wanted(result)]
    ['MetadataResponse']
    >>> sorted(parse_filter("rack_id and api == fetch").messages)
    ['FetchRequest']
    """

    text: str
    messages: frozenset[str] | None
    _holds: Holds = field(repr=False)

    def __call__(self, result: Result) -> bool:
        """Return whether a frame matches the filter."""
        return self._holds(result)

    def may_hold(self, api_key: int, is_request: bool, catalog: Catalog | None = None) -> bool:
        """Return whether the filter can match a message whose body is not decoded yet."""
        if self.messages is None:
            return True
        spec = (catalog or catalog_for()).find(api_key, "request" if is_request else "response")
        return spec is None or spec.name in self.messages


def parse_filter(text: str, catalog: Catalog | None = None) -> DisplayFilter:
    """Parse a display filter.

    Args:
        text: the expression: tests such as `topics[].name == "orders"`, joined by `and`, `or`, `not`, parentheses.
        catalog: the specs whose fields the filter may name; those of Kafka's releases by default.

    Returns:
        The filter; call it with a `Request`, `Response`, `Token` or `Undecodable`.

    Raises:
        FilterError: the text is not an expression, names a field that no message has, or compares a field with a value
            of another type. The error has the column.

    >>> import kwire
    >>> wanted = parse_filter("api == Heartbeat and error_code == REBALANCE_IN_PROGRESS")
    >>> [wanted(frame) for frame in kwire.decode_frames(kwire.read_dump("fixtures/dumps/kafka-4.4-metadata.bin"))]
    [False, False]
    """
    if not isinstance(text, str):
        raise TypeError(f"the text of a filter is needed, not {type(text).__name__}")
    parser = _Parser(text, catalog or catalog_for())
    holds, messages = parser.whole()
    return DisplayFilter(text, messages, holds)


def names_property(name: str, *texts: str | None) -> bool:
    """Return whether filters or lists of paths name a property of frames. Raises FilterError.

    >>> names_property("latency", None, "api == 'X' and latency > 1s"), names_property("latency", "api == 'latency'")
    (True, False)
    """
    found = (token for text in texts if text for token in tokens(text))
    return any(token.kind == "path" and snake_case(str(token.value)) == name for token in found)


def parse_path(text: str, catalog: Catalog | None = None) -> FieldPath:
    """Parse the path of a field, in the syntax of `--fields`.

    Raises:
        FilterError: the text is not a path, or no message has such a field.

    >>> parse_path("topics[0].errorCode").steps
    (('topics', 0), ('error_code', None))
    """
    parser = _Parser(text, catalog or catalog_for())
    path, _ = parser.path()
    parser.end()
    return path


class _Operand(NamedTuple):
    """The operand of a test: a path, the fields that it can mean, and the kinds of their values."""

    path: FieldPath
    fields: list[tuple[MessageSpec, FieldSpec]]
    kinds: set[str]


Compiled = tuple[Holds, frozenset[str] | None]


class _Parser:
    """Parses a filter from left to right, and derives for each part which messages can match it."""

    def __init__(self, text: str, catalog: Catalog) -> None:
        if len(text) > MOST_TEXT:
            raise FilterError(text[:60], 0, f"a filter has at most {MOST_TEXT} characters, this one {len(text)}")
        self.text, self.catalog = text, catalog
        self._tokens = list(tokens(text))
        self._at = self._depth = 0

    def whole(self) -> Compiled:
        found = self._or()
        self.end()
        return found

    def end(self) -> None:
        if self._next.kind != "end":
            raise self._error("and, or, or the end of the filter is due here")

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _has(self, value: str) -> bool:
        found = self._next.kind in ("word", "sign") and self._next.value == value
        self._at += found
        return found

    def _error(self, problem: str, hint: str = "", column: int | None = None) -> FilterError:
        return FilterError(self.text, self._next.column if column is None else column, problem, hint)

    def _or(self) -> Compiled:
        holds, messages = self._and()
        while self._has("or"):
            other, more = self._and()
            holds = _either(holds, other)
            messages = None if messages is None or more is None else messages | more
        return holds, messages

    def _and(self) -> Compiled:
        holds, messages = self._not()
        while self._has("and"):
            other, more = self._not()
            holds = _both(holds, other)
            messages = more if messages is None else messages if more is None else messages & more
        return holds, messages

    def _not(self) -> Compiled:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise self._error(f"more than {MOST_DEPTH} levels of parentheses and not")
        try:
            if self._has("not"):
                holds, _ = self._not()
                return (lambda result: not holds(result)), None
            if self._has("("):
                found = self._or()
                if not self._has(")"):
                    raise self._error("a closing parenthesis is due here")
                return found
            return self._test()
        finally:
            self._depth -= 1

    def path(self) -> tuple[FieldPath, list[tuple[MessageSpec, FieldSpec]]]:
        """Read a path, and find the fields that match it; an empty list for a property of frames."""
        token = self._next
        if token.kind != "path":
            raise self._error("the name of a field is due here", "such as topics[].name, error_code or latency")
        self._take()
        steps = []
        for part in token.value.lstrip(".").split("."):
            name, _, index = part.rstrip("]").partition("[")
            steps.append((snake_case(name) if name != name.lower() else name, int(index) if index else None))
        path = FieldPath(token.value, tuple(steps))
        if path.property is not None:
            return path, []
        found = [(spec, member) for spec in self._messages for member in path.fields(spec)]
        if not found:
            raise self._unknown(path, token.column)
        return path, found

    @cached_property
    def _messages(self) -> list[MessageSpec]:
        specs = map(self.catalog.spec, self.catalog.names())
        return [spec for spec in specs if spec.type in ("request", "response")]

    def _unknown(self, path: FieldPath, column: int) -> FilterError:
        known = {".".join(way) for spec in self._messages for way, _ in fields_of(spec.struct)}
        name = path.steps[-1][0]
        last = sorted({way.rpartition(".")[2] for way in known} | set(PROPERTIES))
        dotted = ".".join(name for name, _ in path.steps)
        hint = suggestion(name, [one for one in last if one[0] == name[0]] or last)
        return self._error(f"no message has the field {dotted}", hint, column)

    def _test(self) -> Compiled:
        path, found = self.path()
        if not self._has("not"):
            return self._compared(path, found)
        if self._next.value != "in":
            raise self._error("in is due here", "such as api not in (fetch, produce)")
        holds, _ = self._compared(path, found)
        return (lambda result: not holds(result)), None

    def _compared(self, path: FieldPath, found: list[tuple[MessageSpec, FieldSpec]]) -> Compiled:
        """Read the comparison after a path; a path without one is true if any of its values is true."""
        messages = None if path.property is not None else frozenset(spec.name for spec, _ in found)
        token = self._next
        sign = token.value if token.kind in ("sign", "word") else ""
        if path.text == "api" and sign in ("==", "!=", "in"):
            return self._of_apis(path, self._take().value)
        if sign not in OPERATORS:
            return _any_value(path, bool), messages
        self._take()
        literals = self._list() if sign == "in" else [self._literal()]
        kinds = {path.property.kind} if path.property is not None else {kind_name(member) for _, member in found}
        holds = self._comparison(sign, literals, _Operand(path, found, kinds))
        return _any_value(path, holds), messages

    def _of_apis(self, path: FieldPath, sign: str) -> Compiled:
        """Compare the name of the api, in any form that commands accept: Metadata, METADATA, 3."""
        messages: set[str] = set()
        for literal in self._list() if sign == "in" else [self._literal()]:
            try:
                messages.update(self.catalog.named(str(literal.value)))
            except KwireError as error:
                raise self._error(str(error), column=literal.column) from None
        names = {self.catalog.spec(name).api_name for name in messages}
        if sign == "!=":
            return _any_value(path, lambda name: name not in names), None
        return _any_value(path, names.__contains__), frozenset(messages)

    def _list(self) -> list[Token]:
        if not self._has("("):
            raise self._error("a list is due here", 'such as ("orders", "payments")')
        literals = [self._literal()]
        while self._has(","):
            literals.append(self._literal())
        if not self._has(")"):
            raise self._error("a comma or a closing parenthesis is due here")
        return literals

    def _literal(self) -> Token:
        token = self._next
        if token.kind == "word" and token.value in ("true", "false", "null"):
            self._take()
            kind = "null" if token.value == "null" else "boolean"
            return Token(kind, {"true": True, "false": False, "null": None}[token.value], token.column)
        if token.kind not in ("text", "number", "path"):
            raise self._error("a value is due here", 'such as "orders", 20ms, true or NOT_LEADER_OR_FOLLOWER')
        self._take()
        return Token("name" if token.kind == "path" else token.kind, token.value, token.column)

    def _comparison(self, sign: str, literals: list[Token], operand: _Operand) -> Callable[[Any], bool]:
        values = [self._value(literal, operand) for literal in literals]
        if sign == "in":
            return lambda value: any(_compare(operator.eq, value, one) for one in values)
        one = values[0]
        if sign == "matches":
            pattern = self._pattern(literals[0])
            return lambda value: isinstance(value, str) and pattern.search(value)
        if sign == "contains":
            return lambda value: _contains(value, one)
        if sign not in ("==", "!=") and isinstance(one, bool | None):
            raise self._error(f"{sign} needs a number or a text", column=literals[0].column)
        return lambda value: _compare(COMPARISONS[sign], value, one)

    def _pattern(self, literal: Token) -> Pattern:
        try:
            return compile_pattern(literal.value if literal.kind == "text" else re.escape(str(literal.value)))
        except BadPattern as error:
            raise self._error(f"not a regular expression: {error}", column=literal.column) from None

    def _value(self, literal: Token, operand: _Operand) -> Any:
        """Return the value of a literal; a name means its number, if the field has named numbers."""
        if literal.kind == "name":
            return self._named(literal, operand)
        kinds = operand.kinds
        if "time" in kinds and literal.kind == "text":
            return self._moment(literal)
        fits = {"number": {"number", "time"}, "text": {"text", "uuid", "bytes"}, "boolean": {"boolean"}}
        if literal.kind != "null" and not fits[literal.kind] & kinds:
            kind = " or ".join(sorted(kinds))
            raise self._error(f"{operand.path.text} is {kind}, not {literal.kind}", column=literal.column)
        return literal.value

    def _moment(self, literal: Token) -> float:
        try:
            return seconds_of(literal.value)
        except ValueError:
            hint = "write it as 2026-11-21T09:30:00Z, or in seconds since 1970"
            raise self._error("no time", hint, literal.column) from None

    def _named(self, literal: Token, operand: _Operand) -> Any:
        path = operand.path
        if path.property is not None and path.property.kind == "text":
            return literal.value
        names: set[str] = set()
        for spec, member in operand.fields:
            kind = kind_of(spec.name, member.owner, member.json_name)
            if kind is not None:
                try:
                    return int(kind(literal.value))
                except KwireError:
                    names.update(kind.__members__)
        hint = suggestion(literal.value, sorted(names)) if names else f'a text is written "{literal.value}"'
        raise self._error(f"{literal.value} is not a value of {path.text}", hint, literal.column)


def _either(first: Holds, second: Holds) -> Holds:
    return lambda result: first(result) or second(result)


def _both(first: Holds, second: Holds) -> Holds:
    return lambda result: first(result) and second(result)


def _compare(compare: Callable[[Any, Any], bool], value: Any, wanted: Any) -> bool:
    """Compare a field's value with a literal; values of different types are unequal, and neither is less."""
    if isinstance(wanted, str) and isinstance(value, bytes):
        value, wanted = (uuid_text(value), wanted) if len(value) == 16 else (value.hex(), wanted.lower())
    if wanted is None or value is None:
        return value is wanted if compare is operator.eq else compare is operator.ne and value is not wanted
    same = isinstance(value, str) == isinstance(wanted, str) and isinstance(value, bool) == isinstance(wanted, bool)
    if not same or not isinstance(value, str | int | float):
        return compare is operator.ne
    return bool(compare(value, wanted))


def _contains(value: Any, part: Any) -> bool:
    if isinstance(value, str):
        return str(part) in value
    if isinstance(value, bytes):
        return str(part).encode() in value
    return _compare(operator.eq, value, part)
