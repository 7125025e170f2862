"""Change the native engine in small ways, one at a time, and print what no test notices: `dev.py mutate --native`.

Cython has no public syntax tree that keeps positions, so that changes are found in the text of its lines: another
comparison or operator, a number one off, `and` for `or`, a condition negated or a guard removed, a statement left out.
The engine is compiled anew for each change, in about 20 s of processor time; what does not compile is not counted.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from tests.tools.mutants import Change
from tests.tools.mutate import ROOT, Copy, Mutant, failing_in

FOLDER = ROOT / "kwire/native"
SWAPS = {
    "comparison": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    "operator": {"+": "-", "-": "+", "*": "+", "//": "*", "%": "//", "<<": ">>", ">>": "<<", "&": "|", "|": "&"},
    "boolean": {"and": "or", "or": "and"},
}
NUMBER = re.compile(r"(?<![\w.])(0x[0-9A-Fa-f]+|\d+)(?![\w.])")
GUARD = re.compile(r"(?P<word>(?:el)?if|while) (?P<test>.+):")
LEFT_OUT = re.compile(r"(?:[\w.\[\]]+(?:, [\w.\[\]]+)* [-+*|]?= |raise |refuse\(\)|self\.\w+\().*")
UNCHANGED = re.compile(r"(?:#|include|cimport|from |import |@|cdef extern|def |class |cdef [^=]*$|ctypedef|return 0$)")
# What tests each file beside those of the engine itself; the quickest first.
CODEC = ["tests/test_golden.py", "tests/test_round_trip.py", "tests/records", "tests/protocol", "tests/codecs"]
CAPTURE = ["tests/capture", "tests/arrow", "tests/input"]
FRAMES = ["tests/test_traffic.py", "tests/render", "tests/capture", "tests/arrow", "tests/cli"]
TESTS = {
    "_columns.pxi": ["tests/codecs/columns", "tests/arrow"],
    "_column_runs.pxi": ["tests/codecs/columns", "tests/arrow"],
    "_packets.pxi": CAPTURE,
    "_capture.pxi": CAPTURE,
    "_frames.pxi": FRAMES,
    "_pairing_and_rows.pxi": FRAMES,
}
ALWAYS = ["tests/native", "--ignore=tests/native/test_wheel.py"]


def changes_of(source: str) -> list[Change]:
    """Return all changes of a source in Cython, in their order.

    >>> source = "cdef int f(int a):\\n    if a < 7:\\n        return a + 1\\n    return 0\\n"
    >>> [one.applied(source).splitlines()[one.line - 1].strip() for one in changes_of(source)][:5]
    ['if a <= 7:', 'if a < 6:', 'if not (a < 7):', 'if False and (a < 7):', 'return a - 1']
    """
    found, start = [], 0
    for line, text, code in _code_lines(source):
        start = len("".join(source.splitlines(keepends=True)[: line - 1]).encode()) + len(text) - len(text.lstrip())
        for kind, first, last, changed in _changes_of_line(code):
            before, after = len(code[:first].encode()), len(code[:last].encode())
            found.append(Change(kind, line, start + before, start + after, changed))
    return found


def _code_lines(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield the number, the text and the code of each line that may be changed: no text in quotes, no declaration."""
    in_text = in_extern = False
    for number, text in enumerate(source.splitlines(), 1):
        code = text.strip().partition("  #")[0].rstrip()
        quotes = text.count('"""')
        if in_text or quotes:
            in_text = in_text != (quotes % 2 == 1)
            continue
        if text and not text[0].isspace():
            in_extern = code.startswith(("cdef extern", "cdef struct", "cdef enum"))
        if code and not in_extern and not UNCHANGED.match(code):
            yield number, text, code


def _changes_of_line(code: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield the kind, the range and the new text of each change of a line."""
    plain = re.sub(r"""b?"[^"]*"|c'.+?'""", lambda match: "_" * len(match[0]), code)
    for kind, swaps in SWAPS.items():
        for match in re.finditer(r"(?<= )(\S+)(?= )", plain):
            if match[1] in swaps:
                yield kind, match.start(1), match.end(1), swaps[match[1]]
    for match in NUMBER.finditer(plain):
        value = int(match[1], 0)
        yield "number", match.start(1), match.end(1), str(value + 1 if value < 2 else value - 1)
    guard = GUARD.fullmatch(code)
    if guard:
        test = guard["test"]
        yield "condition", guard.start("test"), guard.end("test"), f"not ({test})"
        yield "guard", guard.start("test"), guard.end("test"), f"False and ({test})"
    elif LEFT_OUT.fullmatch(code) and code.count("(") == code.count(")"):
        yield "left out", 0, len(code), "pass"


def sample(seed: int, count: int, under: str = "") -> tuple[list[Mutant], int]:
    """Return mutants by chance, and how many there are to choose from; `under` begins the names of files."""
    paths = sorted([*FOLDER.glob("*.pyx"), *FOLDER.glob("*.pxi")])
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    chosen = [name for name in names if name.startswith(under)]
    found = [Mutant(name, change) for name in chosen for change in changes_of((ROOT / name).read_text("utf-8"))]
    Random(seed).shuffle(found)
    return found[:count], len(found)


def chosen_tests(module: str) -> list[str]:
    """Return the tests that are run for a change of a file."""
    return [*ALWAYS, *TESTS.get(Path(module).name, CODEC)]


def builds(copy: Copy) -> bool:
    """Compile the engine of a copy; return whether that is possible."""
    command = [sys.executable, "kwire/native/build_hook.py"]
    done = subprocess.run(command, cwd=copy.folder, env=copy.env, capture_output=True, check=False)
    return done.returncode == 0


def verdict_of(copy: Copy, mutant: Mutant, failing: Sequence[str], limit: float) -> str:
    """Return "noticed", "too long", "survived" or "no code"."""
    path = copy.folder / mutant.module
    source = path.read_text("utf-8")
    path.write_text(mutant.change.applied(source), "utf-8")
    try:
        return copy.run(["-x", *failing, *chosen_tests(mutant.module)], limit) if builds(copy) else "no code"
    finally:
        path.write_text(source, "utf-8")


def judge(mutants: Sequence[Mutant], folder: Path, limit: float = 900) -> Counter[str]:
    """Compile and test mutants; print each verdict, and the diffs of survivors, when it is known.

    Args:
        mutants: the changes.
        folder: where the copy of the project is made.
        limit: seconds that the tests of one may take.
    """
    copy = Copy(folder / "native")
    verdicts: Counter[str] = Counter()
    tests = dict.fromkeys(test for mutant in mutants for test in chosen_tests(mutant.module))
    if not builds(copy):
        raise RuntimeError("the engine cannot be compiled without a change")
    report = copy.folder / "report.xml"
    copy.run([f"--junitxml={report}", "-o", "junit_family=xunit1", *tests])
    failing = failing_in(report)
    print(f"these tests fail without a change: {failing}", flush=True)
    for number, mutant in enumerate(mutants, 1):
        verdict = verdict_of(copy, mutant, failing, limit)
        verdicts[verdict] += 1
        difference = f"\n{mutant.diff()}\n" if verdict == "survived" else ""
        line = f"{mutant.change.kind:10} {mutant.module}:{mutant.change.line}"
        print(f"{number:4}/{len(mutants)} {verdict:8} {line}{difference}", flush=True)
    return verdicts
