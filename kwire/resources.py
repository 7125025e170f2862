"""Locates the data files of kwire, specs and tables, and identifies the sources of the native engine.

Spark may import kwire from a zip file; then the folder is in that file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zlib import crc32


def _schemas(package: Path) -> Any:
    """Return the folder, which is in the package in a wheel, and beside it in a checkout; for a zip file, a
    `zipfile.Path`.
    """
    if package.parent.is_file():
        from zipfile import Path as ZipPath

        return ZipPath(str(package.parent), f"{package.name}/schemas/")
    return package / "schemas" if (package / "schemas").is_dir() else package.parent / "schemas"


SCHEMAS: Path = _schemas(Path(__file__).parent)


def fingerprint(folder: Path) -> int:
    """Return a checksum over the names and contents of the engine's sources in a folder; a checkout has them.

    An extension that was compiled from other sources is stale.
    """
    found = 0
    for path in sorted(folder.glob("_*.p?[ix]")):
        if path.suffix != ".pyi":
            found = crc32(path.read_bytes(), crc32(path.name.encode(), found))
    return found
