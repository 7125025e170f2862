"""The seed is that of the tree of the commit, whether or not it is committed yet."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.seeds import seed_of, tree_to_commit


def git(folder: Path, *arguments: str) -> str:
    name = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *name, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    if not shutil.which("git"):
        pytest.skip("there is no git")
    folder = tmp_path / "repository"
    (folder / "kwire").mkdir(parents=True)
    (folder / "kwire/a.py").write_text("one\n")
    (folder / ".gitignore").write_text("ignored\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "One.")
    return folder


def test_what_is_not_committed_yet_draws_as_its_commit_will(repository: Path) -> None:
    assert tree_to_commit(repository) == git(repository, "rev-parse", "HEAD^{tree}")
    before = seed_of(repository)
    (repository / "ignored").write_text("x")
    assert seed_of(repository) == before
    (repository / "kwire/a.py").write_text("two\n")
    (repository / "new").write_text("x")
    status, changed = git(repository, "status", "--short"), seed_of(repository)
    assert before != changed
    assert git(repository, "status", "--short") == status
    assert git(repository, "count-objects").startswith("5 objects")  # nothing is left in the repository
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "Two.")
    assert seed_of(repository) == changed
    git(repository, "commit", "-q", "--allow-empty", "-m", "The same tree.")
    assert seed_of(repository) == changed


def test_a_fresh_clone_draws_the_same(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repository), "clone")
    assert seed_of(tmp_path / "clone") == seed_of(repository)


def test_without_a_repository_the_sources_say_it(tmp_path: Path, repository: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name / "kwire").mkdir(parents=True)
        (tmp_path / name / "kwire/a.py").write_text("one")
    assert seed_of(tmp_path / "one") == seed_of(tmp_path / "other")
    (tmp_path / "other/kwire/a.py").write_text("two")
    assert seed_of(tmp_path / "one") != seed_of(tmp_path / "other")
    shutil.move(tmp_path / "one", repository / "part")  # in a repository that is not its own
    with pytest.raises(subprocess.CalledProcessError):
        tree_to_commit(repository / "part")


def test_a_seed_that_is_given_is_kept() -> None:
    program = "from tests.seeds import SEED; print(SEED)"
    environment = {**os.environ, "KWIRE_SEED": "17"}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, capture_output=True)
    assert done.stdout.strip() == b"17"
