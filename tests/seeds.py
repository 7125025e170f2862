"""One seed for all that tests draw, and how often they draw.

The seed is a number made from the tree of the commit: each commit draws anew, and draws the same everywhere. With
changes that are not committed yet, it is the number of the commit that they would make. `KWIRE_SEED=N` sets another.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

ROOT = Path(__file__).parent.parent
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")


def tree_to_commit(root: Path) -> str:
    """Return the id of the tree that a commit of all files under `root` would have now.

    Nothing is written into the repository: index and objects are in a temporary folder.

    Raises:
        OSError: git is not installed.
        subprocess.CalledProcessError: `root` is not in a repository.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*arguments: str, **variables: str) -> str:
        command = ["git", "-c", "safe.directory=*", *arguments]  # a CI machine may check out as another user
        done = subprocess.run(command, cwd=root, env={**own, **variables}, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    if git("rev-parse", "--show-prefix"):
        raise subprocess.CalledProcessError(1, "git rev-parse", "the folder is a part of another repository")
    index, objects = (root / git("rev-parse", "--git-path", name) for name in ("index", "objects"))
    with tempfile.TemporaryDirectory() as scratch:
        copied, new_objects = Path(scratch, "index"), Path(scratch, "objects")
        copied.write_bytes(index.read_bytes())
        new_objects.mkdir()
        apart = {
            "GIT_INDEX_FILE": str(copied),
            "GIT_OBJECT_DIRECTORY": str(new_objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
        }
        git("add", "--all", **apart)
        return git("write-tree", **apart)


def seed_of(root: Path) -> int:
    """Return the number made from the tree to commit; without a repository, from the sources of the package."""
    try:
        content = tree_to_commit(root).encode()
    except (OSError, subprocess.CalledProcessError):
        content = b"".join(path.read_bytes() for path in sorted((root / "kwire").rglob("*.py")))
    return int.from_bytes(hashlib.sha256(content).digest()[:4], "big") % 10**9


if "KWIRE_SEED" not in os.environ:
    os.environ["KWIRE_SEED"] = str(seed_of(ROOT))  # for pytest's workers, too
SEED = int(os.environ["KWIRE_SEED"])
TRIES = int(os.environ.get("KWIRE_TRIES", "1"))  # how many times as often as usual


def seeded(what: str) -> Random:
    """Return random numbers for a purpose, the same whenever the seed is the same."""
    return Random(f"{SEED} {what}")


@contextmanager
def named(case: object) -> Iterator[None]:
    """Say which case failed, and with which seed."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"KWIRE_SEED={SEED}: {case}")
        raise
