"""Build the single-file program into `dist/`: `dev.py zipapp`.

The program is for the running Python and system: msgspec and kwire's engine are compiled. It holds kwire and the extra
`compression`, and runs where this Python is and nothing else: `python3 kwire-...pyz serve`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import tempfile
import zipapp
from pathlib import Path

from tests.tools import wheel
from tests.tools.zipapp import start

MOST_MEGABYTES = 80  # unpacked, as a container image has it


def install(built: Path, folder: Path) -> None:
    """Install a wheel, with what it depends on, into a folder. Raises Unfit."""
    wanted = f"{built}[compression]"
    if uv := shutil.which("uv"):
        wheel.run(uv, "pip", "install", "-q", "--python", sys.executable, "--target", str(folder), wanted)
    else:
        with tempfile.TemporaryDirectory() as environment:  # this one may have no pip
            wheel.run(sys.executable, "-m", "venv", environment)
            python = Path(environment, "Scripts/python.exe" if os.name == "nt" else "bin/python")
            pip = (str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile")
            wheel.run(*pip, "--target", str(folder), wanted)
    shutil.rmtree(folder / "bin", ignore_errors=True)
    for cache in folder.rglob("__pycache__"):
        shutil.rmtree(cache)


def size_of(folder: Path) -> int:
    """Return the bytes of all files of a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def build(folder: Path) -> Path:
    """Build the program into a folder; return it. Raises Unfit."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "program"
        site = source / start.CONTENTS
        site.mkdir(parents=True)
        built = wheel.build(Path(name))
        install(built, site)
        if size_of(site) > MOST_MEGABYTES << 20:
            raise wheel.Unfit(f"the program has {size_of(site) >> 20} MB, more than {MOST_MEGABYTES}")
        digest = hashlib.sha256()
        for file in sorted(site.rglob("*")):
            digest.update(f"{file.relative_to(site)}\0".encode() + (file.read_bytes() if file.is_file() else b""))
        (source / start.BUILD).write_text(f"{digest.hexdigest()[:16]} {tag}")
        shutil.copy(start.__file__, source / "__main__.py")
        program = folder / f"{built.stem}.pyz"
        zipapp.create_archive(source, program, "/usr/bin/env python3", compressed=True)
    return program


def main() -> int:
    """Build, and say what was built."""
    parser = argparse.ArgumentParser(prog="zipapp", description=__doc__)
    parser.add_argument("--out", type=Path, default=wheel.ROOT / "dist", help="the folder; default: dist")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        program = build(options.out)
    except wheel.Unfit as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{program}: {program.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
