"""Containers: arrays, structs with their fields, nullable structs, and tagged fields (KIP-482).

A tagged section is a count, followed by tag, size and value of each field, in ascending order of the tags. Known tags
become fields; the unknown tags of a struct are kept as one raw slice of bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import singledispatch
from itertools import pairwise
from typing import Any, NamedTuple

from ..errors import (
    BadLength,
    BadMarker,
    BadTag,
    BadUnknownTags,
    DecodeError,
    DefaultTag,
    NotInVersion,
    TagOfOtherVersion,
    TagOrder,
    TagSize,
    TagTwice,
    UnknownTagOrder,
    WrongType,
    excerpt,
)
from .primitives import (
    COMPACT_LENGTH,
    INT8,
    INT32_LENGTH,
    UNSIGNED_VARINT,
    Boolean,
    Bytes,
    Float64,
    Integer,
    Node,
    Reader,
    String,
    Subconstruct,
    Uuid,
    Writer,
    int32,
    read_length,
    short_varint,
    unsigned_varint,
    write_length,
)

HIGHEST_TAG = 2**31 - 2  # Kafka's writer does not write 2147483647


class TaggedFields(Node):
    """The tagged section of a struct.

    Args:
        fields: the known fields (`structs.Field`) by tag.
        foreign: tags that belong to other versions of the struct; Kafka refuses them.
    """

    type_name: str = "tagged fields"
    least: int = 1

    def __init__(self, fields: Mapping[int, Any], foreign: Iterable[int] = ()) -> None:
        super().__init__()
        self.fields: dict[int, Any] = dict(sorted(fields.items()))
        self.foreign: frozenset[int] = frozenset(foreign) - self.fields.keys()

    def read_into(self, values: dict[str, Any], stream: Reader) -> None:
        """Read the section; store known fields and the slice `unknown_tags` in `values`."""
        _Section(self, values, stream).read()

    def write_from(self, obj: Any, stream: Writer) -> None:
        """Write the known fields that differ from their defaults, with the unknown fields between them."""
        entries = [(tag, unsigned_varint(len(raw)) + raw) for tag, raw in self._known(obj, stream)]
        unknown = has_tags(obj.unknown_tags)
        if unknown and not entries:
            stream.out += self.unknown_section(obj.unknown_tags, stream)
            return
        if unknown:
            entries += self.unknown_entries(obj.unknown_tags, stream)
            entries.sort(key=lambda entry: entry[0])
        stream.out += unsigned_varint(len(entries))
        for tag, sized in entries:
            stream.out += unsigned_varint(tag) + sized

    def _known(self, obj: Any, stream: Writer) -> Iterable[tuple[int, bytes]]:
        outer = stream.out
        for tag, field in self.fields.items():
            value = getattr(obj, field.name)
            if not is_default(value, field.default):
                stream.out = bytearray()
                stream.child(field.name, field.subcon, value)
                yield tag, bytes(stream.out)
        stream.out = outer

    def unknown_section(self, raw: Any, stream: Writer) -> bytes:
        """Write a section with only unknown tags. A slice in canonical form is copied."""
        if isinstance(raw, bytes):
            stop, left, _ = pass_unknown(raw, 0, len(raw), -1, self.foreign | self.fields.keys())
            if stop == len(raw):
                return unsigned_varint(len(raw) - left) + raw
        entries = self.unknown_entries(raw, stream)
        return unsigned_varint(len(entries)) + b"".join(unsigned_varint(tag) + sized for tag, sized in entries)

    def unknown_entries(self, raw: Any, stream: Writer) -> list[tuple[int, bytes]]:
        """Check a slice of unknown tags and split it: return the tag of each field, with its size and data as raw
        bytes.
        """
        if not isinstance(raw, bytes | bytearray):
            stream.refuse(BadUnknownTags, found=f"{type(raw).__name__} is not bytes")
        try:
            tags = split_tags(raw)
        except DecodeError as error:
            stream.refuse(BadUnknownTags, found=error.reason)
        numbers = [tag for tag, _ in tags]
        if any(left >= right for left, right in pairwise(numbers)):
            stream.refuse(BadUnknownTags, found=f"{numbers[:20]} do not ascend")
        clash = [tag for tag in numbers if tag in self.fields or tag in self.foreign or tag > HIGHEST_TAG]
        if clash:
            stream.refuse(BadUnknownTags, found=f"tag {clash[0]} is not an unknown one")
        return [(tag, unsigned_varint(len(data)) + data) for tag, data in tags]


class _Section:
    """One tagged section being read."""

    def __init__(self, node: TaggedFields, values: dict[str, Any], stream: Reader) -> None:
        self.node, self.values, self.stream = node, values, stream
        self.unknown = bytearray()
        self.last = self.last_unknown = -1
        self.seen: dict[int, tuple[int, int]] = {}  # the range of bytes of each known tag

    def read(self) -> None:
        stream = self.stream
        count = stream.child("tagged_fields", _TAG_COUNT)
        try:
            while count:
                if type(stream) is Reader:  # these have no path, and are not traced
                    count = self.pass_unknown(count)
                if count:
                    self.tag()
                    count -= 1
        finally:
            if self.unknown:
                self.values["unknown_tags"] = bytes(self.unknown)

    def pass_unknown(self, count: int) -> int:
        """Read unknown tags while they are in canonical form; return how many tags of any kind are left."""
        stream, start = self.stream, self.stream.pos
        taken = self.node.foreign | self.node.fields.keys()
        stop, left, last = pass_unknown(stream.data, start, count, self.last, taken, stream.end)
        if left < count:
            stream.pos, self.last, self.last_unknown = stop, last, last
            self.unknown += stream.data[start:stop]
        return left

    def tag(self) -> None:
        stream = self.stream
        start = stream.pos
        stream.path.append("tagged_fields")
        tag: int = UNSIGNED_VARINT._parse(stream, None, "")
        behind = stream.pos
        size: int = UNSIGNED_VARINT._parse(stream, None, "")
        field = self.node.fields.get(tag)
        stream.path[-1] = "unknown_tags" if field is None else field.name
        self.check(tag, start, stream.data[start:behind])
        if field is None:
            self.unknown_tag(tag, size, start, behind)
        else:
            self.known_tag(tag, size, field, start)
        self.last = max(self.last, tag)

    def check(self, tag: int, start: int, raw: bytes) -> None:
        stream = self.stream
        if tag in self.node.foreign:
            stream.refuse(TagOfOtherVersion, start, found=tag)
        if tag > HIGHEST_TAG:
            stream.refuse_unwritable(BadTag, start, found=tag)
        elif tag not in self.node.fields and tag <= self.last_unknown:
            stream.refuse_unwritable(UnknownTagOrder, start, found=tag, need=self.last_unknown)
        if tag in self.seen:
            former = self.seen[tag]
            stream.fault(TagTwice, start, found=tag, raw=stream.data[slice(*former)])
            if stream.unwritable:  # Kafka does not write the former value again
                stream.unwritable.difference_update(range(*former))
        elif tag < self.last:
            stream.fault(TagOrder, start, found=tag, need=self.last, raw=raw)

    def unknown_tag(self, tag: int, size: int, start: int, behind: int) -> None:
        stream = self.stream
        stream.path.append(tag)
        if size > stream.end - stream.pos:
            stream.refuse(BadLength, behind, found=size, need=size, have=stream.end - stream.pos)
        data = stream.take(size)
        stream.mark(start, "unknown tag", data)
        del stream.path[-2:]
        self.last_unknown = tag
        self.unknown += (
            unsigned_varint(tag) + unsigned_varint(size) + data
        )  # the raw bytes, in case a varint is overlong

    def known_tag(self, tag: int, size: int, field: Any, start: int) -> None:
        stream = self.stream
        begin = stream.pos
        stream.mark(start, "tag, size", (tag, size))
        stream.path.pop()
        stream.tagged += 1
        value = stream.child(field.name, field.subcon)
        stream.tagged -= 1
        self.values[field.name] = value
        self.seen[tag] = start, stream.pos
        stream.path.append(field.name)
        if stream.pos - begin != size:
            stream.fault(TagSize, start, found=size, have=stream.pos - begin, raw=stream.data[start:begin])
        if is_default(value, field.default):
            stream.note(DefaultTag, start, found=tag, raw=stream.data[slice(*self.seen[tag])])
        stream.path.pop()


class _TagCount(Node):
    """The number of tagged fields that follow; each takes at least two bytes."""

    type_name: str = "tag count"
    least: int = 1

    def _parse(self, stream: Reader, context: Any, path: str) -> int:
        start = stream.pos
        count: int = UNSIGNED_VARINT._parse(stream, context, path)
        left = stream.end - stream.pos
        if count * 2 > left:
            stream.refuse(BadLength, start, found=count, need=count * 2, have=left)
        return count


_TAG_COUNT = _TagCount()


def pass_unknown(
    data: bytes, position: int, count: int, last: int, taken: Collection[int], end: int | None = None
) -> tuple[int, int, int]:
    """Skip unknown tags in canonical form: in ascending order, with varints of the shortest length.

    Args:
        data, position: the bytes, and the start of the tags.
        count: the maximum number of tags to skip.
        last: the number of the previous tag.
        taken: the numbers of known tags.
        end: the end of the bytes; by default the end of `data`.

    Returns:
        The position after the skipped tags, the remainder of `count`, and the number of the last tag.

    >>> pass_unknown(bytes.fromhex("05 02 abcd 09 00 07 00"), 0, 3, -1, ())
    (6, 1, 9)
    """
    end = len(data) if end is None else end
    try:
        while count:
            tag, behind = short_varint(data, position)
            size, behind = short_varint(data, behind)
            behind += size
            if tag <= last or tag > HIGHEST_TAG or tag in taken or behind > end:
                break
            last, position, count = tag, behind, count - 1
    except (IndexError, ValueError):
        pass
    return position, count, last


def is_default(value: Any, default: Any) -> bool:
    """Whether a tagged field need not be written. Any empty sequence except text equals the default of an array."""
    if default != () or isinstance(value, str | bytes | bytearray):
        try:
            return bool(value == default)
        except Exception:  # a value that cannot be compared, such as a numpy array, is not a default
            return False
    return isinstance(value, Sequence) and not value


def has_tags(unknown: Any) -> bool:
    """Whether the `unknown_tags` of a struct contain anything, even a value that cannot be written."""
    try:
        return bool(unknown)
    except Exception:
        return True


def split_tags(raw: bytes | bytearray | None) -> list[tuple[int, bytes]]:
    """Split a struct's `unknown_tags` into fields.

    Args:
        raw: the slice, or None.

    Returns:
        (tag, data) of each field, in the order of the bytes. Raises DecodeError for an invalid slice.

    >>> split_tags(bytes.fromhex("05 02 abcd 09 00"))
    [(5, b'\\xab\\xcd'), (9, b'')]
    """
    data, tags, behind = bytes(raw or b""), [], 0
    try:
        while behind < len(data):
            tag, start = short_varint(data, behind)
            size, start = short_varint(data, start)
            if start + size > len(data):
                break
            behind = start + size
            tags.append((tag, data[start:behind]))
    except (IndexError, ValueError):
        pass
    stream = Reader(data, behind, salvage=True)  # for the rest: empty, or not in canonical form
    while stream.pos < stream.end:
        tag, size = (UNSIGNED_VARINT._parse(stream, None, "") for _ in "ts")
        tags.append((tag, stream.take(size)))
    return tags


def join_tags(tags: Iterable[tuple[int, bytes]]) -> bytes | None:
    """Encode (tag, data) pairs as the `unknown_tags` of a struct; None if there are none.

    >>> join_tags([(5, b"\\xab\\xcd"), (9, b"")]).hex(" ")
    '05 02 ab cd 09 00'
    """
    raw = b"".join(unsigned_varint(tag) + unsigned_varint(len(data)) + data for tag, data in tags)
    return raw or None


# Elements per block of the fast path, after it has refused bytes; the reference path reads the block with the invalid
# element.
BLOCK = 64


class Array(Node):
    """A count (int32, or compact), followed by the elements. Decodes to a tuple; encodes any sequence."""

    def __init__(self, element: Node, length: Node = INT32_LENGTH, *, nullable: bool = False) -> None:
        super().__init__()
        self.element: Node = element
        self.length: Node = length
        self.nullable: bool = nullable
        self.least: int = length.least
        compact = "compact " if length is COMPACT_LENGTH else ""
        self.type_name = f"{compact}{'nullable ' if nullable else ''}array"
        self.count: _Count = _Count(self)

    def _parse(self, stream: Reader, context: Any, path: str) -> tuple[Any, ...] | None:
        count = stream.prefix(self.count)
        if count is None:
            return None
        if isinstance(self.element, Integer) and count >= BLOCK:
            numbers = stream.elements(self, count)
            if numbers is not None:
                return tuple(numbers)
        items: list[Any] = []
        try:
            while len(items) < count:
                stop = self._read_ahead(stream, items, count)
                for index in range(len(items), stop):
                    items.append(stream.child(index, self.element))
        except DecodeError as error:
            error.partial = items if error.partial is None else [*items, error.partial]
            raise
        return tuple(items)

    def _read_ahead(self, stream: Reader, items: list[Any], count: int) -> int:
        """Read elements on the fast path, up to the block that it refuses; return where this block ends."""
        if count - len(items) < BLOCK:
            return count
        while len(items) < count:
            stop = min(len(items) + BLOCK, count)
            block = stream.elements(self, stop - len(items))
            if block is None:
                return stop
            items += block
        return count

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if obj is None:
            write_length(stream, self.length, None, nullable=self.nullable)
            return
        if isinstance(obj, str | bytes | bytearray) or not isinstance(obj, Sequence):
            self.wrong_type(stream, obj)
        write_length(stream, self.length, len(obj), nullable=self.nullable)
        for index, item in enumerate(obj):
            stream.child(index, self.element, item)


class _Count(Node):
    """The count that precedes an array's elements."""

    def __init__(self, array: Array) -> None:
        super().__init__()
        self.array = array
        self.type_name: str = array.type_name

    def _parse(self, stream: Reader, context: Any, path: str) -> int | None:
        array = self.array
        return read_length(stream, array.length, nullable=array.nullable, least=array.element.least)


