"""Captures with a snap length: frames whose bodies were cut off are counted by their headers."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kwire.capture.open_dump import open_dump
from kwire.statistics.latencies import Latencies
from kwire.statistics.traffic import Traffic, TrafficRow
from tests.conftest import ROOT

SNAP_LENGTH = 128  # as of `tcpdump -s 128`
WHOLE = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"


def cut_packets(source: Path, target: Path) -> Path:
    """Write a pcap again as `tcpdump -s 128` had written it."""
    data = source.read_bytes()
    order = "<" if data[0] in (0xD4, 0x4D) else ">"
    cut, at = bytearray(data[:24]), 24
    while at < len(data):
        seconds, fraction, size, whole = struct.unpack_from(order + "IIII", data, at)
        kept = data[at + 16 : at + 16 + min(size, SNAP_LENGTH)]
        cut += struct.pack(order + "IIII", seconds, fraction, len(kept), whole) + kept
        at += 16 + size
    target.write_bytes(cut)
    return target


def count(path: Path, traffic: Traffic, *, by_batches: bool) -> list[TrafficRow]:
    with open_dump(path) as dump:
        if by_batches:
            assert dump.captured is not None
            for batch in dump.captured:
                traffic.add_batch(batch)
        else:
            for frame in dump.frames:
                traffic.add(frame)
    return traffic.rows()


@pytest.mark.parametrize("by_batches", [True, False])
def test_frames_that_are_cut_short_are_counted_by_their_headers(tmp_path: Path, by_batches: bool) -> None:
    path = cut_packets(WHOLE, tmp_path / "cut.pcap")
    whole, cut = Traffic(["api", "version"]), Traffic(["api", "version"])
    expected, rows = count(WHOLE, whole, by_batches=by_batches), count(path, cut, by_batches=by_batches)
    for row, other in zip(expected, rows, strict=True):
        assert row.key == other.key
        for name in ("requests", "responses", "request_bytes", "response_bytes", "answered"):
            assert getattr(row.count, name) == getattr(other.count, name), (row.key, name)
    assert cut.headers > 0
    assert cut.unread["CUT_SHORT"] >= cut.headers
    assert cut.frames + cut.headers == whole.frames + whole.headers


def test_latencies_of_frames_that_are_cut_short(tmp_path: Path) -> None:
    path = cut_packets(WHOLE, tmp_path / "cut.pcap")
    whole, cut = Traffic(["api"], latencies=Latencies(5)), Traffic(["api"], latencies=Latencies(5))
    expected, rows = count(WHOLE, whole, by_batches=True), count(path, cut, by_batches=True)
    # Where the last packet of a response is missing, it ends with the first one, up to 1 ms earlier.
    longest = [[row.count.longest_time / 1e9 for row in found] for found in (rows, expected)]
    assert longest[0] == pytest.approx(longest[1], abs=1e-3)
    assert [row.count.answered for row in rows] == [row.count.answered for row in expected]
