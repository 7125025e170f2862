"""Completion inside a display filter (--where): fields, then operators, then values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from ...errors import KwireError
from .command_line import Candidates, CommandLine, matching_words
from .completion_values import complete_apis, complete_clients, complete_topics, first_results

if TYPE_CHECKING:
    from ...query.tokens import FilterToken
    from ...schema.message_spec import MessageSpec, StructSpec

OPERATORS = {
    "==": "equal",
    "!=": "not equal",
    "<": "",
    "<=": "",
    ">": "",
    ">=": "",
    "in (": "one of a list",
    "not in (": "none of a list",
    "contains": "a part of a text",
    "matches": "a regular expression",
}


def complete_filter(line: CommandLine) -> Candidates:
    """Return the possible continuations of a display filter: fields, then operators, then values; each after the text
    so far.
    """
    from ...query.filter_error import FilterError
    from ...query.tokens import split_tokens

    text = line.word
    is_open = text.count('"') % 2 == 1
    start = text.rindex('"') if is_open else len(text) - len(re.search(r"[\w.\[\]]*$", text)[0])  # type: ignore[index]
    try:
        filter_ = FilterWords(line, [token for token in split_tokens(text[:start]) if token.kind != "end"])
    except FilterError:
        return {}
    words = matching_words(text[start:], filter_.next_words(text[start:]))
    # A single word is offered with its continuation as well, so that no shell closes the quote.
    if filter_.is_list and len(words) == 1:
        words = {f"{name}{sign}": about for name, about in words.items() for sign in (",", ")")}
    elif filter_.expected == "field" and len(words) == 1:
        words = {f"{name} {sign}": about for name in words for sign, about in OPERATORS.items()}
    return {text[:start] + word: about for word, about in words.items()}


class FilterWords:
    """The words of a display filter before the cursor.

    Attributes:
        expected: what follows: `field`, `operator`, `value` or `end`, which means the end of a test.
        is_list: whether the next word is inside the parentheses of a list.
    """

    def __init__(self, line: CommandLine, words: list[FilterToken]) -> None:
        self.line = line
        self.expected: str = "field"
        self.is_list: bool = False
        self._field = ""
        self._apis = [api for option, api in pairwise(line.before) if option == "--api"]
        for token in words:
            self._take(token)

    def _take(self, token: FilterToken) -> None:
        from ...query.tokens import OPERATORS as BEFORE_VALUES

        word, is_sign = str(token.value), token.kind in ("sign", "word")
        self.is_list = is_sign and (word == "," or (word == "(" and self.expected == "value"))
        if is_sign and word in ("and", "or"):
            self.expected = "field"
        elif token.kind == "path" and self.expected == "field":
            self._field, self.expected = word, "operator"
        elif is_sign and (word in BEFORE_VALUES or word == ","):
            self.expected = "value"
        elif not (is_sign and word in ("not", "(")):
            if self._field == "api" and token.kind in ("path", "text"):
                self._apis.append(word)
            self.expected = "end"

    def next_words(self, part: str) -> Candidates:
        """Return the possible next words; `part` is the beginning of the word."""
        if self.expected == "end":
            return dict.fromkeys(("and", "or"), "")
        if self.expected == "operator":
            return OPERATORS
        return self._fields(part) if self.expected == "field" else self._values()

    def _specs(self) -> list[MessageSpec]:
        """Return the specs of the apis that the filter names, or else of the messages in the files on the line."""
        from ...schema.catalog import catalog_for

        names: dict[str, None] = {}
        for api in self._apis:
            with suppress(KwireError):
                names |= dict.fromkeys(catalog_for().named(api.partition(":")[0]))
        if self._apis:
            return [catalog_for().spec(name) for name in names]
        codecs = (result.codec for result in first_results(self.line.files) if result.codec is not None)
        return list({codec.spec.name: codec.spec for codec in codecs}.values())

    def _fields(self, part: str) -> Candidates:
        """Return properties, and the matching fields of the named messages, or of all messages if the named ones have
        none.
        """
        from ...schema.catalog import catalog_for

        fields = self._fields_of(self._specs(), part)
        catalog = catalog_for()
        return fields if matching_words(part, fields) else self._fields_of(map(catalog.spec, catalog.names()), part)

    def _fields_of(self, specs: Iterable[MessageSpec], part: str) -> Candidates:
        from ...query.frame_properties import PROPERTIES

        whole = {path: "" for spec in specs for path in _paths(spec.struct)}
        if "." in part or "[" in part:
            return whole
        leaves = dict.fromkeys(sorted({path.rpartition(".")[2].removesuffix("[]") for path in whole}), "")
        return {name: property_.about for name, property_ in PROPERTIES.items()} | leaves

    def _values(self) -> Candidates:
        if self._field == "api":
            return complete_apis(CommandLine([], "", self.line.parser))
        if self._field == "type":
            return dict.fromkeys(("request", "response", "token", "undecodable"), "")
        if self._field == "client_id":
            return {f'"{client}"': "" for client in complete_clients(self.line)}
        return self._field_values()

    def _field_values(self) -> Candidates:
        """Return the named values of a field, or the topics in the files."""
        from ...query.display_filter import parse_path
        from ...query.field_path import kind_name
        from ...values import kind_of

        try:
            path = parse_path(self._field)
        except KwireError:
            return {}
        fields = [(spec, member) for spec in self._specs() for member in path.fields(spec)]
        kinds = {kind_of(spec.name, member.owner, member.json_name) for spec, member in fields}
        words = {str(value): "" for kind in kinds if kind is not None for value in kind}
        if any(kind_name(member) == "boolean" for _, member in fields):
            words |= dict.fromkeys(("true", "false"), "")
        if any(member.entity_type == "topicName" for _, member in fields):
            words |= {f'"{topic}"': "" for topic in complete_topics(self.line)}
        return words


def _paths(struct: StructSpec, above: str = "") -> Iterator[str]:
    """Yield the paths of all fields of a struct in the syntax of filters: `topics[].name`."""
    for member in struct.fields:
        path = f"{above}{member.attribute}" + "[]" * (member.is_array and member.struct is not None)
        yield path
        if member.struct is not None:
            yield from _paths(member.struct, f"{path}.")
