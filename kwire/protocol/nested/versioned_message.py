"""A message that follows its own version in a field or record."""

from __future__ import annotations

from typing import Any

import msgspec

from ...codecs.message_codec import Codec, codec_in
from ...codecs.wire import INT16, Reader
from ...errors import UnknownVersion
from ...runtime.former_dataclasses import was_dataclass
from ...schema.catalog import catalog_for
from ...schema.version_ranges import Versions


@was_dataclass
class Embedded(msgspec.Struct, frozen=True):
    """A message that follows its version.

    Attributes:
        name: the name of the message; None for an unknown type.
        version: the version in the bytes; None if there is none.
        message: the decoded message; None if type or version is unknown.
        rest: the bytes after the message; all bytes if there is no message.
    """

    name: str | None
    version: int | None
    message: Any
    rest: bytes = b""


def codec_for(name: str, version: int) -> Codec:
    """Return the codec of a released message. Raises UnknownMessage, UnsupportedVersion."""
    return codec_in(catalog_for(), name, version)


def embedded_codec(embedded: Embedded) -> Codec | None:
    """Return the codec that decoded a message; None if there is no message."""
    if embedded.message is None or embedded.name is None or embedded.version is None:
        return None
    return codec_for(embedded.name, min(embedded.version, versions_of(embedded.name).last))


def versions_of(name: str) -> Versions:
    """Return the versions of a released message."""
    return catalog_for().spec(name).versions


def read_embedded(reader: Reader, name: str | None, version: int) -> Embedded:
    """Read a message that follows its version; keep the bytes of an unknown type or version.

    Raises DecodeError, also for bytes left over after a known message.
    """
    if name is None or version not in versions_of(name):
        return Embedded(name, version, None, reader.read())
    message = codec_for(name, version).read(reader)
    reader.finish()
    return Embedded(name, version, message)


def read_newest(data: bytes, name: str) -> Embedded:
    """Read an int16 version and the message.

    A version above the newest known one is read as the newest, and trailing bytes are kept. Kafka does the same: a
    newer version only adds fields at the end, which old readers skip.
    """
    reader = Reader(bytes(data))
    version = reader.child("version", INT16)
    if version < 0:
        known_versions = str(versions_of(name))
        reader.refuse(UnknownVersion, 0, found=(name, version, known_versions), raw=reader.data[:2])
    message = codec_for(name, min(version, versions_of(name).last)).read(reader)
    return Embedded(name, version, message, reader.read())


def write_newest(embedded: Embedded) -> bytes:
    """Encode the result of `read_newest`. Raises EncodeError, UnsupportedVersion."""
    if embedded.name is None or embedded.version is None:
        return embedded.rest
    codec = codec_for(embedded.name, min(embedded.version, versions_of(embedded.name).last))
    return get_int16(embedded.version) + codec.encode(embedded.message) + embedded.rest


def body_of(embedded: Embedded) -> bytes:
    """Encode the result of `read_embedded`. Raises EncodeError, UnsupportedVersion."""
    if embedded.message is None or embedded.name is None or embedded.version is None:
        return embedded.rest
    return codec_for(embedded.name, embedded.version).encode(embedded.message) + embedded.rest


def get_int16(value: int) -> bytes:
    """Write two bytes. Raises EncodeError if the value does not fit."""
    written: bytes = INT16.build(value)
    return written
