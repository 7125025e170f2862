"""Packs kwire as a zip for `spark-submit`, and for the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from kwire.schema.data_files import SCHEMAS

PURE = ("construct", "hexdump")  # libraries that can be imported from a zip
NEEDED = ("msgspec", "numpy", "pandas", "pyarrow")  # libraries that cannot
LEFT_OUT = {".pyc", ".pyo"}
SCRIPT = '''"""Runs `kwire pipeline` under spark-submit; all arguments are passed on."""

import sys

from kwire.cli.main import main

sys.exit(main(["pipeline", *sys.argv[1:]]))
'''
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # the earliest time of zip entries; equal files give an equal zip
PACKAGE = Path(__file__).parent.parent


def write_zip(file: Path) -> Path:
    """Write the zip, and the script beside it.

    Args:
        file: the path of the zip; the script is NAME-pipeline.py beside NAME.zip.

    Returns:
        The path of the script.

    Raises:
        OSError: a file cannot be written.
    """
    write_archive(file, [*package_files(), *library_files()])
    script = file.with_name(f"{file.stem}-pipeline.py")  # the name of a script, which cannot be imported
    script.write_text(SCRIPT)
    return script


def write_archive(file: Path, contents: Iterable[tuple[str, Path]]) -> None:
    """Write a zip of files with given names; it appears once it is complete."""
    part = file.with_name(f"{file.name}.part")
    try:
        with ZipFile(part, "w", ZIP_DEFLATED) as archive:
            for name, path in sorted(contents):
                info = ZipInfo(name, _BEGINNING)
                info.compress_type = ZIP_DEFLATED
                archive.writestr(info, path.read_bytes())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def package_files(name: str = "kwire/") -> Iterator[tuple[str, Path]]:
    """Yield the files of kwire: the name in the zip, which starts with `name`, and the path."""
    yield from _files(name, PACKAGE)
    if SCHEMAS.parent != PACKAGE:
        yield from _files(f"{name}schemas/", SCHEMAS)


def library_files() -> Iterator[tuple[str, Path]]:
    """Yield the files of the libraries `PURE`, as `package_files` does."""
    for library in PURE:
        spec = find_spec(library)
        if spec is not None and spec.origin is not None:
            origin = Path(spec.origin)
            if spec.submodule_search_locations is None:
                yield origin.name, origin
            else:
                yield from _files(f"{library}/", origin.parent)


def _files(before: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix not in LEFT_OUT:
            yield f"{before}{path.relative_to(folder).as_posix()}", path
