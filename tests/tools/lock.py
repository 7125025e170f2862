"""Writes the lock: each package that `dev.py` installs for tests and checks, with its version and its hashes.

`python -m tests.tools.lock` resolves anew what pyproject.toml allows; it needs uv. Each file of `.ci/lock` has what a
set of extras needs beyond the files before it, for every Python and system that kwire supports. No registry is named.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / ".ci/lock"
# The files in the order of installation, with the extras and dependency groups that each adds.
LAYERS = {
    "build": [],
    "test": ["test", "arrow", "compression", "tui", "mcp", "metrics", "regex", "values", "otel"],
    "lint": ["lint"],
    "docs": ["docs"],
    "ci": ["connect", "plots", "s3", "polars"],
}
HEAD = "# {} Written by python -m tests.tools.lock; dev.py installs it.\n"


def name_of(requirement: str) -> str:
    """Return the normalised name of the package of a requirement.

    >>> name_of("Backports.zstd[x]==1.8.0 ; python_full_version < '3.14'")
    'backports-zstd'
    """
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def resolved(requirements: Path, *options: str) -> str:
    """Return the lock of a file of requirements or of a project, for all Pythons and systems."""
    command = ["uv", "pip", "compile", str(requirements), "--universal", "--python-version", "3.11", "--quiet"]
    command += ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", *options]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def entries(lock: str) -> list[str]:
    """Return the entries of a lock, each a requirement with its hashes."""
    return [entry for entry in re.split(r"^(?=\S)", lock, flags=re.MULTILINE) if entry.strip()]


def layers() -> dict[str, str]:
    """Return the text of each file."""
    project = ROOT / "pyproject.toml"
    tables = tomllib.loads(project.read_text("utf-8"))
    build, groups = tables["build-system"]["requires"], tables["dependency-groups"]
    with tempfile.TemporaryDirectory() as scratch:
        options = {
            name: f"--{'group' if name in groups else 'extra'}={name}" for added in LAYERS.values() for name in added
        }
        everything = resolved(project, "--generate-hashes", *options.values())
        constraints = Path(scratch, "everything.txt")
        constraints.write_text(everything)
        needed, texts, written = Path(scratch, "build.in"), dict[str, str](), set[str]()
        needed.write_text("\n".join([*build, "editables"]))  # what hatchling installs a checkout with
        chosen: list[str] = []
        for layer, added in LAYERS.items():
            chosen += [options[name] for name in added]
            source = project if added else needed
            lines = resolved(source, "-c", str(constraints), *chosen).splitlines()
            names = {name_of(line) for line in lines} - written
            text = "".join(entry for entry in entries(everything) if name_of(entry) in names)
            texts[layer] = HEAD.format(f"What {layer} needs beyond the files before it.") + text
            written |= names
    return texts


def main() -> int:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for layer, text in layers().items():
        (FOLDER / f"{layer}.txt").write_text(text, "utf-8")
        print(f"{layer}: {len(entries(text)) - 1} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
