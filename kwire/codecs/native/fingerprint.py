"""Identifies the sources of the native engine. Imports only the standard library: the build runs it alone."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

SUFFIXES = (".pyx", ".pxi", ".h")


def fingerprint(folder: Path) -> int:
    """Return a checksum over the names and contents of the engine's sources in a folder; a checkout has them.

    An extension that was compiled from other sources is stale.
    """
    checksum = 0
    for path in sorted(folder.iterdir()):
        if path.suffix in SUFFIXES:
            checksum = crc32(path.read_bytes(), crc32(path.name.encode(), checksum))
    return checksum