class Field(Subconstruct):
    """A named part of a struct.

    `name` is the attribute, `json_name` the name in Kafka's JSON, `default` the value that is not written if the field
    is tagged, `docs` the `about` text of the spec, `subcon` the wire type.
    """

    def __init__(self, name: str, subcon: Node, *, json_name: str, default: Any, about: str = "") -> None:
        super().__init__(subcon)
        self.name: str = name
        self.docs = about
        self.json_name: str = json_name
        self.default: Any = default


class Absent(NamedTuple):
    """A field that the struct has only in other versions."""

    name: str
    json_name: str
    default: Any
    ignorable: bool
    first: int | None
    last: int | None


class Struct(Node):
    """A sequence of fields; in flexible versions, tagged fields follow (KIP-482)."""

    type_name = "struct"

    def __init__(
        self,
        message_class: type[Any],
        fields: Sequence[Field],
        tagged: TaggedFields | None = None,
        absent: Sequence[Absent] = (),
    ) -> None:
        super().__init__()
        self.message_class: type[Any] = message_class
        self.fields: tuple[Field, ...] = tuple(fields)
        self.tagged: TaggedFields | None = tagged
        self.absent: tuple[Absent, ...] = tuple(absent)

    @property
    def least(self) -> int:  # type: ignore[override]
        """The minimum size of a struct in bytes."""
        least: int = sum(field.subcon.least for field in self.fields)
        return least + (self.tagged is not None)

    @property
    def all_fields(self) -> tuple[Field, ...]:
        """The fields in wire order, followed by the tagged fields ordered by tag."""
        return self.fields + (tuple(self.tagged.fields.values()) if self.tagged else ())

    def _parse(self, stream: Reader, context: Any, path: str) -> Any:
        values: dict[str, Any] = {}
        depth = len(stream.path)
        try:
            for field in self.fields:
                values[field.name] = stream.child(field.name, field.subcon)
            if self.tagged is not None:
                self.tagged.read_into(values, stream)
        except DecodeError as error:
            if error.partial is not None and len(error.segments) > depth:
                values[str(error.segments[depth])] = error.partial
            error.partial = values
            raise
        return self.message_class(**values)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if type(obj) is not self.message_class:
            stream.refuse(WrongType, **self._mismatch(obj))
        for absent in self.absent:
            if not absent.ignorable and not is_default(getattr(obj, absent.name), absent.default):
                stream.path.append(absent.name)
                found = excerpt(getattr(obj, absent.name), 60)
                stream.refuse(NotInVersion, found=found, first=absent.first, last=absent.last)
        for field in self.fields:
            stream.child(field.name, field.subcon, getattr(obj, field.name))
        if self.tagged is not None:
            self.tagged.write_from(obj, stream)
        elif has_tags(getattr(obj, "unknown_tags", None)):
            stream.refuse(BadUnknownTags, found="this version has no tagged fields")

    def _mismatch(self, obj: Any) -> dict[str, str]:
        """Return the details for an error about a value of another class.

        The class may have the same name but come from other specs.
        """
        cls = type(obj)
        facts = {"need": f"a {self.message_class.__qualname__}", "found": f"{cls.__name__} {excerpt(obj, 60)}"}
        if cls.__name__ == self.message_class.__name__:
            facts["found"] = f"{excerpt(obj, 60)} of other specs ({cls.__qualname__})"
            facts["hint"] = "make the message with the classes of this codec's catalog: catalog.messages"
        return facts


