"""Runs targets under atheris, and keeps what reaches new code: `python -m tests.tools.fuzz_corpus bodies --minutes 5`.

Needs atheris (`pip install atheris`), which is not among the requirements of the tests. libFuzzer adds the cases that
reach new code to a folder, and replaces them by shorter ones that reach the same; the shortest of them are kept.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
from bisect import bisect
from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

ROOT = Path(__file__).parent.parent.parent
CORPUS = ROOT / "tests/fuzz/corpus.jsonl.gz"
MOST_BYTES = 300_000  # of the corpus, compressed
MOST_EACH = 20_000  # bytes of the kept cases of a target
LONGEST = 4096  # bytes of a case
TARGETS = ["bodies", "captures", "dumps", "filters", "frames", "hex_text", "json", "records", "segments", "specs"]


def target_of(name: str) -> Callable[[bytes], None]:
    """Return a target by its name."""
    module: Any = import_module(f"tests.fuzz.fuzz_{name}")
    target: Callable[[bytes], None] = getattr(module, f"fuzz_{name}")
    return target


def kept() -> list[tuple[str, bytes]]:
    """Return the cases of the corpus: target and bytes."""
    if not CORPUS.exists():
        return []
    with gzip.open(CORPUS, "rt", encoding="ascii") as lines:
        return [(case["target"], bytes.fromhex(case["hex"])) for case in map(json.loads, lines)]


def keep(cases: Iterable[tuple[str, bytes]]) -> None:
    """Write the corpus; the same cases make the same file."""
    text = "".join(json.dumps({"target": name, "hex": data.hex()}) + "\n" for name, data in sorted(set(cases)))
    CORPUS.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def write_cases(folder: Path, cases: Iterable[bytes]) -> None:
    """Write a file for each case."""
    folder.mkdir(exist_ok=True)
    for number, data in enumerate(cases):
        (folder / f"{number:05}").write_bytes(data)


def write_archive(file: str, names: Iterable[str]) -> None:
    """Write the seeds and kept cases of targets into a zip archive, as OSS-Fuzz takes them."""
    cases = [data for target, data in kept() if target in names]
    for name in names:
        module: Any = import_module(f"tests.fuzz.fuzz_{name}")
        cases += module.seeds()
    with ZipFile(file, "w") as archive:
        for number, data in enumerate(cases):
            archive.writestr(f"{number:05}", data)


def fuzz(name: str, minutes: float, folder: Path) -> tuple[list[bytes], list[bytes]]:
    """Fuzz a target; return the cases that reach code that no seed reaches, and those that failed."""
    module: Any = import_module(f"tests.fuzz.fuzz_{name}")
    found, seeds, failed = (folder / part for part in ("found", "seeds", "failed"))
    write_cases(seeds, module.seeds())
    write_cases(found, [data for target, data in kept() if target == name])
    failed.mkdir()
    command = [sys.executable, "-m", f"tests.fuzz.fuzz_{name}", f"-artifact_prefix={failed}/", f"-max_len={LONGEST}"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [*command, f"-max_total_time={int(minutes * 60)}", "-timeout=60", "-rss_limit_mb=4096", str(found), str(seeds)],
        cwd=ROOT,
        env=env,
        check=False,
    )
    known = {path.read_bytes() for path in seeds.iterdir()}
    cases = sorted({path.read_bytes() for path in found.iterdir()} - known, key=len)
    sizes = list(accumulate(map(len, cases)))
    return cases[: bisect(sizes, MOST_EACH)], [path.read_bytes() for path in sorted(failed.iterdir())]


def main() -> int:
    """Fuzz targets one after the other; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.fuzz_corpus", description=__doc__)
    parser.add_argument("targets", nargs="*", default=TARGETS, metavar="TARGET", help=f"some of {', '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=5, help="how long each (default: 5)")
    parser.add_argument("--seeds", metavar="ZIP", help="only write the seeds and the kept cases into an archive")
    parser.add_argument("--dry", action="store_true", help="leave the corpus as it is")
    options = parser.parse_args()
    if options.seeds:
        write_archive(options.seeds, options.targets)
        return 0
    is_bad = False
    for name in options.targets:
        with TemporaryDirectory() as folder:
            left, failed = fuzz(name, options.minutes, Path(folder))
        print(f"== {name}: {len(left)} cases reach new code, {len(failed)} failed", flush=True)
        for data in failed:
            print(f"   {data.hex()}")
        is_bad |= bool(failed)
        if not options.dry:
            keep([(target, data) for target, data in kept() if target != name] + [(name, data) for data in left])
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
