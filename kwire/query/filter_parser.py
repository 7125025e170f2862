"""Parses display filters (--where) and checks them against the specs."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from ..codecs.json_writer import uuid_text
from ..errors import KwireError, suggestion
from ..protocol import Result
from ..runtime.regular_expressions import BadPattern, Pattern, compile_pattern
from ..schema.catalog import Catalog
from ..schema.field_names import snake_case
from ..schema.message_spec import FieldSpec, MessageSpec
from ..values import kind_of
from .field_path import FieldPath, fields_of, kind_name
from .filter_error import FilterError
from .frame_properties import PROPERTIES
from .times import seconds_of
from .tokens import COMPARISONS, OPERATORS, FilterToken, split_tokens

MOST_TEXT, MOST_DEPTH = 10_000, 100  # most characters of a filter; deepest nesting of parentheses and `not`
Holds = Callable[[Result], bool]
Compiled = tuple[Holds, frozenset[str] | None]


def _any_value(path: FieldPath, holds: Callable[[Any], bool]) -> Holds:
    """Return a function that tests whether `holds` is true for any value at a path."""
    return lambda result: any(holds(value) for value in path.values(result))


class _Operand(NamedTuple):
    """The operand of a test: a path, the fields that it can mean, and the kinds of their values."""

    path: FieldPath
    fields: list[tuple[MessageSpec, FieldSpec]]
    kinds: set[str]


class FilterParser:
    """Parses a filter from left to right, and derives for each part which messages can match it."""

    def __init__(self, text: str, catalog: Catalog) -> None:
        if len(text) > MOST_TEXT:
            raise FilterError(text[:60], 0, f"a filter has at most {MOST_TEXT} characters, this one {len(text)}")
        self.text, self.catalog = text, catalog
        self._tokens = list(split_tokens(text))
        self._at = self._depth = 0

    def whole(self) -> Compiled:
        """Parse the whole filter."""
        compiled = self._parse_or()
        self.end()
        return compiled

    def end(self) -> None:
        """Raise FilterError unless all tokens are parsed."""
        if self._next.kind != "end":
            raise self._error("and, or, or the end of the filter is due here")

    @property
    def _next(self) -> FilterToken:
        return self._tokens[self._at]

    def _take(self) -> FilterToken:
        self._at += 1
        return self._tokens[self._at - 1]

    def _accept(self, value: str) -> bool:
        is_next = self._next.kind in ("word", "sign") and self._next.value == value
        self._at += is_next
        return is_next

    def _error(self, problem: str, hint: str = "", column: int | None = None) -> FilterError:
        return FilterError(self.text, self._next.column if column is None else column, problem, hint)

    def _parse_or(self) -> Compiled:
        holds, messages = self._parse_and()
        while self._accept("or"):
            other, more = self._parse_and()
            holds = _either(holds, other)
            messages = None if messages is None or more is None else messages | more
        return holds, messages

    def _parse_and(self) -> Compiled:
        holds, messages = self._parse_not()
        while self._accept("and"):
            other, more = self._parse_not()
            holds = _both(holds, other)
            if messages is None or more is None:
                messages = more if messages is None else messages
            else:
                messages &= more
        return holds, messages

    def _parse_not(self) -> Compiled:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise self._error(f"more than {MOST_DEPTH} levels of parentheses and not")
        try:
            if self._accept("not"):
                holds, _ = self._parse_not()
                return (lambda result: not holds(result)), None
            if self._accept("("):
                compiled = self._parse_or()
                if not self._accept(")"):
                    raise self._error("a closing parenthesis is due here")
                return compiled
            return self._parse_test()
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
        fields = [(spec, member) for spec in self._messages for member in path.fields(spec)]
        if not fields:
            raise self._unknown_field_error(path, token.column)
        return path, fields

    @cached_property
    def _messages(self) -> list[MessageSpec]:
        specs = map(self.catalog.spec, self.catalog.names())
        return [spec for spec in specs if spec.type in ("request", "response")]

    def _unknown_field_error(self, path: FieldPath, column: int) -> FilterError:
        known = {attributes[-1] for spec in self._messages for attributes, _ in fields_of(spec.struct)}
        names = sorted(known | set(PROPERTIES))
        wanted = path.steps[-1][0]
        dotted = ".".join(name for name, _ in path.steps)
        hint = suggestion(wanted, [name for name in names if name[0] == wanted[0]] or names)
        return self._error(f"no message has the field {dotted}", hint, column)

    def _parse_test(self) -> Compiled:
        path, fields = self.path()
        if not self._accept("not"):
            return self._parse_comparison(path, fields)
        if self._next.value != "in":
            raise self._error("in is due here", "such as api not in (fetch, produce)")
        holds, _ = self._parse_comparison(path, fields)
        return (lambda result: not holds(result)), None

    def _parse_comparison(self, path: FieldPath, fields: list[tuple[MessageSpec, FieldSpec]]) -> Compiled:
        """Read the comparison after a path; a path without one is true if any of its values is true."""
        messages = None if path.property is not None else frozenset(spec.name for spec, _ in fields)
        token = self._next
        sign = token.value if token.kind in ("sign", "word") else ""
        if path.text == "api" and sign in ("==", "!=", "in"):
            return self._parse_apis(path, self._take().value)
        if sign not in OPERATORS:
            return _any_value(path, bool), messages
        self._take()
        literals = self._parse_list() if sign == "in" else [self._parse_literal()]
        kinds = {path.property.kind} if path.property is not None else {kind_name(member) for _, member in fields}
        holds = self._build_comparison(sign, literals, _Operand(path, fields, kinds))
        return _any_value(path, holds), messages

    def _parse_apis(self, path: FieldPath, sign: str) -> Compiled:
        """Compare the name of the api, in any form that commands accept: Metadata, METADATA, 3."""
        messages: set[str] = set()
        for literal in self._parse_list() if sign == "in" else [self._parse_literal()]:
            try:
                messages.update(self.catalog.named(str(literal.value)))
            except KwireError as error:
                raise self._error(str(error), column=literal.column) from None
        names = {self.catalog.spec(name).api_name for name in messages}
        if sign == "!=":
            return _any_value(path, lambda name: name not in names), None
        return _any_value(path, names.__contains__), frozenset(messages)

    def _parse_list(self) -> list[FilterToken]:
        if not self._accept("("):
            raise self._error("a list is due here", 'such as ("orders", "payments")')
        literals = [self._parse_literal()]
        while self._accept(","):
            literals.append(self._parse_literal())
        if not self._accept(")"):
            raise self._error("a comma or a closing parenthesis is due here")
        return literals

    def _parse_literal(self) -> FilterToken:
        token = self._next
        if token.kind == "word" and token.value in ("true", "false", "null"):
            self._take()
            kind = "null" if token.value == "null" else "boolean"
            return FilterToken(kind, {"true": True, "false": False, "null": None}[token.value], token.column)
        if token.kind not in ("text", "number", "path"):
            raise self._error("a value is due here", 'such as "orders", 20ms, true or NOT_LEADER_OR_FOLLOWER')
        self._take()
        return FilterToken("name" if token.kind == "path" else token.kind, token.value, token.column)

    def _build_comparison(self, sign: str, literals: list[FilterToken], operand: _Operand) -> Callable[[Any], bool]:
        values = [self._convert_literal(literal, operand) for literal in literals]
        if sign == "in":
            return lambda value: any(_compare(operator.eq, value, wanted) for wanted in values)
        wanted = values[0]
        if sign == "matches":
            pattern = self._compile_pattern(literals[0])
            return lambda value: isinstance(value, str) and pattern.search(value)
        if sign == "contains":
            return lambda value: _contains(value, wanted)
        if sign not in ("==", "!=") and isinstance(wanted, bool | None):
            raise self._error(f"{sign} needs a number or a text", column=literals[0].column)
        return lambda value: _compare(COMPARISONS[sign], value, wanted)

    def _compile_pattern(self, literal: FilterToken) -> Pattern:
        try:
            return compile_pattern(literal.value if literal.kind == "text" else re.escape(str(literal.value)))
        except BadPattern as error:
            raise self._error(f"not a regular expression: {error}", column=literal.column) from None

    def _convert_literal(self, literal: FilterToken, operand: _Operand) -> Any:
        """Return the value of a literal; a name means its number, if the field has named numbers."""
        if literal.kind == "name":
            return self._convert_name(literal, operand)
        kinds = operand.kinds
        if "time" in kinds and literal.kind == "text":
            return self._convert_time(literal)
        fits = {"number": {"number", "time"}, "text": {"text", "uuid", "bytes"}, "boolean": {"boolean"}}
        if literal.kind != "null" and not fits[literal.kind] & kinds:
            kind = " or ".join(sorted(kinds))
            raise self._error(f"{operand.path.text} is {kind}, not {literal.kind}", column=literal.column)
        return literal.value

    def _convert_time(self, literal: FilterToken) -> float:
        try:
            return seconds_of(literal.value)
        except ValueError:
            hint = "write it as 2026-11-21T09:30:00Z, or in seconds since 1970"
            raise self._error("no time", hint, literal.column) from None

    def _convert_name(self, literal: FilterToken, operand: _Operand) -> Any:
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
