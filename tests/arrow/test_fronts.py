"""What stands in front of a message says its version."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.arrow.binary_columns import Prefix, check_size
from kwire.errors.decode import BadFrame, Truncated, UnknownVersion
from kwire.spec.catalog import catalog_for

CATALOG = catalog_for()


def read(name: str, data: bytes, version: int | None = None, framed: bool = False) -> Any:
    found = Prefix(CATALOG.spec(name), CATALOG, framed).read(data, version)
    return found and (found[0].version, found[0].bare, found[1])


def test_versions_are_told_by_whoever_knows_them() -> None:
    assert read("MetadataResponse", b"body", 3) == (3, True, b"body")
    assert read("OffsetCommitValue", b"\0\3body") == (3, True, b"body")
    assert read("OffsetCommitKey", b"\0\0body") == (0, True, b"body")
    assert read("OffsetCommitKey", b"\0\2body") is None
    assert read("GroupMetadataKey", b"\0\2body") == (0, True, b"body")
    assert read("ConsumerProtocolAssignment", b"\0\x63body") == (3, True, b"body")
    assert read("TopicRecord", b"\1\2\0body") == (0, True, b"body")
    assert read("TopicRecord", b"\0\2\0body") is None
    assert read("TopicRecord", b"\1\3\0body") is None


def test_frames_say_their_api() -> None:
    frame = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 4, correlation_id=1)
    assert read("MetadataRequest", frame, framed=True) == (4, False, frame)
    assert read("FetchRequest", frame, framed=True) is None
    assert [Prefix(CATALOG.spec(name), CATALOG, True).has_version for name in ("FetchRequest", "FetchResponse")] == [
        True,
        False,
    ]
    assert Prefix(CATALOG.spec("FetchRequest"), CATALOG).has_version is False
    assert Prefix(CATALOG.spec("OffsetCommitValue"), CATALOG).has_version is True


def test_what_cannot_be_told_raises() -> None:
    with pytest.raises(UnknownVersion, match="OffsetCommitValue has no version 99"):
        read("OffsetCommitValue", b"\0\x63")
    with pytest.raises(Truncated):
        read("OffsetCommitValue", b"\0")
    for data, error in ((b"\0\0\0\x09" + bytes(8), Truncated), (b"\0\0\0\7" + bytes(8), BadFrame), (b"\0", Truncated)):
        with pytest.raises(error):
            check_size(data)
