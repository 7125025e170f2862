"""Locates the data files of kwire: specs, and tables of releases and values.

Spark may import kwire from a zip file; then the folder is in that file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def _schemas(package: Path) -> Any:
    """Return the folder, which is in the package in a wheel, and beside it in a checkout; for a zip file, a
    `zipfile.Path`.
    """
    if package.parent.is_file():
        from zipfile import Path as ZipPath

        return ZipPath(str(package.parent), f"{package.name}/schemas/")
    return package / "schemas" if (package / "schemas").is_dir() else package.parent / "schemas"


SCHEMAS: Path = _schemas(Path(__file__).parents[1])
