"""Change the native engine in small ways, one at a time, and print what no test notices: `dev.py mutate --native`.

Cython has no public syntax tree that keeps positions, so that changes are found in the text of its lines: another
comparison or operator, a number one off, `and` for `or`, a condition negated or a guard removed, a statement left out.
The engine is compiled anew for each change, without optimisation; what does not compile is not counted. As for Python,
an engine with probes first tells which tests get to which change: only those run, and those of the engine itself.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from tests.tools.mutants import Change
from tests.tools.mutate import LEAST_LIMIT, LIMIT, ROOT, Copy, Mutant, Survey, failing_in, times_in

FOLDER = ROOT / "kwire/codecs/native"
SWAPS = {
    "comparison": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    "operator": {"+": "-", "-": "+", "*": "+", "//": "*", "%": "//", "<<": ">>", ">>": "<<", "&": "|", "|": "&"},
    "boolean": {"and": "or", "or": "and"},
}
NUMBER = re.compile(r"(?<![\w.])(0x[0-9A-Fa-f]+|\d+)(?![\w.])")
GUARD = re.compile(r"(?P<word>(?:el)?if|while) (?P<test>.+):")
LEFT_OUT = re.compile(r"(?:[\w.\[\]]+(?:, [\w.\[\]]+)* [-+*|]?= |raise |refuse\(\)|self\.\w+\().*")
UNCHANGED = re.compile(r"(?:#|include|cimport|from |import |@|cdef extern|def |class |cdef [^=]*$|ctypedef|return 0$)")
OWN = ["tests/codecs/native", "--ignore=tests/codecs/native/test_wheel.py"]
TESTS = [
    *OWN,
    "tests/codecs",
    "tests/protocol",
    "tests/golden/test_golden.py",
    "tests/capture",
    "tests/arrow",
    "tests/render",
    "tests/statistics/test_traffic.py",
    "tests/cli",
]
COMPILE = """import pathlib, runpy
hook = runpy.run_path("kwire/codecs/native/build_hook.py")
hook["compile_extension"](pathlib.Path("kwire/codecs/native").resolve(), ["-O0"])
"""
# What is added to the engine, after its imports: a file with a byte for each probe, mapped into each process.
PROBE = '''
cdef extern from *:
    """
    #include <fcntl.h>
    #include <stdlib.h>
    #include <sys/mman.h>
    static unsigned char kwire_nowhere[1 << 16], *kwire_reached = kwire_nowhere;
    static void kwire_map_reached(void) {
        const char *path = getenv("KWIRE_REACHED");
        int file = path ? open(path, O_RDWR) : -1;
        void *map = file < 0 ? MAP_FAILED : mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map != MAP_FAILED) kwire_reached = map; }
    """
    unsigned char* kwire_reached
    void kwire_map_reached()

kwire_map_reached()
'''
PLUGIN = """import mmap, os, pathlib, pytest
here = pathlib.Path(__file__).parent
path = here / f"reached-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.map"
path.write_bytes(bytes(1 << 16))
os.environ["KWIRE_REACHED"] = str(path)
file = path.open("r+b")
reached = mmap.mmap(file.fileno(), 1 << 16)

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    reached[:] = bytes(1 << 16)
    result = yield
    with path.with_suffix(".txt").open("a") as out:
        for number, byte in enumerate(bytes(reached)):
            if byte:
                out.write(f"{number} {item.nodeid.partition('[')[0]}\\n")
    return result
