"""`kwire proxy` as a process."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from kwire.client.address import address
from tests.broker.server.serving import serving
from tests.client.test_proxy import ask, naming
from tests.conftest import ROOT


def test_lines_a_capture_and_a_summary(tmp_path: Path) -> None:
    capture = tmp_path / "seen.pcap"
    with serving(naming("b1:9092")) as broker:
        command = [sys.executable, "-m", "kwire", "proxy", ":0", broker, "-w", str(capture)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout and process.stderr
                listening = re.search(r"listening on (\S+) for", process.stderr.readline())
                assert listening
                ask(address(listening[1]))
                date, *lines = [process.stdout.readline() for _ in range(3)]
                process.send_signal(signal.SIGINT)
                assert process.wait(60) == 130
                assert process.stderr.read() == "kwire: 2 messages of 1 connection\n"
            finally:
                process.kill()  # where an assertion failed, nothing else would end it
    assert re.fullmatch(r"# \d{4}-\d\d-\d\d\n", date)
    assert [(line[:5], line[19:34]) for line in lines] == [("    0", "-> Metadata:1  "), ("    1", "<- Metadata:1  ")]
    assert len(list(kwire.read_dump(capture))) == 2


def test_other_machines_need_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["proxy", "0.0.0.0:19092", "b1:9092"]) == 2
    assert "0.0.0.0:19092 can be reached from other machines: use --public to allow this" in capsys.readouterr().err
