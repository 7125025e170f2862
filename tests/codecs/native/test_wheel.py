"""What is built where there is a compiler, and where there is none; `dev.py wheel` installs and tries it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.tools.wheel import Unfit, build, check_contents, main

OWN = "{}.{}".format(*sys.version_info)
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")


def test_a_wheel_without_the_engine_is_for_every_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    monkeypatch.setenv("KWIRE_BUILD", "none")
    wheel = build(tmp_path)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert check_contents(wheel) == "python"
    named = wheel.rename(tmp_path / "kwire-0.1.0-cp311-cp311-linux_x86_64.whl")
    with pytest.raises(Unfit, match="has no engine"):
        check_contents(named)


@pytest.mark.ci
def test_an_engine_that_must_be_built_and_cannot_is_an_error(
    monkeypatch: pytest.MonkeyPatch, without_compiler: None, tmp_path: Path
) -> None:
    for needed in ("hatchling", "Cython", "setuptools"):
        pytest.importorskip(needed)
    monkeypatch.setenv("KWIRE_BUILD", "required")
    with pytest.raises(Unfit, match="no-such-compiler"):
        build(tmp_path)


@pytest.mark.ci
def test_a_wheel_without_a_compiler_says_so_and_is_pure(without_compiler: None, tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "KWIRE_BUILD"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert (done.stdout + done.stderr).count("the native engine is left out") == 1
    assert [path.name.partition("-py3")[2] for path in tmp_path.glob("*.whl")] == ["-none-any.whl"]


def python_of(version: str) -> str | None:
    """Return the Python of a version, from PATH or from pyenv's folder."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders = [*os.environ["PATH"].split(os.pathsep), *(str(path) for path in sorted(pyenv.glob(f"{version}.*/bin")))]
    found = (shutil.which(f"python{version}", path=folder) for folder in folders)
    return next((path for path in found if path and "shims" not in path), None)


@pytest.mark.ci
@pytest.mark.parametrize("version", PYTHONS)
def test_a_wheel_is_built_and_works_with_every_python(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    python = python_of(version)
    if python is None or version == OWN:
        pytest.skip(f"there is no other Python {version}")
    monkeypatch.setenv("KWIRE_BUILD", "required")
    # Tests run on the newest of them; on each, engine and reference decode a dump alike, and the demo ends well.
    is_newest = version == max(other for other in PYTHONS if other != OWN and python_of(other))
    assert main(["--python", python, *(["--tests"] if is_newest else [])]) == 0
    printed = capsys.readouterr().out
    assert f"-cp{version.replace('.', '')}-" in printed
    if is_newest:
        passed = re.search(r", (\d+) passed", printed)
        assert passed is not None and int(passed[1]) > 500 and "failed" not in printed, printed


@pytest.mark.ci
@pytest.mark.parametrize("wanted", ["required", "none"])
def test_a_wheel_is_built_and_works_in_an_empty_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wanted: str
) -> None:
    monkeypatch.setenv("KWIRE_BUILD", wanted)
    assert main([]) == 0
    printed = capsys.readouterr().out
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if wanted == "none":
        assert "-py3-none-any.whl: engine python" in printed
    else:
        assert f"-{version}-{version}{sys.abiflags}-{system}.whl: engine native" in printed
