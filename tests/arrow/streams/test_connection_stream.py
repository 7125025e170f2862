"""Connections go on from batch to batch of a stream, as if all files had been there at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwire.arrow.ranges.byte_ranges import ByteRange
from kwire.arrow.ranges.packet_scan import scan
from kwire.arrow.streams import connection_stream
from tests.arrow.captures import PCAP, rows_of, write
from tests.arrow.pieces import Streamed, content, cut_at_packets
from tests.capture.building import Conversation, packet_of, pcap, request, response
from tests.conftest import SHARED, each_of

CAPTURES = (
    [path for path in sorted(SHARED.glob("captures/*.pcap")) if "zookeeper" not in path.name] if SHARED.is_dir() else []
)


def streamed(files: list[Path]) -> tuple[list[dict[str, Any]], int]:
    """Read each file in a batch of its own; returns all rows, and the most bytes that were kept of a connection."""
    stream, rows = Streamed(), list[dict[str, Any]]()
    for file in files:
        rows += stream.batch(scan(ByteRange(str(file), 0, file.stat().st_size, "it")))
    return rows + stream.batch([], is_over=True), stream.most


@pytest.mark.parametrize("parts", [2, 7, 30])
def test_files_of_a_capture_are_the_capture(parts: int, tmp_path: Path) -> None:
    found, _ = streamed(cut_at_packets(PCAP, tmp_path, parts))
    assert content(found) == content(rows_of(PCAP, body="raw"))


@each_of("path", CAPTURES, most=4, ids=lambda path: getattr(path, "name", ""))
def test_real_captures(path: Path, tmp_path: Path) -> None:
    found, _ = streamed(cut_at_packets(path, tmp_path, 9))
    assert content(found) == content(rows_of(path, body="raw"))


def test_what_is_kept_does_not_grow_with_the_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = Conversation().open()
    for number in range(2000):
        conversation.say(0, request(number)).say(1, response(number))
    path = write(
        tmp_path, pcap([(segment.nanoseconds or 0, packet_of(segment)) for segment in conversation.segments]), "all"
    )
    monkeypatch.setattr(connection_stream, "KEPT", 5000)
    found, most = streamed(cut_at_packets(path, tmp_path / "in", 20))
    assert content(found) == content(rows_of(path, body="raw"))
    assert most < 5000 + path.stat().st_size // 4 < path.stat().st_size // 2
