"""The beginning of the single-file program `kwire`: unpacks what it holds once for each build, and runs the command.

Compiled modules cannot be imported from an archive. What is unpacked is in the user's cache (`XDG_CACHE_HOME`), or in a
temporary folder if there is none. This file is the archive's `__main__.py`, and needs the standard library alone.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

BUILD = "build"  # in the archive: the name of the build, a space, and the tag of its Python, such as cp311
CONTENTS = "site/"


def read_build(archive: str | Path) -> tuple[str, str]:
    """Return the name of the build in an archive, and the tag of the Python that it needs."""
    with zipfile.ZipFile(archive) as program:
        name, tag = program.read(BUILD).decode().split()
    return name, tag


def unpack(archive: str | Path, cache: Path) -> Path:
    """Unpack an archive into a cache, unless it is there; return the folder for `sys.path`. Raises OSError.

    Args:
        archive: the program.
        cache: the folder of all builds; created for its user alone.
    """
    folder = cache / read_build(archive)[0]
    if not folder.is_dir():
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=cache))
        try:
            with zipfile.ZipFile(archive) as program:
                program.extractall(made, [name for name in program.namelist() if name.startswith(CONTENTS)])
            with suppress(OSError):  # another process was quicker
                made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        if not folder.is_dir():
            raise OSError(f"{folder} cannot be created")
    return folder / CONTENTS


def choose_cache() -> Path:
    """Return where builds are unpacked."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(home) / "kwire"


def main() -> int:
    """Run the command `kwire` that the archive holds."""
    archive = sys.argv[0]
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    needed = read_build(archive)[1]
    if needed != tag:
        print(f"kwire: error: this program needs Python {needed}, and runs on {tag}: take its file", file=sys.stderr)
        return 2
    temporary = None
    try:
        folder = unpack(archive, choose_cache())
    except (OSError, RuntimeError):  # no home, or nothing may be written there
        temporary = tempfile.mkdtemp(prefix="kwire-")
        folder = unpack(archive, Path(temporary))
    sys.path.insert(0, str(folder))
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{path}" if path else str(folder)  # of child processes
    try:
        from kwire.cli.main import main as run

        return run()
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
