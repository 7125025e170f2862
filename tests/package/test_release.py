"""What a release consists of: two archives in `dist/`, and what the wheel has beside the package."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import kwire
from tests.conftest import ROOT
from tests.tools.shared_files import shared_files

SDIST, WHEEL = f"kwire-{kwire.__version__}.tar.gz", f"kwire-{kwire.__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder into which `python -m build` would build, but without the native engine and an environment."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    environment = {"PATH": "/usr/bin:/bin", "KWIRE_BUILD": "none", "TMPDIR": str(folder.parent)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    yield folder


def test_a_build_leaves_two_files(built: Path) -> None:
    assert sorted(path.name for path in built.iterdir()) == [WHEEL, SDIST]
    assert list(built.parent.glob("kwire-build-*")) == []


def test_a_wheel_has_the_man_page_and_the_completions(built: Path) -> None:
    with zipfile.ZipFile(built / WHEEL) as wheel:
        shared = f"kwire-{kwire.__version__}.data/data/share/"
        found = {name.removeprefix(shared): wheel.read(name).decode() for name in wheel.namelist() if shared in name}
        assert "kwire/messages/__init__.pyi" in wheel.namelist()
    assert found == shared_files()
