"""The programs around the tests: mutants are Python and each is another text, and what is sampled is repeatable."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.tools import coverage, mutate, native_mutants, prefetch, sanitize, wheel
from tests.tools.fuzz import failures, files
from tests.tools.locks import one_at_a_time
from tests.tools.mutants import changes, with_probes
from tests.tools.mutate import Mutant, Survey, all_tests, own_tests, sample

SOURCE = '''
"""Words."""
def f(a: int = 3, *, b: "x < y" = True) -> "1 + 1":
    """1 < 2"""
    if a < 1 and not b:
        raise ValueError(f"é {a + 1}")
    self.x = a + 1
    g(a, b)
    while a:
        a -= 1
        continue
    return a if b else g(b, a)
'''


def test_the_paths_that_programs_name_exist() -> None:
    paths = [*wheel.SUITE, *native_mutants.TESTS, *coverage.SUITE, *mutate.EVERYWHERE, *mutate.LEFT_OUT]
    paths += [path.removesuffix("*") for path in coverage.MODULES]
    assert [path for path in paths if not path.startswith("--") and not (ROOT / path).exists()] == []


def test_all_kinds_of_changes_are_found() -> None:
    found = {(one.kind, one.line) for one in changes(SOURCE)}
    assert found == {
        ("number", 3), ("truth", 3), ("condition", 5), ("boolean", 5), ("comparison", 5), ("number", 5),
        ("negation", 5),
        ("left out", 6), ("left out", 7), ("operator", 7), ("number", 7), ("left out", 8), ("arguments", 8),
        ("condition", 9), ("left out", 10), ("number", 10), ("left out", 11), ("returned", 12), ("condition", 12),
        ("arguments", 12),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["kwire/schema/version_ranges.py"])
def test_every_change_is_python_and_another_program(name: str) -> None:
    source = (ROOT / name).read_text("utf-8")
    before = ast.dump(ast.parse(source))
    found = changes(source)
    assert len(found) > 20
    assert all(one.is_python(source) for one in found)
    assert all(ast.dump(ast.parse(one.applied(source))) != before for one in found)


def test_probes_change_nothing_and_tell_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "def f(a):\n    if a < 1 and not g(a, 2):\n        raise ValueError(5)\n    return g(a, 3) if a != 7 else 5\n"
    )
    found, told = changes(source), set[int]()
    monkeypatch.setitem(sys.modules, "kwire._probe", SimpleNamespace(hit=told.add))
    names: dict[str, Any] = {"g": lambda a, b: a * b}
    exec(with_probes(source, enumerate(found)), names)  # noqa: S102
    assert (names["f"](5), {found[number].kind for number in told} & {"left out", "boolean"}) == (15, {"boolean"})
    assert (names["f"](7), {found[number].line for number in set(range(len(found))) - told}) == (5, {2, 3})
    with pytest.raises(ValueError, match="5"):
        names["f"](0)
    assert told == set(range(len(found)))


def test_who_reached_a_change_is_asked() -> None:
    mutant = Mutant("kwire/schema/field_names.py", changes("x = 1 < 2")[0])
    times = {
        "kwire/schema/field_names.py": 1.0,
        "tests/schema/test_field_names.py": 2.0,
        "tests/a.py": 9.0,
        "tests/a.py::b": 0.5,
    }
    reached = {
        "kwire/schema/field_names.py::kwire.schema.field_names.fold_name",
        "tests/a.py::b",
        "test_of_another_folder.py::c",
        "",
    }
    assert Survey(times, [], {mutant: reached}).tests(mutant) == [
        "tests/a.py::b",
        "kwire/schema/field_names.py",
        "tests/schema/test_field_names.py",
    ]
    assert Survey(times, [], {mutant: set()}).tests(mutant) == own_tests(mutant.module)
    everything = Survey(defaultdict(float), [], {mutant: {""}}).tests(mutant)
    assert set(everything) == set(all_tests(mutant.module))


def test_a_seed_samples_the_same() -> None:
    one, same, other = (sample(seed, 20, "kwire/codecs/wire/reader.py") for seed in (1, 1, 2))
    assert one == same != other
    assert one[0][0].diff().startswith(f"--- {one[0][0].module}\n")


def test_every_module_has_tests() -> None:
    modules = [path.relative_to(ROOT).as_posix() for path in (ROOT / "kwire").rglob("*.py")]
    missing = [
        name for name in modules for test in (*own_tests(name), *all_tests(name)) if not Path(ROOT, test).exists()
    ]
    assert missing == []
    assert "tests/codecs/wire/test_varints.py" in all_tests("kwire/codecs/wire/structs.py")
    assert "tests/codecs/test_message_codec.py" in own_tests("kwire/codecs/message_codec.py")
    assert "tests/codecs/test_json.py" in all_tests("kwire/codecs/json_reader.py")


def test_what_failed_is_listed() -> None:
    assert failures("FAILED tests/a.py::b[1 2] - boom") == ["tests/a.py::b[1"]
    assert failures("ERROR tests/a.py - x") == ["tests/a.py"]
    assert failures("1 FAILED") == []
    assert str(ROOT / "tests/codecs/test_round_trip.py") in files()


def test_a_download_that_fails_is_named_and_the_others_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    done: list[str] = []
    assert prefetch.main([("Kafka", lambda: 1 / 0), ("Pyodide", lambda: done.append("Pyodide"))]) == 1
    assert (done, capsys.readouterr().err) == (["Pyodide"], "Kafka: division by zero\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_a_second_process_waits_for_the_lock(tmp_path: Path) -> None:
    again = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    command = [sys.executable, "-c", again, str(tmp_path / "new/.kwire-lock")]
    with one_at_a_time(tmp_path / "new"):
        assert b"BlockingIOError" in subprocess.run(command, capture_output=True).stderr
    assert subprocess.run(command).returncode == 0


@pytest.mark.ci
@pytest.mark.skipif(sanitize.missing() is not None, reason=f"no build with sanitizers: {sanitize.missing()}")
def test_sanitizers_find_nothing_in_the_native_engine(capfd: pytest.CaptureFixture[str]) -> None:
    assert sanitize.main(["--minutes", "0.5"]) == 0
    assert "no disagreement" in capfd.readouterr().out


@pytest.mark.skipif(sanitize.missing() is not None, reason=f"no build with sanitizers: {sanitize.missing()}")
def test_a_case_that_fails_is_named_with_its_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "library.so").write_bytes(b"not a library")
    assert sanitize.fuzz(tmp_path / "library.so", 7, 0) == 1
    assert "== the engine failed with seed 7 (exit code 1) at:\nnone yet" in capsys.readouterr().out
