"""mypy and pyright know kwire as it is installed: they find what is wrong in a program, and nothing in a right one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kwire.schema.stubs import write_stubs
from tests.conftest import ROOT

HERE = Path(__file__).parent
PROGRAMS = {
    "mistakes": 33,
    "lag_client": 5,
    "capture_audit": 6,
    "record_copier": 7,
    "spark_job": 20,
}  # with how many mistakes, at least
LEAST_COMPLETE = 99.5  # percent of the public symbols, those of messages among them, whose type is said
PYRIGHT = Path(sys.executable).with_name("pyright")

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with kwire and its stubs, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(ROOT / "kwire", folder / "kwire", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    write_stubs(folder / "kwire")
    for name in ("right", *PROGRAMS):
        shutil.copy(HERE / f"{name}.py", folder)
    return folder


def run(folder: Path, *command: str | Path) -> str:
    path = os.pathsep.join([str(PYRIGHT.parent), os.environ["PATH"]])  # pyright looks for libraries beside `python`
    env = {**os.environ, "PYTHONPATH": str(folder), "MYPYPATH": "", "PATH": path}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False).stdout


def mypy(folder: Path, name: str) -> set[int]:
    output = run(folder, sys.executable, "-m", "mypy", "--strict", "--no-pretty", "--cache-dir=cache", name)
    assert re.search(r"^(Found \d+ errors? in 1 file|Success)", output, re.MULTILINE), output[-2000:]
    return {int(line) for line in re.findall(rf"^{re.escape(name)}:(\d+): error", output, re.MULTILINE)}


def pyright(folder: Path, name: str) -> set[int]:
    output = run(folder, PYRIGHT, "--outputjson", name)
    found = json.loads(output)["generalDiagnostics"]
    return {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}


@pytest.mark.parametrize("check", [mypy, pyright])
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_mistake_is_found_and_nothing_else(program: str, check: type, installed: Path) -> None:
    lines = (HERE / f"{program}.py").read_text().splitlines()
    mistakes = {number for number, line in enumerate(lines, 1) if line.endswith("# mistake")}
    assert len(mistakes) >= PROGRAMS[program]
    assert check(installed, f"{program}.py") == mistakes


@pytest.mark.parametrize("check", [mypy, pyright])
def test_nothing_is_found_in_a_right_program(check: type, installed: Path) -> None:
    assert check(installed, "right.py") == set()


def test_the_types_of_what_is_public_are_said(installed: Path) -> None:
    output = run(installed, PYRIGHT, "--verifytypes", "kwire", "--ignoreexternal", "--outputjson")
    report = json.loads(output)["typeCompleteness"]
    assert report["packageRootDirectory"].endswith("/kwire")
    assert {"kwire.messages.MetadataResponse.topics", "kwire.values.ErrorCode.NONE"} < {
        symbol["name"] for symbol in report["symbols"] if symbol["isExported"] and symbol["isTypeKnown"]
    }
    assert 100 * report["completenessScore"] >= LEAST_COMPLETE
