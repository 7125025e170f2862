"""The comparison of codecs runs; what it measures is no matter of tests."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from tests.conftest import ROOT


def compared(*arguments: str) -> list[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / "codec.py"), "--rounds", "1", "--slot", "0.0002", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})
    return done.stdout.decode().splitlines()


def test_every_body_is_decoded_and_encoded_beside_what_is_installed() -> None:
    lines = compared("--only", "Request v", "--peers", "kio,aiokafka,msgpack,memo")
    for name in ("kio", "aiokafka"):
        if importlib.util.find_spec(name) is None:
            assert f"{name} is not installed: its columns are empty" in lines[:2]
    assert [line.split()[0] for line in lines if "bytes" in line] == ["decode", "encode"]
    rows = [line for line in lines if "Request v" in line]
    assert len(rows) == 2 * (14 + 2 * 9)
    assert all("(" in line for line in rows)
    assert sum("64 alike in turn" in line for line in rows) == sum("64 unlike in turn" in line for line in rows) == 18


def test_construct_and_the_reference_path_take_turns_too() -> None:
    lines = compared("--only", "1x1000", "--peers", "construct,reference")
    rows = [line.split() for line in lines if "1x1000" in line and "(Java)" not in line]
    assert len(rows) == 6
    assert all(float(row[5]) > 0 for row in rows)
