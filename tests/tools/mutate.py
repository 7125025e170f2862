"""Change kwire in small ways, one at a time, and print what no test of the package notices.

Each mutant is a copy of the project with one change (`mutants`), in a temporary folder. First the tests named after the
module and its doctests run, then, on those that survive, all tests of the package and those that import it. What fails
or takes several times as long as without the change is noticed. Tests marked `ci` do not run.
"""

from __future__ import annotations

import argparse
import difflib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random, SystemRandom
from typing import ClassVar, NamedTuple

from tests.tools.mutants import Change, changes

ROOT = Path(__file__).parent.parent.parent
WORKERS = 2
LEAST_LIMIT, LIMIT = 60, 5  # seconds that any run may take, and times as many as without a change
LEFT_OUT = ("kwire/spark/",)  # takes minutes for each
EVERYWHERE = ["tests/test_round_trip.py", "tests/test_golden.py"]  # what the whole codec is tested by
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "benchmarks/others")


class Mutant(NamedTuple):
    """A module and a change to it."""

    module: str
    change: Change

    def diff(self) -> str:
        """Return the change as a unified diff."""
        before = (ROOT / self.module).read_text("utf-8")
        one, other = (text.splitlines(keepends=True) for text in (before, self.change.applied(before)))
        return "".join(difflib.unified_diff(one, other, self.module, f"{self.module} ({self.change.kind})", n=2))


def sample(seed: int, count: int, under: str) -> tuple[list[Mutant], int]:
    """Return mutants by chance, and how many there are to choose from."""
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "kwire").rglob("*.py"))
    chosen = [name for name in files if name.startswith(under) and (under != "kwire" or not name.startswith(LEFT_OUT))]
    sources = {name: (ROOT / name).read_text("utf-8") for name in chosen}
    found = [Mutant(name, change) for name, source in sources.items() for change in changes(source)]
    Random(seed).shuffle(found)
    are_python = (one for one in found if one.change.is_python(sources[one.module]))
    return list(islice(are_python, count)), len(found)


def own_tests(module: str) -> list[str]:
    """Return the module with its doctests, and the test files named after it.

    >>> own_tests("kwire/names.py")
    ['kwire/names.py', 'tests/test_names.py']
    """
    folder, stem = Path("tests", *Path(module).parts[1:-1]), Path(module).stem
    return [module, *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).glob(f"test_{stem}*.py"))]


@cache
def imports() -> dict[str, set[str]]:
    """Return the test files that name each module or package of kwire."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text("utf-8")
        names = set(re.findall(r"kwire(?:\.\w+)+", text))
        names |= {f"{one}.{name}" for one, name in re.findall(r"from (kwire(?:\.\w+)*) import (\w+)", text)}
        for name in names:
            found.setdefault(name, set()).add(path.relative_to(ROOT).as_posix())
    return found


def all_tests(module: str) -> list[str]:
    """Return all tests of the module's package, those that import the module, and those of the whole codec."""
    parts = Path(module).with_suffix("").parts
    mirror = Path("tests", *parts[1:2])
    folder = [f"{mirror.as_posix()}/"] if len(parts) > 2 and (ROOT / mirror).is_dir() else []
    if len(parts) > 2 and not folder:
        folder = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(f"tests/test_{parts[1]}*.py"))
    named = imports().get(".".join(parts), set()) | imports().get(".".join(parts[:2]), set())
    others = [one for one in sorted({*named, *EVERYWHERE}) if not one.startswith(tuple(folder))]
    return [*dict.fromkeys([*own_tests(module), *folder, *others])]