"""


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
    """Return random mutants, and how many there are to choose from; `under` begins the names of files."""
    paths = sorted([*FOLDER.glob("*.pyx"), *FOLDER.glob("*.pxi")])
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    chosen = [name for name in names if name.startswith(under)]
    found = [Mutant(name, change) for name in chosen for change in changes_of((ROOT / name).read_text("utf-8"))]
    Random(seed).shuffle(found)
    return found[:count], len(found)


def with_probes(source: str, numbered: Iterable[tuple[int, Change]]) -> str:
    """Return the source with a probe before the statement of each change; none where Cython allows no statement.

    >>> source = "cdef int f(int a):\\n    if a < 7:\\n        return 1\\n    elif a < 8:\\n        return 0\\n"
    >>> print(with_probes(source, [(7, Change("number", 4, 0, 0, ""))]))
    cdef int f(int a):
        kwire_reached[7] = 1
        if a < 7:
            return 1
        elif a < 8:
            return 0
    """
    lines = source.splitlines(keepends=True)
    starts = _statements(lines)
    probes: dict[int, list[int]] = defaultdict(list)
    for number, change in numbered:
        line = starts[change.line - 1]
        if not re.match(r"\s*cdef .*[:(,]$", lines[line].partition("  #")[0].rstrip()):  # the head of a function
            probes[line].append(number)
    for line, numbers in probes.items():
        indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
        lines[line] = "".join(f"{indent}kwire_reached[{number}] = 1\n" for number in numbers) + lines[line]
    return "".join(lines)


def _statements(lines: Sequence[str]) -> list[int]:
    """Return the index of the line that begins the statement of each line; that of `if` for its branches' tests."""
    starts: list[int] = []
    depth = 0
    branches: dict[int, int] = {}  # the `if` of each indentation
    for index, text in enumerate(lines):
        code = re.sub(r"""b?"[^"]*"|c'.+?'|  #.*""", "", text)
        indent = len(text) - len(text.lstrip())
        if depth > 0:
            starts.append(starts[-1])
        elif re.match(r"\s*(elif|else)\b", code):
            starts.append(branches.get(indent, index))
        else:
            branches[indent] = index
            starts.append(index)
        depth += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
    return starts


class NativeCopy(Copy):
    """A copy of the project with an engine of its own."""

    def builds(self) -> bool:
        """Compile the engine; return whether that is possible."""
        command = [sys.executable, "-c", COMPILE]
        return subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True, check=False).returncode == 0

    def survey(self, mutants: Sequence[Mutant], workers: int) -> Survey:
        """Run all tests for some mutants without a change, with probes."""
        report = self.folder / "report.xml"
        (self.folder / "native_reached.py").write_text(PLUGIN, "utf-8")
        for path in [*FOLDER.glob("*.pyx"), *FOLDER.glob("*.pxi")]:
            name = path.relative_to(ROOT).as_posix()
            probes = [(number, one.change) for number, one in enumerate(mutants) if one.module == name]
            source = with_probes(path.read_text("utf-8"), probes)
            if path.suffix == ".pyx":
                source = source.replace("\nimport msgspec\n", f"\nimport msgspec\n{PROBE}", 1)
            (self.folder / name).write_text(source, "utf-8")
        if not self.builds():
            raise RuntimeError("the engine cannot be compiled with probes")
        options = ["-p", "native_reached", f"--junitxml={report}", "-o", "junit_family=xunit1"]
        self.run(["-n", str(workers), *options, *TESTS])
        for path in [*FOLDER.glob("*.pyx"), *FOLDER.glob("*.pxi")]:
            (self.folder / path.relative_to(ROOT)).write_bytes(path.read_bytes())
        survey = Survey(times_in(report), failing_in(report), defaultdict(set))
        for path in self.folder.glob("reached-*.txt"):
            for line in path.read_text("utf-8").splitlines():
                number, _, test = line.partition(" ")
                survey.reached[mutants[int(number)]].add(test)
        return survey

    def verdict(self, mutant: Mutant, survey: Survey) -> str:
        """Return "noticed", "too long", "survived" or "no code"."""
        path = self.folder / mutant.module
        source = path.read_text("utf-8")
        path.write_text(mutant.change.applied(source), "utf-8")
        try:
            return self.asked(mutant, survey) if self.builds() else "no code"
        finally:
            path.write_text(source, "utf-8")

    def asked(self, mutant: Mutant, survey: Survey) -> str:
        """Run the tests that get to a change, the quickest first, and all of the engine; all tests if none does."""
        reaching = survey.reached[mutant]
        others = sorted(reaching, key=lambda test: survey.times[test])
        chosen = [*others, *OWN] if reaching else TESTS
        limit = LIMIT * sum(survey.times[test] for test in chosen)
        return self.run(["-x", *survey.failing, *chosen], max(LEAST_LIMIT, limit))
