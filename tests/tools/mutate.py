"""Change kwire in small ways, one at a time, and print what no test of the package notices.

Each mutant is a copy of the project with one change (`mutants`), in a temporary folder. All tests of the packages run
once without a change, with probes that tell which tests get to which change. Then, of each mutant, those test functions
run and the test files named after the module, the quickest first; where an import runs the change or no probe can be,
all tests of the package and those that import it. What fails or takes several times as long as without the change is
noticed. Tests marked `ci` do not run.
"""

from __future__ import annotations

import argparse
import difflib
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random, SystemRandom
from subprocess import DEVNULL, Popen
from typing import NamedTuple
from xml.etree import ElementTree

from tests.seeds import SEED
from tests.tools.mutants import Change, changes, with_probes

ROOT = Path(__file__).parent.parent.parent
LEAST_LIMIT, LIMIT = 240, 5  # seconds that any run may take, and times as many as without a change
MEMORY = 4 << 30  # bytes that a mutant may take, for some never stop to ask for more
LEFT_OUT = ("kwire/spark/",)  # takes minutes for each
EVERYWHERE = ["tests/codecs/test_round_trip.py", "tests/golden/test_golden.py"]  # what the whole codec is tested by
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")


PROBE = """import os, sys
seen = set()
def hit(number):
    is_import = not sys._getframe(1).f_code.co_flags & 1  # of a module or a class
    test = "" if is_import else os.environ.get("PYTEST_CURRENT_TEST", "").partition("[")[0].partition(" ")[0]
    if (number, test) not in seen:
        seen.add((number, test))
        try:
            with open(os.path.join(os.path.dirname(__file__), "reached.txt"), "a") as file:
                file.write(f"{number} {test}\\n")
        except OSError:
            pass  # a test bounds what files may hold
"""


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
    """Return random mutants, and how many there are to choose from."""
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "kwire").rglob("*.py"))
    chosen = [name for name in files if name.startswith(under) and (under != "kwire" or not name.startswith(LEFT_OUT))]
    sources = {name: (ROOT / name).read_text("utf-8") for name in chosen}
    found = [Mutant(name, change) for name, source in sources.items() for change in changes(source)]
    Random(seed).shuffle(found)
    are_python = (one for one in found if one.change.is_python(sources[one.module]))
    return list(islice(are_python, count)), len(found)


def own_tests(module: str) -> list[str]:
    """Return the module with its doctests, and the test files named after it.

    >>> own_tests("kwire/schema/field_names.py")
    ['kwire/schema/field_names.py', 'tests/schema/test_field_names.py']
    """
    folder, stem = Path("tests", *Path(module).parts[1:-1]), Path(module).stem
    stem = Path(module).parent.name if stem == "__init__" else stem
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
    """Return all test files of the module's package, those that import the module, and those of the whole codec."""
    parts = Path(module).with_suffix("").parts
    mirror = Path("tests", *parts[1:2])
    pattern = f"{mirror}/**/test_*.py" if (ROOT / mirror).is_dir() else f"tests/test_{parts[1]}*.py"
    package = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern)) if len(parts) > 2 else []
    named = {one for count in range(2, len(parts) + 1) for one in imports().get(".".join(parts[:count]), ())}
    return [*dict.fromkeys([*own_tests(module), *package, *sorted(named), *EVERYWHERE])]


