"""One frame after the other: its spans say which bytes are which field, the rules say which of them are blanked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ..catalog import Catalog
from ..codecs import Codec
from ..frames import Frame, FrameDecoder, Token, Undecodable
from ..tracing import Span
from ..wire import Array, NullableStruct, Struct
from .batches import FILL, blank_records
from .rules import NAMES, kind_for

SIZE = 4
_INDEX = re.compile(r"\[\d+\]")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_OPAQUE = ("unknown tag", "left over", "not understood")


class Redactor:
    """Blanks what is not to be told in frames, each frame in the order of its connection.

    Args:
        keep: kinds that stay, of `REASONS`.
        catalog: the specs to use; those of Kafka's releases unless told.

    `counts` says how many values of each kind were blanked.

    >>> import kwire
    >>> data = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1, client_id="billing")
    >>> Redactor().redact(kwire.Frame(data))[12:21]
    b'\\x00\\x07xxxxxx0'
    """

    def __init__(self, keep: Iterable[str] = (), catalog: Catalog | None = None) -> None:
        self.keep = frozenset(keep)
        self.counts: Counter[str] = Counter()
        self._decoder = FrameDecoder(catalog, trace=True)
        self._names: dict[bytes, int] = {}
        self._kinds: dict[tuple[Codec, str, bool], str | None] = {}

    def redact(self, frame: Frame) -> bytes:
        """Return the bytes of a frame, as many as before, without what is not to be told."""
        result = self._decoder.decode(frame)
        out = bytearray(frame.data)
        if isinstance(result, Undecodable | Token):
            kind = "sasl" if isinstance(result, Token) else "unknown"
            self._blank(out, kind, SIZE if frame.fault is None or kind == "sasl" else 0, len(out))
            return bytes(out)
        for span in result.spans:
            self._span(out, span, result.codec)
        return bytes(out)

    def _span(self, out: bytearray, span: Span, codec: Codec) -> None:
        if span.type in _OPAQUE:
            self._blank(out, "unknown", span.stop - len(span.value), span.stop)
            return
        if not isinstance(span.value, str | bytes) or span.type == "uuid":
            return
        kind = self._kind(codec, span.path, isinstance(span.value, str))
        if kind is None or kind in self.keep:
            return
        start = span.start + _prefix(span, out)
        if kind == "records":
            self.counts[kind] += start < span.stop
            out[start : span.stop] = blank_records(bytes(out[start : span.stop]))
        elif kind in NAMES:
            self._name(out, kind, start, span.stop)
        else:
            self._blank(out, kind, start, span.stop)

    def _name(self, out: bytearray, kind: str, start: int, stop: int) -> None:
        """Put a stand-in for a name: as long, and the same for the same name; names of Kafka's own stay."""
        name = bytes(out[start:stop])
        if not name or name.startswith(b"__"):
            return
        number, digits = self._names.setdefault(name, len(self._names)), ""
        while number or not digits:
            digits, number = _DIGITS[number % 36] + digits, number // 36
        self.counts[kind] += 1
        out[start:stop] = digits.rjust(len(name), "x")[-len(name) :].encode()

    def _blank(self, out: bytearray, kind: str, start: int, stop: int) -> None:
        if kind not in self.keep and stop > start:
            self.counts[kind] += 1
            out[start:stop] = bytes([FILL]) * (stop - start)

    def _kind(self, codec: Codec, path: str, is_text: bool) -> str | None:
        plain = _INDEX.sub("", path)
        key = codec, plain, is_text
        if key not in self._kinds:
            names = plain.split(".")
            struct = "RequestHeader" if names[0] == "header" else _owner(codec.schema, names)
            self._kinds[key] = kind_for(struct, names[-1], is_text)
        return self._kinds[key]


def _owner(struct: Any, names: list[str]) -> str:
    """Return the name of the struct that holds the field at the end of a path."""
    for name in names[:-1]:
        node: Any = next((field.subcon for field in struct.all_fields if field.name == name), None)
        node = node.element if isinstance(node, Array) else node
        node = node.subcon if isinstance(node, NullableStruct) else node
        if not isinstance(node, Struct):
            return ""
        struct = node
    return str(struct.message_class.__name__)


def _prefix(span: Span, data: bytearray) -> int:
    """Return how many bytes of a span are its length."""
    if "compact" not in span.type:
        return 2 if isinstance(span.value, str) else 4
    return next(index for index in range(1, 11) if data[span.start + index - 1] < 0x80)
