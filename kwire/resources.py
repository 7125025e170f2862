"""Locates the data files of kwire: specs and tables.

kwire may be imported from a zip file, as Spark ships it; then the folder is in that file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def _schemas(package: Path) -> Any:
    """Return the folder: in a wheel it is in the package, in a checkout beside it; in a zip file a `zipfile.Path`."""
    if package.parent.is_file():
        from zipfile import Path as ZipPath

        return ZipPath(str(package.parent), f"{package.name}/schemas/")
    return package / "schemas" if (package / "schemas").is_dir() else package.parent / "schemas"


SCHEMAS: Path = _schemas(Path(__file__).parent)
