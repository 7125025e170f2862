"""Which files are one capture whose parts follow each other in time."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kwire.arrow.find_files import InputFile
from kwire.arrow.ranges.rotated_captures import EDGE, find_rotated, span_of
from kwire.arrow.read_options import BadOption, Options
from tests.arrow.captures import FRAMES, PCAP, write
from tests.arrow.pieces import cut_at_bytes, cut_at_packets, records_of
from tests.capture.building import enhanced, interface, pcap, section

DAY = 86_400 * 10**9


def found(*paths: Path, pattern: str = "") -> tuple[list[list[str]], list[str]]:
    """Return the names of the files of each rotated capture, and of the others."""
    options = Options(capture=pattern)
    spans = [span_of(InputFile(str(path), path.stat().st_size, 0), options) for path in paths]
    captures, others = find_rotated(spans, pattern)
    return [[Path(file.path).name for file in capture.files] for capture in captures], [
        Path(file.path).name for file in others
    ]


def test_files_are_in_order_of_time(tmp_path: Path) -> None:
    pieces = cut_at_packets(PCAP, tmp_path, 4)
    names = [path.name for path in pieces]
    assert names != sorted(names)
    assert found(*sorted(pieces)) == ([names], [])
    assert found(PCAP) == ([[PCAP.name]], [])


def test_large_files_are_known_by_their_ends(tmp_path: Path) -> None:
    for name, start in (("late", 5 * DAY), ("early", 0)):
        write(tmp_path, pcap((start + number * 10**6, bytes(1000), 0) for number in range(EDGE // 250)), name)
    assert found(tmp_path / "late", tmp_path / "early") == ([["early", "late"]], [])
    span = span_of(InputFile(str(tmp_path / "late"), (tmp_path / "late").stat().st_size, 0), Options())
    assert (span.first, span.last) == (5 * DAY, 5 * DAY + (EDGE // 250 - 1) * 10**6)


def test_captures_of_several_sniffers_overlap(tmp_path: Path) -> None:
    one, two, three = cut_at_packets(PCAP, tmp_path, 3)
    whole = write(tmp_path, PCAP.read_bytes(), "whole")
    assert found(one, whole) == ([], [one.name, "whole"])
    both = write(tmp_path, one.read_bytes() + two.read_bytes()[24:], "both")
    assert found(both, two, three) == ([], ["both", two.name, three.name])
    copy = write(tmp_path, one.read_bytes(), "copy")
    assert found(one, copy)[0] == []


def test_what_is_no_plain_capture_is_none(tmp_path: Path) -> None:
    packed = write(tmp_path, gzip.compress(PCAP.read_bytes()), "a.pcap.gz")
    empty = write(tmp_path, PCAP.read_bytes()[:24], "empty.pcap")
    short = write(tmp_path, PCAP.read_bytes()[:9], "short.pcap")
    timeless = write(tmp_path, section() + interface() + enhanced(bytes(60), number=3), "odd.pcapng")
    for path in (packed, empty, short, timeless, FRAMES):
        assert found(path) == ([], [path.name])
    assert found(PCAP, FRAMES) == ([], [PCAP.name, FRAMES.name])  # of one folder
    pieces = cut_at_bytes(PCAP, tmp_path / "pieces", 3)
    assert found(*pieces) == ([], [path.name for path in pieces])


def test_captures_are_named_by_the_option(tmp_path: Path) -> None:
    records = records_of(PCAP)
    half = len(records) // 2
    for name in ("tap1-1", "tap2-1"):
        write(tmp_path, PCAP.read_bytes()[:24] + b"".join(records[:half]), f"{name}.pcap")
    write(tmp_path, PCAP.read_bytes()[:24] + b"".join(records[half:]), "tap1-2.pcap")
    paths = sorted(tmp_path.iterdir())
    assert found(*paths, pattern=r"(tap\d)-") == ([["tap1-1.pcap", "tap1-2.pcap"], ["tap2-1.pcap"]], [])
    assert found(*paths)[0] == []
    with pytest.raises(BadOption, match="its first group is not found"):
        found(*paths, pattern=r"(tap1)-")
