"""Tagged fields (KIP-482): a count, then tag, size and value of each field, in ascending order of the tags.

Known tags become fields; the unknown tags of a struct are kept as one raw slice of bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ...errors import (
    BadLength,
    BadTag,
    BadUnknownTags,
    DecodeError,
    DefaultTag,
    TagOfOtherVersion,
    TagOrder,
    TagSize,
    TagTwice,
    UnknownTagOrder,
)
from .node import Node
from .reader import Reader
from .unknown_tags import HIGHEST_TAG, has_tags, skip_unknown_tags, split_tags
from .varints import UNSIGNED_VARINT, unsigned_varint
from .writer import Writer


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
        _SectionReader(self, values, stream).read()

    def write_from(self, obj: Any, stream: Writer) -> None:
        """Write the known fields that differ from their defaults, with the unknown fields between them."""
        entries = [(tag, unsigned_varint(len(raw)) + raw) for tag, raw in self._encode_known(obj, stream)]
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

    def _encode_known(self, obj: Any, stream: Writer) -> Iterable[tuple[int, bytes]]:
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
            stop, left, _ = skip_unknown_tags(raw, 0, len(raw), -1, self.foreign | self.fields.keys())
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


class _SectionReader:
    """One tagged section being read."""

    def __init__(self, node: TaggedFields, values: dict[str, Any], stream: Reader) -> None:
        self.node = node
        self.values = values
        self.stream = stream
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
        stream = self.stream
        start = self.stream.pos
        taken = self.node.foreign | self.node.fields.keys()
        stop, left, last = skip_unknown_tags(stream.data, start, count, self.last, taken, stream.end)
        if left < count:
            stream.pos = stop
            self.last = last
            self.last_unknown = last
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


def is_default(value: Any, default: Any) -> bool:
    """Whether a tagged field need not be written. Any empty sequence except text equals the default of an array."""
    if default != () or isinstance(value, str | bytes | bytearray):
        try:
            return bool(value == default)
        except Exception:  # a value that cannot be compared, such as a numpy array, is not a default
            return False
    return isinstance(value, Sequence) and not value
