"""Parses display filters (--where) and checks them against the specs."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

from ..codecs.json_writer import uuid_text
from ..errors import KwireError, suggestion
from ..runtime.regular_expressions import BadPattern, Pattern, compile_pattern
from ..schema.catalog import Catalog
from ..schema.field_names import snake_case
from ..schema.spec_layers import WIRE_TYPES
from ..values import kind, kind_of
from .expression import Comparison, Every, Expression, Negation, Some
from .field_path import FieldPath, kind_name
from .filter_error import FilterError
from .known_fields import KnownFields, fields_at, names_in_filters
from .record_properties import DISK_FIELDS, RECORD_PROPERTIES
from .times import seconds_of
from .tokens import COMPARISONS, OPERATORS, FilterToken, split_tokens

MOST_TEXT, MOST_DEPTH = 10_000, 100  # most characters of a filter; deepest nesting of parentheses and `not`


KINDS_BY_SCHEMA = frozenset(("number", "text", "boolean", "struct"))  # what JSON has


class Operand(NamedTuple):
    """The operand of a test: a path, the fields that it can mean, and the kinds of their values.

    Attributes:
        path: the path.
        fields: the fields of messages, with their messages; none where the path names a property.
        own_kinds: the kinds of the values of properties.
    """

    path: FieldPath
    fields: KnownFields
    own_kinds: frozenset[str]

    def has_kind(self, kinds: Collection[str]) -> bool:
        """Whether values can be number, text, boolean, uuid, bytes, struct, time or milliseconds: one of some kinds."""
        return not self.own_kinds.isdisjoint(kinds) or any(kind_name(member) in kinds for _, member in self.fields)

    @property
    def kinds(self) -> frozenset[str]:
        """All kinds of the values."""
        return self.own_kinds | {kind_name(member) for _, member in self.fields}

    def messages(self) -> frozenset[str] | None:
        """Return the names of the requests and responses with such a field; None for a property of frames."""
        if self.path.property is not None:
            return None
        return frozenset(spec.name for spec, _ in self.fields if spec.type in WIRE_TYPES)

    @property
    def choices(self) -> tuple[str, ...]:
        """The only values of a property; empty if it has others."""
        known = (self.path.property, RECORD_PROPERTIES.get(self.path.name))
        return tuple(choice for property_ in known if property_ is not None for choice in property_.choices)


class FilterParser:
    """Parses a filter from left to right, and derives for each part which messages can match it."""

    def __init__(self, text: str, catalog: Catalog) -> None:
        if len(text) > MOST_TEXT:
            raise FilterError(text[:60], 0, f"a filter has at most {MOST_TEXT} characters, this one {len(text)}")
        self.text: str = text
        self.catalog: Catalog = catalog
        self._tokens = list(split_tokens(text))
        self._at = self._depth = 0

    def whole(self) -> Expression:
        """Parse the whole filter."""
        expression = self._parse_or()
        self.end()
        return expression

    def end(self) -> None:
        """Raise FilterError unless all tokens are parsed."""
        if self._next.kind != "end":
            raise self._error("expected and, or, or the end of the filter")

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

    def _parse_or(self) -> Expression:
        parts = [self._parse_and()]
        while self._accept("or"):
            parts.append(self._parse_and())
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _parse_and(self) -> Expression:
        parts = [self._parse_not()]
        while self._accept("and"):
            parts.append(self._parse_not())
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def _parse_not(self) -> Expression:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise self._error(f"more than {MOST_DEPTH} levels of parentheses and not")
        try:
            if self._accept("not"):
                return Negation(self._parse_not())
            if self._accept("("):
                expression = self._parse_or()
                if not self._accept(")"):
                    raise self._error("expected a closing parenthesis")
                return expression
            return self._parse_test()
        finally:
            self._depth -= 1

    def path(self) -> Operand:
        """Read a path, and find what it can mean: properties, and fields of messages."""
        token = self._next
        if token.kind != "path":
            raise self._error("expected the name of a field, such as topics[].name, error_code or latency")
        self._take()
        steps = []
        for part in token.value.lstrip(".").split("."):
            name, _, index = part.rstrip("]").partition("[")
            steps.append((name, int(index) if index else None))
        path = FieldPath(token.value, tuple(steps))
        if path.part:
            return Operand(path, KnownFields(iter(())), KINDS_BY_SCHEMA)
        attributes = ((snake_case(name) if name != name.lower() else name, index) for name, index in steps)
        return self._find_operand(FieldPath(token.value, tuple(attributes)), token.column)

    def _find_operand(self, path: FieldPath, column: int) -> Operand:
        """Return what a path can mean. A property has precedence over fields with its name."""
        of_frames, of_records = path.property, RECORD_PROPERTIES.get(path.name)
        known = fields_at(path, self.catalog) if of_frames is None else iter(())
        fields = KnownFields(field for field in known if of_records is None or field[0].type in WIRE_TYPES)
        kinds = {known.kind for known in (of_frames, of_records) if known is not None}
        if path.name in DISK_FIELDS:
            kinds.add("text" if path.name in ("topic", "topic_id") else "number")
        if not kinds and not any(True for _ in fields):
            raise self._unknown_field_error(path, column)
        return Operand(path, fields, frozenset(kinds))

    def _unknown_field_error(self, path: FieldPath, column: int) -> FilterError:
        names = names_in_filters(self.catalog)
        wanted = path.steps[-1][0]
        dotted = ".".join(name for name, _ in path.steps)
        hint = suggestion(wanted, [name for name in names if name[0] == wanted[0]] or names)
        return self._error(f"no message has the field {dotted}", hint, column)

    def _parse_test(self) -> Expression:
        following = self._tokens[self._at + 1 : self._at + 2]
        if self._next.value == "exists" and following and following[0].value == "(":
            return self._parse_exists()
        operand = self.path()
        if not self._accept("not"):
            return self._parse_comparison(operand)
        if self._next.value != "in":
            raise self._error("expected in, such as api not in (fetch, produce)")
        return Negation(self._parse_comparison(operand))

    def _parse_exists(self) -> Expression:
        """Read `exists(path)`, which holds if the frame has the property, or the field on the wire."""
        self._at += 2
        operand = self.path()
        if not self._accept(")"):
            raise self._error("expected a closing parenthesis")
        return Comparison(replace(operand.path, is_whole=True), lambda value: True, operand.messages)

    def _parse_comparison(self, operand: Operand) -> Expression:
        """Read the comparison after a path; a path without one is true if any of its values is true."""
        path, token = operand.path, self._next
        sign = token.value if token.kind in ("sign", "word") else ""
        if path.text == "api" and sign in ("==", "!=", "in"):
            return self._parse_apis(path, self._take().value)
        if sign not in OPERATORS:
            return Comparison(path, bool, operand.messages)
        self._take()
        literals = self._parse_list() if sign == "in" else [self._parse_literal()]
        return Comparison(path, self._build_comparison(sign, literals, operand), operand.messages)

    def _parse_apis(self, path: FieldPath, sign: str) -> Expression:
        """Compare the name of the api, in any form that commands accept: Metadata, METADATA, 3."""
        messages: set[str] = set()
        for literal in self._parse_list() if sign == "in" else [self._parse_literal()]:
            try:
                messages.update(self.catalog.named(str(literal.value)))
            except KwireError as error:
                raise self._error(str(error), column=literal.column) from None
        names = {self.catalog.spec(name).api_name for name in messages}
        if sign == "!=":
            return Comparison(path, lambda name: name not in names)
        return Comparison(path, names.__contains__, lambda: frozenset(messages))

    def _parse_list(self) -> list[FilterToken]:
        if not self._accept("("):
            raise self._error('expected a list, such as ("orders", "payments")')
        literals = [self._parse_literal()]
        while self._accept(","):
            literals.append(self._parse_literal())
        if not self._accept(")"):
            raise self._error("expected a comma or a closing parenthesis")
        return literals

    def _parse_literal(self) -> FilterToken:
        token = self._next
        if token.kind == "word" and token.value in ("true", "false", "null"):
            self._take()
            kind = "null" if token.value == "null" else "boolean"
            return FilterToken(kind, {"true": True, "false": False, "null": None}[token.value], token.column)
        if token.kind not in ("text", "number", "path"):
            raise self._error('expected a value, such as "orders", 20ms, true or NOT_LEADER_OR_FOLLOWER')
        self._take()
        return FilterToken("name" if token.kind == "path" else token.kind, token.value, token.column)

    def _build_comparison(self, sign: str, literals: list[FilterToken], operand: Operand) -> Callable[[Any], Any]:
        if sign in ("contains", "matches"):
            values = [self._check_kind(literal, operand) for literal in literals]
        else:
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
        compare = COMPARISONS[sign]
        types = _COMPARABLE.get(type(wanted), ())
        return lambda value: compare(value, wanted) if type(value) in types else _compare(compare, value, wanted)

    def _compile_pattern(self, literal: FilterToken) -> Pattern:
        try:
            return compile_pattern(literal.value if literal.kind == "text" else re.escape(str(literal.value)))
        except BadPattern as error:
            raise self._error(f"not a regular expression: {error}", column=literal.column) from None

    def _convert_literal(self, literal: FilterToken, operand: Operand) -> Any:
        """Return the value of a literal; a name means its number, if the field has named numbers."""
        known = operand.path.property
        if known is not None and known.enum:
            return self._convert_enum(literal, known.enum)
        if operand.choices:
            return self._convert_choice(literal, operand)
        if literal.kind == "name":
            return self._convert_name(literal, operand)
        if literal.kind == "text" and not operand.own_kinds.isdisjoint(("time", "milliseconds")):
            return self._convert_time(literal) * (1000 if "milliseconds" in operand.own_kinds else 1)
        return self._check_kind(literal, operand)

    def _check_kind(self, literal: FilterToken, operand: Operand) -> Any:
        """Return the value of a literal whose kind the operand can have."""
        numbers = {"number", "time", "milliseconds"}
        fits = {"number": numbers, "text": {"text", "uuid", "bytes"}, "boolean": {"boolean"}, "name": {"text"}}
        if literal.kind != "null" and not operand.has_kind(fits[literal.kind]):
            expected = " or ".join(sorted(operand.kinds))
            raise self._error(f"{operand.path.text} is {expected}, not {literal.kind}", column=literal.column)
        return literal.value

    def _convert_choice(self, literal: FilterToken, operand: Operand) -> str:
        choices = {choice.casefold(): choice for choice in operand.choices}
        choice = choices.get(str(literal.value).casefold())
        if choice is None:
            hint = (
                suggestion(str(literal.value), operand.choices) or f"one of {', '.join(dict.fromkeys(operand.choices))}"
            )
            raise self._error(f"{literal.value} is not a value of {operand.path.text}", hint, literal.column)
        return choice

    def _convert_enum(self, literal: FilterToken, name: str) -> str:
        """Return the name of a number of a kind, such as ErrorCode."""
        try:
            return str(kind(name)(literal.value))
        except (KwireError, ValueError, TypeError):
            hint = suggestion(str(literal.value), sorted(kind(name).__members__)) or "kwire errors lists them"
            raise self._error(f"{literal.value} is not the name of an error", hint, literal.column) from None

    def _convert_time(self, literal: FilterToken) -> float:
        try:
            return seconds_of(literal.value)
        except ValueError:
            hint = "write it as 2026-11-21T09:30:00Z, or in seconds since 1970"
            raise self._error("no time", hint, literal.column) from None

    def _convert_name(self, literal: FilterToken, operand: Operand) -> Any:
        path = operand.path
        if path.property is not None and path.property.kind == "text":
            return literal.value
        names: set[str] = set()
        for spec, member in operand.fields:
            values = kind_of(spec.name, member.owner, member.json_name)
            if values is not None:
                try:
                    return int(values(literal.value))
                except KwireError:
                    names.update(values.__members__)
        hint = suggestion(literal.value, sorted(names)) if names else f'a text is written "{literal.value}"'
        raise self._error(f"{literal.value} is not a value of {path.text}", hint, literal.column)


_COMPARABLE = {int: (int, float), float: (int, float), str: (str,)}  # by the type of a literal: most values


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
