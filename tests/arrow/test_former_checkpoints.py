"""Streams go on from the checkpoints of b6d4b524: offsets, and the states of connections and of raw frames.

tests/data/pickles/checkpoint-b6d4b524.json has what `begun` gave in a checkout of that commit.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kwire.arrow.streams.file_positions import places_of
from tests.arrow.captures import FRAMES, PCAP
from tests.arrow.pieces import content
from tests.arrow.streams.test_growing_files import Stream
from tests.conftest import ROOT

CHECKPOINT = ROOT / "tests/data/pickles/checkpoint-b6d4b524.json"
NAMES = Path("frames.bin"), Path("capture.pcap")  # relative, because states contain names of files
HALVES = {path: path.stat().st_size // 2 for path in (FRAMES, PCAP)}  # inside a frame, and inside a record


def begun() -> Stream:
    """Read the first half of two files in the current folder."""
    for name, (path, half) in zip(NAMES, HALVES.items(), strict=True):
        name.write_bytes(path.read_bytes()[:half])
        os.utime(name, (1_700_000_000, 1_700_000_000))
    stream = Stream(*NAMES, tailTimeout="10s")
    assert stream.all()
    return stream


def finish(stream: Stream) -> object:
    """Read the rest of the files."""
    for name, path in zip(NAMES, HALVES, strict=True):
        name.write_bytes(path.read_bytes())
    return content(stream.end())


def test_streams_continue_from_earlier_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    golden = json.loads(CHECKPOINT.read_text("utf-8"))
    states = {bytes.fromhex(key): bytes.fromhex(state) for key, state in golden["states"].items()}
    written = begun()
    assert places_of(written.offset) == places_of(golden["offset"])
    assert written.decoder.states == states
    earlier = Stream(*NAMES, tailTimeout="10s")
    earlier.offset, earlier.decoder.states = golden["offset"], states
    rows = finish(earlier)
    assert rows
    earlier, later = written, rows
    assert finish(earlier) == later
