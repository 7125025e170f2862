"""The comparison of codecs runs; what it measures is no matter of tests."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.codec.decode_encode", "--rounds", "1", "--slot", "0.0002", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})


def compared(*arguments: str) -> list[str]:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.ci
def test_every_body_is_decoded_and_encoded_beside_what_is_installed() -> None:
    lines = compared("--only", "Request v", "--peers", "kio,aiokafka,msgpack,python,msgspec.json")
    for name in ("kio", "aiokafka"):
        if importlib.util.find_spec(name) is None:
            assert f"{name} is not installed: its columns are left out" in lines[:2]
    assert [line.split()[0] for line in lines if "bytes" in line] == ["decode", "encode", "json", "first"]
    rows = [line for line in lines if "Request v" in line]
    assert len(rows) == 4 * (14 + 2 * 9)
    assert all("(" in line for line in rows)
    assert sum("64 alike in turn" in line for line in rows) == sum("64 unlike in turn" in line for line in rows) == 36


@pytest.mark.ci
def test_construct_and_the_reference_path_take_turns_too() -> None:
    lines = compared("--only", "1x1000", "--peers", "construct,reference,msgspec.json,python", "--table")
    rows = [line.split() for line in lines if "1x1000" in line and "(Java)" not in line]
    assert len(rows) == 12
    assert all(float(row[5]) > 0 for row in rows)
    assert "|  | plain construct |" in lines
    assert any(line.startswith("| encode, every message | ") for line in lines)
    assert lines[-1].startswith("- the reference path: ")


@pytest.mark.ci
def test_a_picture_is_drawn_or_what_it_needs_is_said(tmp_path: Path) -> None:
    done = run("--only", "HeartbeatRequest", "--peers", "msgpack", "--picture", str(tmp_path / "speed.png"))
    if importlib.util.find_spec("matplotlib") is None:
        assert (done.returncode, done.stderr) == (1, "a picture needs matplotlib: pip install matplotlib\n")
    else:
        assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")
