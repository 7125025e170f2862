"""kwire as one zip, for `spark-submit --py-files`, and the script that goes with it.

In it are kwire, its specs, and what it needs that is Python alone. What is compiled cannot be imported from a zip:
msgspec, pyarrow, numpy and pandas have to be on the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from ..resources import SCHEMAS

PURE = ("construct", "hexdump")  # libraries that may be imported from a zip
NEEDED = ("msgspec", "numpy", "pandas", "pyarrow")  # libraries that may not
LEFT_OUT = {".pyc", ".pyo"}
SCRIPT = '''"""Runs `kwire pipeline` under spark-submit; all arguments are passed on."""

import sys

from kwire.cli import main

sys.exit(main(["pipeline", *sys.argv[1:]]))
'''
_PACKAGE = Path(__file__).parent.parent
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # of time, for zips: the same files make the same zip


def write_zip(file: Path) -> Path:
    """Write the zip, and the script beside it.

    Args:
        file: where the zip goes; the script is NAME-pipeline.py beside NAME.zip.

    Returns:
        Where the script is.

    Raises:
        OSError: a file cannot be written.
    """
    part = file.with_name(f"{file.name}.part")
    try:
        with ZipFile(part, "w", ZIP_DEFLATED) as archive:
            for name, path in sorted(_contents()):
                info = ZipInfo(name, _BEGINNING)
                info.compress_type = ZIP_DEFLATED
                archive.writestr(info, path.read_bytes())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    script = file.with_name(f"{file.stem}-pipeline.py")  # a name that no import finds
    script.write_text(SCRIPT)
    return script


def _contents() -> Iterator[tuple[str, Path]]:
    """Yield what goes into the zip: the name there, and the file."""
    yield from _files("kwire", _PACKAGE)
    if SCHEMAS.parent != _PACKAGE:
        yield from _files("kwire/schemas", SCHEMAS)
    for library in PURE:
        found = find_spec(library)
        if found is not None and found.origin is not None:
            origin = Path(found.origin)
            if found.submodule_search_locations is None:
                yield origin.name, origin
            else:
                yield from _files(library, origin.parent)


def _files(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix not in LEFT_OUT:
            yield f"{name}/{path.relative_to(folder).as_posix()}", path
