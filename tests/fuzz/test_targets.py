"""Each target accepts its seeds, and the cases that fuzzing kept; atheris is not needed for this."""

from __future__ import annotations

import gzip
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.seeds import named, seeded
from tests.tools.fuzz_corpus import CORPUS, MOST_BYTES, TARGETS, target_of


def corpus() -> dict[str, list[bytes]]:
    """Return the kept cases by target."""
    found: dict[str, list[bytes]] = {}
    with gzip.open(CORPUS, "rt", encoding="ascii") as lines:
        for case in map(json.loads, lines):
            found.setdefault(case["target"], []).append(bytes.fromhex(case["hex"]))
    return found


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_and_kept_cases_hold(name: str) -> None:
    """A tenth of many seeds, another one by each seed of the tests."""
    module: Any = import_module(f"tests.fuzz.fuzz_{name}")
    seeds = list(module.seeds())
    drawn = seeds if len(seeds) < 100 else seeded(f"seeds of {name}").sample(seeds, len(seeds) // 10)
    for case in [b"", b"\0", *drawn, *corpus().get(name, [])]:
        with named(case.hex()):
            target_of(name)(case)


def test_the_corpus_is_small_and_of_these_targets() -> None:
    assert CORPUS.stat().st_size <= MOST_BYTES
    assert set(corpus()) <= set(TARGETS)


def test_oss_fuzz_builds_each_target() -> None:
    folder = Path(__file__).parent
    assert sorted(path.stem for path in folder.glob("fuzz_*.py")) == [f"fuzz_{name}" for name in sorted(TARGETS)]
    assert "tests/fuzz/fuzz_*.py" in (folder / "oss-fuzz/build.sh").read_text("utf-8")
    assert (ROOT / "tests/fuzz/README.md").read_text("utf-8").count("| `fuzz_") == len(TARGETS)