class Survey(NamedTuple):
    """What tests do without a change: how long each function takes, options that omit what fails, who reached what."""

    times: dict[str, float]
    failing: list[str]
    reached: dict[Mutant, set[str]]

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests to ask, quickest first; all of the package where only an import runs the change."""
        own, files = own_tests(mutant.module), {one: one.partition("::")[0] for one in self.reached[mutant]}
        others = {one for one, file in files.items() if file in self.times and file not in own}
        chosen = all_tests(mutant.module) if list(files) == [""] else [*own, *others]
        return sorted(chosen, key=lambda one: self.times[one])


class Copy:
    """A copy of the project, in which one mutant at a time is tested."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "kwire-mutant"
        shutil.copytree(ROOT, self.folder, ignore=NOT_COPIED)
        # Compiled files are compared with their sources by hash: a change may keep size and second.
        compiled = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "kwire"]
        subprocess.run(compiled, cwd=self.folder, check=True)
        shared = os.environ.get("KWIRE_SHARED", str(ROOT.parent / "shared"))
        # A copy has no repository: without this, each mutant would draw by its own sources.
        own = {"PYTHONPATH": str(self.folder), "KWIRE_SHARED": shared, "KWIRE_SEED": str(SEED)}
        self.env = {**os.environ, **own}

    def run(self, arguments: Sequence[str], limit: float | None = None) -> str:
        """Run tests; return "survived", "noticed" or "too long"."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        with Popen(command, cwd=self.folder, env=self.env, stdout=DEVNULL, stderr=DEVNULL, process_group=0) as process:
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "too long"
        return "survived" if code in (0, 5) else "noticed"  # 5: there are none, or all are marked ci

    def survey(self, mutants: Sequence[Mutant], workers: int) -> Survey:
        """Run all tests for some mutants without a change, with probes."""
        report, reached = self.folder / "report.xml", self.folder / "kwire/reached.txt"
        (self.folder / "kwire/_probe.py").write_text(PROBE, "utf-8")
        modules = {one.module for one in mutants}
        for module in modules:
            probes = [(number, one.change) for number, one in enumerate(mutants) if one.module == module]
            (self.folder / module).write_text(with_probes((ROOT / module).read_text("utf-8"), probes), "utf-8")
        tests = {test for module in modules for test in all_tests(module)}
        self.run(["-n", str(workers), f"--junitxml={report}", "-o", "junit_family=xunit1", *tests])
        for module in modules:
            shutil.copy2(ROOT / module, self.folder / module)
        survey = Survey(times_in(report), failing_in(report), defaultdict(set))
        for line in reached.read_text("utf-8").splitlines():
            number, _, test = line.partition(" ")
            survey.reached[mutants[int(number)]].add(test)
        return survey

    def verdict(self, mutant: Mutant, survey: Survey) -> str:
        """Return "noticed", "too long" or "survived"."""
        path, tests = self.folder / mutant.module, survey.tests(mutant)
        source, limit = path.read_text("utf-8"), LIMIT * sum(survey.times[one] for one in tests)
        path.write_text(mutant.change.applied(source), "utf-8")
        try:
            return self.run(["-x", *survey.failing, *tests], max(LEAST_LIMIT, limit))
        finally:
            path.write_text(source, "utf-8")


def failing_in(report: Path) -> list[str]:
    """Return options that leave out the tests that fail in a report in JUnit's format."""
    cases = ElementTree.parse(report).iter("testcase")
    failing = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return [f"--deselect={case.attrib['file']}::{case.attrib['name']}" for case in failing]


def times_in(report: Path) -> dict[str, float]:
    """Return how long each file and each test function of a report in JUnit's format took."""
    times: dict[str, float] = defaultdict(float)
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.attrib['file']}::{case.attrib['name']}"
        for one in (case.attrib["file"], name.partition("[")[0]):
            times[one] += float(case.attrib["time"])
    return times


def judge(mutants: Sequence[Mutant], folder: Path, workers: int, copy_class: type[Copy] = Copy) -> Counter[str]:
    """Test mutants, several at once; print each verdict, and the diffs of survivors, when it is known."""
    copies: queue.Queue[Copy] = queue.Queue()
    for number in range(workers):
        copies.put(copy_class(folder / str(number)))
    survey = copies.queue[0].survey(mutants, workers)
    print(f"these tests fail without a change: {survey.failing}", flush=True)
    verdicts: Counter[str] = Counter()

    def one(mutant: Mutant) -> None:
        copy = copies.get()
        try:
            verdict = copy.verdict(mutant, survey)
        finally:
            copies.put(copy)
        verdicts[verdict] += 1
        line = f"{mutant.change.kind:10} {mutant.module}:{mutant.change.line}"
        difference = f"\n{mutant.diff()}\n" if verdict == "survived" else ""
        print(f"{verdicts.total():4}/{len(mutants)} {verdict:8} {line}{difference}", flush=True)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, mutants))
    return verdicts


def main(arguments: Sequence[str] | None = None) -> int:
    """Sample mutants, test them, print the survivors and the score."""
    parser = argparse.ArgumentParser(prog="dev.py mutate", description="Print small changes that no test notices.")
    parser.add_argument("--seed", type=int, help="chooses the mutants (default: drawn)")
    parser.add_argument("--count", type=int, default=50, help="how many (default: 50, about half a minute each)")
    parser.add_argument("--workers", type=int, default=2, help="how many are tested at once (default: 2)")
    parser.add_argument(
        "--under", default="kwire", metavar="PATH", help="of these files only, such as kwire/codecs/records"
    )
    parser.add_argument("--native", action="store_true", help="change the native engine (about a minute each)")
    options = parser.parse_args(arguments)
    seed = SystemRandom().randrange(10**6) if options.seed is None else options.seed
    with tempfile.TemporaryDirectory(prefix="kwire-mutants-") as folder:
        if options.native:
            from tests.tools import native_mutants  # which imports this module

            mutants, candidates = native_mutants.sample(seed, options.count, options.under)
        else:
            mutants, candidates = sample(seed, options.count, options.under)
        print(f"--seed {seed}: {len(mutants)} of {candidates} mutants under {options.under}", flush=True)
        if options.native:
            verdicts = judge(mutants, Path(folder), options.workers, native_mutants.NativeCopy)
        else:
            verdicts = judge(mutants, Path(folder), options.workers)
    count = len(mutants) - verdicts["no code"]
    noticed = count - verdicts["survived"]
    print(f"{noticed} of {count} noticed ({100 * noticed / max(count, 1):.1f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
