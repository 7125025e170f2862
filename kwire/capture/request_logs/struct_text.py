"""Reads bodies as Kafka's `Struct.toString` printed them (before Kafka 2.7): `{topics=[{topic=orders,...}],timeout=9}`.

The fields stand in the order of the wire, so they are read by position: what classes called them then differs from
today's names. Strings are not quoted: one ends before the next field, or before the end of its array.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from ...errors import WrongType
from ...runtime.lazy_patterns import lazy_pattern
from ...schema.message_spec import FieldSpec, StructSpec

_NAME = lazy_pattern(r"(\w+)=")
_WORD = lazy_pattern(r"-?[\w.+-]+")
_END_OF_STRING = lazy_pattern(r",\w+=|\}")  # of a field of a struct
_END_OF_ITEM = lazy_pattern(r"[,\]]")
_BUFFER = lazy_pattern(
    r"[\w.]*Buffer\[pos=(\d+) lim=(\d+) cap=\d+\]|[\w.$]+@[0-9a-f]+|\w+Records\(size=(\d+)[^)]*\)|\[\]"
)
_WRAPPED = lazy_pattern(r"\{\w+=")
_PRODUCE = lazy_pattern(r"\{acks=(-?\d+),timeout=(\d+),partitionSizes=\[(.*)\]\}")  # ProduceRequest.toString
_BOOLEANS = {"false": False, "true": True, "0": False, "1": True}  # an int8 before Kafka 1.0
_INTEGERS = {"int8", "int16", "uint16", "int32", "uint32", "int64"}


class StructText:
    """Reads one text.

    Args:
        text: the text of a struct.
        version: the version of the message.

    Attributes:
        left_out: the bytes of records and other values of which the text has only the size.

    >>> from kwire.schema.catalog import catalog_for
    >>> text = StructText("{create_topic_requests=[{topic=a,num_partitions=1,replication_factor=1,replica_assignment=[]"
    ...     ",config_entries=[]}],timeout=9}", 0)
    >>> text.read(catalog_for().spec("CreateTopicsRequest").struct)["timeoutMs"]
    9
    """

    def __init__(self, text: str, version: int) -> None:
        self.left_out: int = 0
        self._text = text
        self._version = version
        self._at = 0

    def read(self, struct: StructSpec) -> dict[str, Any]:
        """Return the JSON form of a body.

        Raises:
            WrongType: the text does not match the struct.
        """
        produce = _PRODUCE.fullmatch(self._text)
        if produce is not None:
            return self._produce(*produce.groups())
        members = self._struct(struct)
        if self._at != len(self._text):
            raise self._make_error("the end of the body")
        return members

    def _produce(self, acks: str, timeout: str, sizes: str) -> dict[str, Any]:
        topics: dict[str, list[dict[str, Any]]] = {}
        for item in filter(None, sizes.split(",")):
            partition, _, size = item.strip().rpartition("=")
            topic, _, index = partition.rpartition("-")
            topics.setdefault(topic, []).append({"index": _integer(index), "records": ""})
            self.left_out += _integer(size)
        topic_data = [{"name": topic, "partitionData": rows} for topic, rows in topics.items()]
        members = {"acks": _integer(acks), "timeoutMs": _integer(timeout), "topicData": topic_data}
        return members if self._version < 3 else {"transactionalId": None, **members}

    def _struct(self, struct: StructSpec) -> dict[str, Any]:
        fields = self._fields(struct)
        if not self._text.startswith(
            "{", self._at
        ):  # `topics=[orders]`, where today's schema has a struct of one field
            field = next(fields)
            return {field.json_name: self._element(field, _END_OF_ITEM)}
        members: dict[str, Any] = {}
        self._members(fields, members)
        missing = next(fields, None)
        if missing is not None:
            raise self._make_error(f"field {missing.name}")
        return members

    def _fields(self, struct: StructSpec) -> Iterator[FieldSpec]:
        for field in struct.fields:
            if self._version in field.versions and self._version not in field.tagged_versions:
                yield field

    def _members(self, fields: Iterator[FieldSpec], members: dict[str, Any]) -> None:
        """Read `{name=value,...}`; a struct that only the classes of then had is read into the same members."""
        self._take("{")
        while not self._skip("}"):
            if members:
                self._skip(",")
            name = _NAME.match(self._text, self._at)
            if name is None:
                raise self._make_error("a field")
            self._at = name.end()
            if name[1] == "_tagged_fields":
                self._skip_braces()
                continue
            field = next(fields, None)
            if field is None:
                raise self._make_error("no further field")
            if field.struct is None and self._text.startswith("{", self._at):
                self._members(chain([field], fields), members)
            else:
                members[field.json_name] = self._value(field)

    def _value(self, field: FieldSpec) -> Any:
        if self._version in field.nullable_versions and self._ends_with_word("null"):
            self._at += 4
            return None
        if not field.is_array:
            return self._element(field, _END_OF_STRING)
        self._take("[")
        items: list[Any] = []
        while not self._skip("]"):
            if items:
                self._take(",")
            items.append(self._element(field, _END_OF_ITEM))
        return items

    def _element(self, field: FieldSpec, end_of_string: Any) -> Any:
        if field.struct is not None:
            return self._struct(field.struct)
        wrapped = _WRAPPED.match(self._text, self._at)
        if wrapped is not None:  # `{partition=0}`, where today's schema has the number itself
            self._at = wrapped.end()
            value = self._element(field, end_of_string)
            self._take("}")
            return value
        if field.element in ("bytes", "records"):
            return self._buffer()
        if field.element == "string":
            return self._string(end_of_string)
        return self._number(field.element)

    def _string(self, end_of_string: Any) -> str:
        end = end_of_string.search(self._text, self._at)
        if end is None:
            raise self._make_error("the end of a string")
        value = self._text[self._at : end.start()]
        self._at = end.start()
        return value

    def _number(self, kind: str) -> Any:
        word = _WORD.match(self._text, self._at)
        if word is None or (kind == "bool" and word[0] not in _BOOLEANS):
            raise self._make_error(f"a value of {kind}")
        self._at = word.end()
        if kind == "bool":
            return _BOOLEANS[word[0]]
        return _integer(word[0]) if kind in _INTEGERS else word[0]

    def _buffer(self) -> str | None:
        """Read bytes, of which the text has only the size, as empty bytes."""
        if self._ends_with_word("null"):
            self._at += 4
            return None
        match = _BUFFER.match(self._text, self._at)
        if match is None:
            raise self._make_error("a buffer")
        self._at = match.end()
        position, limit, size = match.groups()
        self.left_out += int(size or 0) + int(limit or 0) - int(position or 0)
        return ""

    def _ends_with_word(self, word: str) -> bool:
        end = self._at + len(word)
        return self._text.startswith(word, self._at) and self._text[end : end + 1] in (",", "}", "]")

    def _take(self, character: str) -> None:
        if not self._skip(character):
            raise self._make_error(repr(character))

    def _skip(self, character: str) -> bool:
        is_here = self._text.startswith(character, self._at)
        self._at += is_here
        return is_here

    def _skip_braces(self) -> None:
        """Skip `{...}`; the values of tagged fields are not read."""
        depth = 0
        while self._at < len(self._text):
            depth += {"{": 1, "}": -1}.get(self._text[self._at], 0)
            self._at += 1
            if not depth:
                return
        raise self._make_error("'}'")

    def _make_error(self, need: str) -> WrongType:
        return WrongType(need=need, found=repr(self._text[self._at : self._at + 30]))


def _integer(text: str) -> int:
    if not text.removeprefix("-").isdecimal() or len(text) > 20:
        raise WrongType(need="a number", found=repr(text[:30]))
    return int(text)
