"""Identifies a frame: returns every message and version that decodes the frame exactly, the most likely first.

The bytes alone often allow several messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from ..codecs.message_codec import Codec, codec_in
from ..codecs.wire import Reader, Struct, content_of
from ..errors import DecodeError
from ..schema.catalog import Catalog, catalog_for
from ..values import Value, kind_of
from .frame_decoder import FrameDecoder
from .frames.frame import Frame
from .frames.frame_size import get_int16
from .headers.header_versions import header_version_for
from .results import Request, Response, Result


class Guess(msgspec.Struct, frozen=True):
    """A possible type of a frame.

    Attributes:
        codec: the message and version.
        result: the decoded frame.
        doubts: the number of indications against this type: enum values without a name, control characters in text, odd
            counts.
        named: whether the frame is a request whose header contains this api and version.
        evidence: the number of bytes that are text or known codes, which are rare in random bytes.
    """

    codec: Codec
    result: Result
    doubts: int
    named: bool
    evidence: int


def guess_types(frame: Frame, catalog: Catalog | None = None) -> list[Guess]:
    """Return every request and response, at every version, that decodes a frame to its last byte without a fault.

    Args:
        frame: the frame, with its size field.
        catalog: the specs to use; those of Kafka's releases by default.

    Returns:
        The guesses, sorted: first the type that the header names, then by fewest doubts, then by most
        evidence.

    >>> import kwire
    >>> data = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1, client_id="me")
    >>> guess_types(kwire.Frame(data))[0].codec
    <kwire codec MetadataRequest v1>
    """
    kinds = ("request", "response") if frame.source.direction is None else (frame.source.direction,)
    codecs = [codec for codec in _codecs(catalog or catalog_for(), kinds) if _may_be(frame, codec)]
    guesses = [guess for codec in codecs if (guess := _try(frame, codec, catalog))]
    return sorted(guesses, key=lambda guess: (not guess.named, guess.doubts, -guess.evidence))


def _codecs(catalog: Catalog, kinds: tuple[str, ...]) -> Iterator[Codec]:
    for name, (type_name, _) in catalog.heads().items():
        if type_name in kinds:
            spec = catalog.spec(name)
            for version in spec.versions:
                if spec.versions.last - version < 200:  # a hostile spec may declare 32,767
                    yield codec_in(catalog, name, version)


def _may_be(frame: Frame, codec: Codec) -> bool:
    """Whether a frame may be a given message; the check is fast for most frames that are not.

    Requests start with api key and version. Other frames are decoded by the reference path, because compiling all
    versions of all messages takes more than a second.
    """
    data = frame.data
    is_request = codec.spec.type == "request"
    if is_request and not frame.bare:
        return (get_int16(data, 4), get_int16(data, 6)) == (codec.spec.api_key, codec.version)
    if codec.name == "ApiVersionsResponse":  # KIP-511: possibly in version 0
        return True
    if len(data) < _least(codec):
        return False
    reader = Reader(data, 0 if frame.bare else 4)
    header = None if frame.bare else header_version_for(codec.spec, codec.version)
    try:
        if header is not None:
            codec_in(catalog_for(), "ResponseHeader", header).read(reader)
        codec.explain(reader)
        reader.finish()
    except DecodeError:
        return False
    return True


@cache
def _least(codec: Codec) -> int:
    """Return the smallest size of a body, in bytes."""
    return codec.tree.least


def _try(frame: Frame, codec: Codec, catalog: Catalog | None) -> Guess | None:
    decoder = FrameDecoder(catalog, salvage=False)
    result = decoder.decode(msgspec.structs.replace(frame, message=codec.name, version=codec.version, profile=None))
    if not isinstance(result, Request | Response) or result.rest:
        return None
    header = result.header if isinstance(result, Request) else None  # without a header, a frame names no type
    named = header is not None and header.request_api_key == codec.spec.api_key
    if header is not None and not (named and header.request_api_version == codec.version):
        return None
    judge = _Judge(codec)
    judge.struct(codec.tree, result.message)
    if result.header is not None and result.header.unknown_tags:
        judge.doubts += 1
    return Guess(codec, result, judge.doubts, named, judge.evidence)


class _Judge:
    """Counts evidence for and against a message."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.doubts = 0
        self.evidence = 0

    def struct(self, node: Struct, value: Any) -> None:
        self.doubts += bool(value.unknown_tags)
        owner = node.message_class.__name__
        for field in node.all_fields:
            kind = kind_of(self.codec.name, owner, field.json_name)
            _, struct, is_array = content_of(field.subcon)
            field_value = getattr(value, field.name)
            for item in (field_value or ()) if is_array else (field_value,):
                if struct is None:
                    self.value(item, kind)
                elif item is not None:
                    self.struct(struct, item)

    def value(self, value: Any, kind: type[Value] | None) -> None:
        if isinstance(value, str):
            self.doubts += not value.isprintable()
            self.evidence += len(value)
        elif isinstance(value, int):
            nameless = kind is not None and kind.__name__ == "ErrorCode" and not kind(value).name
            self.doubts += nameless or (kind is None and value < -2)
