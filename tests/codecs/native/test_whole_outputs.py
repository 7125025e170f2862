"""The engines print the same, to the byte: reports, statistics, JSON and lines of captures, damaged ones too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from kwire.codecs import native
from tests.conftest import ROOT, SHARED
from tests.seeds import SEED, seeded

FIXTURES = sorted((ROOT / "fixtures/dumps").iterdir())
CAPTURES = sorted((SHARED / "captures").glob("*.pcap"))


def damaged_capture(data: bytes, rng: Random) -> bytes:
    """Return a capture with some bytes changed, left out, doubled or cut, mostly in its packets."""
    found = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at, size = rng.randrange(24, len(found)), rng.choice((1, 2, 4, 40, 400))
        change = rng.choice((b"", rng.randbytes(size), b"\xff" * 4, bytes(found[at : at + size]) * 2))
        found[at : at + size] = change
    return bytes(found[: rng.randrange(len(found) // 2, len(found) + 1)])


def compare_engines(files: list[Path], folder: Path) -> None:
    """Let each engine print all files, and compare what they print."""
    if not native.AVAILABLE:
        pytest.skip("the native engine was not built")
    printed = {}
    for engine in ("native", "python"):
        (folder / engine).mkdir()
        command = [sys.executable, "-m", "tests.codecs.native.whole_outputs", str(folder / engine), *map(str, files)]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"KWIRE_ENGINE": engine}, check=True)
        printed[engine] = {path.name: path.read_bytes() for path in (folder / engine).iterdir()}
    different = [name for name in printed["native"] if printed["native"][name] != printed["python"].get(name)]
    assert printed["native"] and not different, f"KWIRE_SEED={SEED}: see {folder}"


def test_the_engines_print_the_same(tmp_path: Path) -> None:
    """Of the fixtures, and one damaged capture."""
    rng = seeded("whole outputs")
    capture = next(path for path in FIXTURES if path.suffix == ".pcap")
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(damaged_capture(capture.read_bytes(), rng))
    compare_engines([*FIXTURES, damaged], tmp_path)


@pytest.mark.ci
@pytest.mark.parametrize("share", range(4))
def test_the_engines_print_the_same_of_all_captures(share: int, tmp_path: Path) -> None:
    """Of the captures beside the project, each whole and damaged."""
    rng = seeded(f"whole outputs of all captures {share}")
    files = []
    for path in CAPTURES[share::4]:
        damaged = tmp_path / path.name
        damaged.write_bytes(damaged_capture(path.read_bytes(), rng))
        files += [path, damaged]
    if not files:
        pytest.skip(f"there is no {SHARED}")
    compare_engines(files, tmp_path)
