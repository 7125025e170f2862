"""What is whole of a file that grows: at every length, the last frame or record that ends in it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kwire.arrow.frame_rows import State
from kwire.arrow.growing_files import WHOLE, Known, captured_end, is_whole, kind_so_far, raw_end
from kwire.arrow.input_splits import RAW
from kwire.arrow.options import Options
from tests.arrow.captures import FRAMES, LOG, PCAP, conversation, write
from tests.arrow.test_growing_files import PARTS, TALK

ALL = 1 << 40
OPTIONS = Options()


def test_frames_end_where_the_last_whole_one_does(tmp_path: Path) -> None:
    ends = [0]
    for frame in conversation(2):
        ends.append(ends[-1] + len(frame))
    for size in range(ends[-1] + 1):
        path = str(write(tmp_path, TALK[:size]))
        assert raw_end(path, 0, Known(), size, size, OPTIONS) == max(end for end in ends if end <= size)


def test_one_frame_may_be_more_than_is_wanted(tmp_path: Path) -> None:
    first, second = (len(frame) for frame in conversation(2)[:2])
    path = str(write(tmp_path, TALK))
    assert raw_end(path, 0, Known(), 1, len(TALK), OPTIONS) == first
    assert raw_end(path, 0, Known(), first + second - 1, len(TALK), OPTIONS) == first
    assert raw_end(path, 0, Known(), 1, first - 1, OPTIONS) == 0


def test_what_is_broken_is_whole(tmp_path: Path) -> None:
    path = str(write(tmp_path, TALK + b"\xff" * 9))
    size = len(TALK) + 9
    assert raw_end(path, 0, Known(), size, size, OPTIONS) == size
    assert raw_end(path, size - 3, Known(broken=len(TALK)), size - 1, size, OPTIONS) == size - 1
    empty = str(write(tmp_path, bytes(4)))
    assert raw_end(empty, 0, Known(State(least=0)), 4, 4, OPTIONS) == 4


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_captures_end_where_the_last_whole_record_does(tmp_path: Path, kind: str) -> None:
    data = PARTS[kind][:2000]
    ends = set()
    for size in range(len(data)):
        path = str(write(tmp_path, data[:size]))
        end, order = captured_end(path, 0, kind, ALL, size)
        assert end <= size
        assert (
            captured_end(path, end, kind, ALL, size, order) == captured_end(path, end, kind, ALL, size) == (end, order)
        )
        ends.add(end)
    assert len(ends) > 10
    one_by_one, place, order = set(), 0, ""
    while (after := captured_end(path, place, kind, place + 1, size, order))[0] != place:
        place, order = after
        one_by_one.add(place)
    assert one_by_one | {0} == ends


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_damage_is_taken_along_when_records_follow_it(tmp_path: Path, kind: str) -> None:
    whole = PARTS[kind][:24] if kind == "pcap" else PARTS[kind][:48]
    path = str(write(tmp_path, whole + b"\xff" * 50))
    assert captured_end(path, 0, kind, ALL, len(whole) + 50)[0] == len(whole)
    data = whole + b"\xff" * 50 + PARTS[kind][len(whole) :]
    end = captured_end(str(write(tmp_path, data, "more")), 0, kind, ALL, len(data))[0]
    assert end == captured_end(str(write(tmp_path, PARTS[kind], "all")), 0, kind, ALL, len(PARTS[kind]))[0] + 50


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", ""),
        (b"\xd4\xc3\xb2", ""),
        (PCAP.read_bytes()[:4], "pcap"),
        (TALK[:9], ""),
        (TALK[:200], RAW),
        (FRAMES.read_bytes(), RAW),
        (gzip.compress(TALK), WHOLE),
        (b"00 00 00 04", WHOLE),
        (LOG.read_bytes(), WHOLE),
        (b"\xff" * 10, WHOLE),
    ],
)
def test_a_file_is_known_when_there_is_enough_of_it(tmp_path: Path, data: bytes, kind: str) -> None:
    assert kind_so_far(str(write(tmp_path, data)), OPTIONS, is_over=False) == kind


def test_at_its_end_a_file_is_what_it_looks_like(tmp_path: Path) -> None:
    assert kind_so_far(str(write(tmp_path, TALK[:9])), OPTIONS, is_over=True) == RAW
    pcap = str(write(tmp_path, PCAP.read_bytes()))
    assert kind_so_far(pcap, Options(dump_format="frames"), is_over=False) == RAW
    assert kind_so_far(pcap, Options(dump_format="hex"), is_over=False) == WHOLE


def test_compressed_data_is_whole_at_its_end_or_where_it_is_damaged(tmp_path: Path) -> None:
    data = gzip.compress(TALK)
    assert [is_whole(str(write(tmp_path, data[:size]))) for size in (len(data) - 1, len(data))] == [False, True]
    assert is_whole(str(write(tmp_path, data[:60] + b"\xff" * 20 + data[80:])))
    assert is_whole(str(write(tmp_path, TALK[:-1])))
