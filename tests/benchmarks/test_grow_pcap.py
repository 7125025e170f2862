"""Captures grown by repeating their connections on fresh ports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import kwire
from tests.capture.building import Conversation, capture
from tests.conftest import ROOT


def grown(source: Path, target: Path, megabytes: float) -> bytes:
    command = [
        sys.executable,
        "-m",
        "benchmarks.captures.grow_pcap",
        str(source),
        str(target),
        "--megabytes",
        str(megabytes),
    ]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    return target.read_bytes()


def test_all_conversations_come_again_on_fresh_ports(tmp_path: Path) -> None:
    source = tmp_path / "small.pcap"
    conversation = Conversation().open()
    for number in range(20):
        conversation.ask(number)
    source.write_bytes(capture(conversation.close().segments))
    data = grown(source, tmp_path / "large.pcap", 0.1)
    assert 100_000 <= len(data) < 110_000
    assert data == grown(source, tmp_path / "again.pcap", 0.1)
    before = [frame.data for frame in kwire.read_dump(source)]
    after = list(kwire.read_dump(tmp_path / "large.pcap"))
    assert len(before) == 40
    assert [frame.data for frame in after] == before * (len(after) // 40)
    assert len({frame.source.client for frame in after}) == len(after) // 40 > 5
    assert {frame.source.broker for frame in after} == {"10.0.0.2:9092"}
