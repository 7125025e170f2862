"""A lock between processes: workers of pytest-xdist, and what runs beside them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Let one process at a time download or build something in a folder, which is made; on Windows, any number."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".kwire-lock").open("w") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
