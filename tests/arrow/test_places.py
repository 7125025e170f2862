"""Places go through JSON, and a file is known again by what was read of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwire.arrow.errors import BadOption
from kwire.arrow.growing_files import START, Place, difference, difference_now, mark_of, offset_of, places_of
from kwire.arrow.input_splits import File
from tests.arrow.captures import write


def test_places_are_written_down_and_read() -> None:
    places = {"/in/b": Place(9, "pcap", "00ff", 1_700_000_000, True, 2), "/in/a": START}
    offset = offset_of(places)
    assert list(offset["files"]) == ["/in/a", "/in/b"]
    assert offset["files"]["/in/a"] == {}
    assert places_of(json.loads(json.dumps(offset))) == places


def test_offsets_of_a_later_version_are_refused() -> None:
    with pytest.raises(BadOption, match="offsets of version 2; take a later kwire"):
        places_of({"version": 2, "files": {}})


def test_a_mark_tells_both_ends_apart(tmp_path: Path) -> None:
    data = bytes(range(256)) * 20
    changed = [bytes([1]) + data[1:], data[:4999] + b"x" + data[5000:]]
    marks = [mark_of(str(write(tmp_path, one)), 5000) for one in [data, *changed]]
    assert len(set(marks)) == 3
    assert mark_of(str(write(tmp_path, data + b"more")), 5000) == marks[0]


def test_what_was_read_must_still_be_there(tmp_path: Path) -> None:
    path = str(write(tmp_path, b"frames, more"))
    place = Place(6, "raw frames", mark_of(path, 6))
    assert difference_now(path, place) is None
    assert "was read up to its end at 6" in str(difference_now(path, place._replace(done=True)))
    assert "are not those that were read" in str(difference_now(path, place._replace(mark="")))
    assert "has 5 bytes now, and 6 were read" in str(difference(File(path, 5, 0), place))
    assert "not there any more" in str(difference_now(path + "?", place))
