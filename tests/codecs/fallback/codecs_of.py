"""Codecs of small specs; what they decode and encode is compared with the reference path, as in every test."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.codecs.message_codec import Codec
from kwire.codecs.schema_tree import grow_tree
from kwire.errors import DecodeError, EncodeError
from tests.messages.small_specs import spec_of


def codec_of(*fields: dict[str, Any], version: int = 3, **keys: Any) -> Codec:
    """Return the codec of a message of some fields; version 3 is flexible, 0 is not."""
    spec = spec_of(*fields, **keys)
    return Codec(spec, version, grow_tree(spec, version))


def comes_back(codec: Codec, **values: Any) -> bytes:
    """Encode and decode a message, and what is cut off of it; return its bytes."""
    message = codec.message_class(**values)
    data = codec.encode(message)
    assert codec.decode(data) == message
    for cut in {0, 1, len(data) // 2, len(data) - 1} - {len(data)}:
        with pytest.raises(DecodeError):
            codec.decode(data[:cut])
    with pytest.raises(DecodeError):
        codec.decode(data + b"\0")
    return data


def refused(codec: Codec, **values: Any) -> str:
    """Return the reason why a message cannot be encoded."""
    with pytest.raises(EncodeError) as caught:
        codec.encode(codec.message_class(**values))
    return f"{caught.value.path}: {caught.value.reason}"


def unread(codec: Codec, hex_text: str) -> type[DecodeError]:
    """Return the kind of the error that bytes are refused with."""
    with pytest.raises(DecodeError) as caught:
        codec.decode(bytes.fromhex(hex_text))
    return type(caught.value)