class NullableStruct(Node):
    """A marker, followed by the struct if there is one: int8 -1 or 1; in a tagged field an unsigned varint 0 or 1.

    Source: KIP-893. Kafka reads any negative int8 as null, and any other marker as present.
    """

    least: int = 1
    nullable: bool = True

    def __init__(self, subcon: Struct, *, tagged: bool = False) -> None:
        super().__init__()
        self.subcon = subcon
        self.marker: Node = UNSIGNED_VARINT if tagged else INT8
        self.null = 0 if tagged else -1
        self.type_name = "nullable struct"

    def _parse(self, stream: Reader, context: Any, path: str) -> Any:
        start = stream.pos
        marker = int32(stream.prefix(self.marker))
        if marker not in (self.null, 1):
            stream.fault(BadMarker, start, found=marker, raw=stream.data[start : stream.pos])
        return None if marker <= self.null else self.subcon._parse(stream, context, path)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        self.marker._build(self.null if obj is None else 1, stream, context, path)
        if obj is not None:
            self.subcon._build(obj, stream, context, path)


class UnknownNode(TypeError):
    """A node whose type a traversal of the tree does not support."""


class Content(NamedTuple):
    """The node of the content, or of each element if `is_array`; `struct` is the same node if it is a struct."""

    node: Any
    struct: Struct | None = None
    is_array: bool = False


@singledispatch
def content_of(node: Node) -> Content:
    """Return the content of a node. Raises UnknownNode."""
    raise UnknownNode(f"{type(node).__name__} is not a supported node type")


@content_of.register(Boolean | Bytes | Float64 | Integer | String | Uuid)
def _(node: Node) -> Content:
    return Content(node)


@content_of.register
def _(node: Struct) -> Content:
    return Content(node, node)


@content_of.register
def _(node: NullableStruct) -> Content:
    return Content(node.subcon, node.subcon)


@content_of.register
def _(node: Array) -> Content:
    content = content_of(node.element)
    if content.is_array:
        raise UnknownNode("an array of arrays is not a supported node type")
    return Content(content.node, content.struct, True)