class Copy:
    """A copy of the project, in which one mutant at a time is tested."""

    times: ClassVar[dict[tuple[str, ...], float]] = {}  # of all copies: how long tests take without a change

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "kwire-mutant"
        shutil.copytree(ROOT, self.folder, ignore=NOT_COPIED)
        # Compiled files are compared with their sources by hash: a change may keep size and second.
        compiled = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "kwire"]
        subprocess.run(compiled, cwd=self.folder, check=True)
        shared = os.environ.get("KWIRE_SHARED", str(ROOT.parent / "shared"))
        self.env = {**os.environ, "PYTHONPATH": str(self.folder), "KWIRE_SHARED": shared}

    def run(self, tests: Sequence[str], limit: float | None) -> str:
        """Run tests; return "passed", "failed" or "too long", or else how pytest itself failed."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        nothing = subprocess.DEVNULL
        with subprocess.Popen(
            command, cwd=self.folder, env=self.env, stdout=nothing, stderr=nothing, process_group=0
        ) as process:
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "too long"
        return "passed" if code in (0, 5) else "failed"  # 5: there are none, or all are marked ci

    def time(self, tests: tuple[str, ...]) -> float:
        """Return how long tests take without a change; they must pass."""
        if tests not in self.times:
            start = time.monotonic()
            if self.run(tests, None) != "passed":
                raise RuntimeError(f"they fail without a change: pytest {' '.join(tests)}")
            self.times[tests] = time.monotonic() - start
        return self.times[tests]

    def verdict(self, mutant: Mutant) -> str:
        """Return what notices a mutant: "own tests", "other tests", "time"; or "survived"."""
        path = self.folder / mutant.module
        source = path.read_text("utf-8")
        for name, tests in (("own tests", own_tests(mutant.module)), ("other tests", all_tests(mutant.module))):
            limit = max(LEAST_LIMIT, LIMIT * self.time(tuple(tests)))
            path.write_text(mutant.change.applied(source), "utf-8")
            try:
                result = self.run(tests, limit)
            finally:
                path.write_text(source, "utf-8")
            if result != "passed":
                return "time" if result == "too long" else name
        return "survived"


def judge(mutants: Sequence[Mutant], folder: Path) -> dict[Mutant, str]:
    """Test mutants, two at once, those of a module together; print each verdict when it is known."""
    copies: queue.Queue[Copy] = queue.Queue()
    for number in range(WORKERS):
        copies.put(Copy(folder / str(number)))
    verdicts: dict[Mutant, str] = {}

    def one(mutant: Mutant) -> None:
        copy = copies.get()
        try:
            verdicts[mutant] = copy.verdict(mutant)
        except RuntimeError as error:
            verdicts[mutant] = f"not tested: {error}"
        finally:
            copies.put(copy)
        place = f"{mutant.module}:{mutant.change.line}"
        print(f"{len(verdicts):4}/{len(mutants)} {verdicts[mutant]:12} {mutant.change.kind:10} {place}", flush=True)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(one, sorted(mutants, key=lambda one: (one.module, one.change.start))))
    return verdicts


def main(arguments: Sequence[str] | None = None) -> int:
    """Sample mutants, test them, print the survivors and the score."""
    parser = argparse.ArgumentParser(prog="dev.py mutate", description="Print small changes that no test notices.")
    parser.add_argument("--seed", type=int, help="chooses the mutants (default: drawn)")
    parser.add_argument("--count", type=int, default=50, help="how many (default: 50, about half a minute each)")
    parser.add_argument("--under", default="kwire", metavar="PATH", help="of these files only, such as kwire/records")
    options = parser.parse_args(arguments)
    seed = SystemRandom().randrange(10**6) if options.seed is None else options.seed
    mutants, candidates = sample(seed, options.count, options.under)
    print(f"--seed {seed}: {len(mutants)} of {candidates} mutants under {options.under}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kwire-mutants-") as folder:
        verdicts = judge(mutants, Path(folder))
    survivors = [mutant for mutant, verdict in verdicts.items() if verdict == "survived"]
    for mutant in survivors:
        print(f"\n{mutant.diff()}", end="")
    untested = sum(verdict.startswith("not tested") for verdict in verdicts.values())
    tested = len(mutants) - untested
    noticed = tested - len(survivors)
    print(f"\n{noticed} of {tested} noticed ({100 * noticed / max(tested, 1):.1f} %), {untested} could not be tested")
    return 0


if __name__ == "__main__":
    sys.exit(main())
