"""Input that is no dump is an error that says what was tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire.capture.open_dump import open_dump
from kwire.capture.unsupported_formats import UNSUPPORTED as FORMATS
from kwire.capture.unsupported_formats import refuse_foreign
from kwire.errors import DumpError


@pytest.mark.parametrize("name", FORMATS)
def test_captures_of_other_formats_are_named(name: str) -> None:
    for magic in FORMATS[name]:
        with pytest.raises(DumpError, match="editcap -F pcapng") as info:
            refuse_foreign(magic + bytes(100), "x")
        assert f"this is {name}, which is not read" in str(info.value)


@pytest.mark.parametrize(
    ("head", "kind", "remedy"),
    [
        (b"PK\3\4", "a zip archive", "unzip -p FILE | kwire decode -"),
        (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "7z x -so FILE | kwire decode -"),
        (b"Rar!\x1a\7", "a RAR archive", "unrar p -inul FILE | kwire decode -"),
        (bytes(257) + b"ustar\0", "a tar archive", "tar -xOf FILE | kwire decode -"),
    ],
)
def test_archives_are_named_with_what_unpacks_them(head: bytes, kind: str, remedy: str) -> None:
    with pytest.raises(DumpError) as info:
        refuse_foreign(head + bytes(100), "x")
    assert str(info.value) == f"x: this is {kind}; unpack it: {remedy}"


@pytest.mark.parametrize("head", [b"\x7fELF\2\1\1\0", b"\x89PNG\r\n\x1a\n", bytes(8), b"PK\5\6\0\0\0\0"])
def test_what_begins_as_no_dump_does(head: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(head + bytes(1000))
    with pytest.raises(DumpError) as info, open_dump(path):
        pass
    assert f"not a capture, log, hex dump or Kafka frame (first bytes {head.hex(' ')} ..)" in str(info.value)
    assert info.value.file == str(path)


def test_the_first_bytes_of_a_size_are_a_cut_dump(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xff\xff")
    with open_dump(path) as dump:
        assert [frame.data for frame in dump.frames] == [b"\xff\xff"]
