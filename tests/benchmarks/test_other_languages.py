"""Programs of other languages are built where that can be, and asked in turns. Nothing is built or fetched here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PROGRAM = """
import sys
from pathlib import Path
from benchmarks.lib.bodies import made
from benchmarks.codec.other_languages import Other
other = Other("double", [sys.executable, "-c", sys.argv[2]], Path(), Path(sys.argv[1]))
print(other.load(made("OffsetCommitRequest", 1, 1, 1, False)))
timers = other.load(made("OffsetCommitRequest", 8, 2, 2, False, alike=False))
times = iter([1.0, 4.0, 10.0, 30.0])
other.clock = lambda: next(times)
print([timers[name](0.5) for name in ("decode", "encode")])
other.end()
"""
DOUBLE = """
import sys
from pathlib import Path
for line in sys.stdin:
    words = line.split(maxsplit=4)
    if words[0] != "load":
        print({"decode": 3, "encode": 4}[words[0]] + int(words[1]) + (words[2] != "500000000"))
    elif words[1:4] == ["8", "request", "8"]:
        data = Path(words[4].strip()).read_bytes()
        Path(words[4].strip() + ".again").write_bytes(data[:LENGTH])
        print("ok")
    else:
        print("no such version")
    sys.stdout.flush()
"""


def asked(folder: Path, double: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, str(folder), double]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)


def test_a_program_is_asked_for_the_time_of_what_it_has(tmp_path: Path) -> None:
    done = asked(tmp_path, DOUBLE.replace("LENGTH", "None"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["{}", "[1.0, 5.0]"]


def test_a_program_that_writes_other_bytes_or_none_is_not_timed(tmp_path: Path) -> None:
    done = asked(tmp_path, DOUBLE.replace("LENGTH", "-1"))
    assert done.returncode == 1
    assert done.stderr.startswith(
        "double does not write the bytes of OffsetCommitRequest v8 2x2 64 unlike in turn again"
    )
    done = asked(tmp_path, "")
    assert done.returncode == 1
    assert done.stderr.startswith("double has ended where it was asked: load 8 request 1 ")


@pytest.mark.parametrize("tools", [(), ("mvn", "javac", "go", "cargo")])
def test_what_cannot_be_built_is_named_and_left_out(tmp_path: Path, tools: tuple[str, ...]) -> None:
    for tool in tools:
        (tmp_path / tool).write_text("#!/bin/sh\necho out of order; exit 3\n")
        (tmp_path / tool).chmod(0o755)
    command = [
        sys.executable,
        "-m",
        "benchmarks.codec.decode_encode",
        "--others",
        "--only",
        "HeartbeatRequest v4 0x0",
        "--peers",
        "kio",
    ]
    environment = {"PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}:/nowhere", "XDG_CACHE_HOME": str(tmp_path)}
    environment |= {name: os.environ[name] for name in ("HOME",) if name in os.environ}
    done = subprocess.run(
        [*command, "--rounds", "1", "--slot", "0.0002"], capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if " is missing: " in line] == ["java", "go", "rust"]
    if tools:
        assert "go is missing: go build failed: out of order" in lines
    else:
        assert "java is missing: there is no mvn; it needs mvn and javac and java" in lines
    heads = [line.split() for line in lines if line.startswith(("decode", "encode", "json"))]
    assert [head[:3] for head in heads] == [[name, "bytes", "µs"] for name in ("decode", "encode", "json")]
    assert not {"java", "go", "rust"} & {name for head in heads for name in head}  # no column without figures
