"""The native engine: one interpreter over a table of nodes, compiled when kwire is installed; and which engine runs.

`table` lists the nodes of a construct tree; `_engine` decodes, encodes, writes JSON text and fills Arrow buffers by
them. It accepts exactly the bytes that the reference execution (`kwire.wire`) reads without a fault; what it refuses,
the reference explains. Where it was not built `AVAILABLE` is false, and its classes are missing here.

Which execution goes first is `ENGINE`: `native`, the compiled interpreter; `python`, source generated for each
message, where that was not built; `reference`, none. The environment variable `KWIRE_ENGINE` chooses.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from ..errors import KwireError

HERE = Path(__file__).parent


def is_stale(compiled_from: int, folder: Path = HERE) -> bool:
    """Whether an extension was compiled from other sources than those in a folder, which only a checkout has.

    Args:
        compiled_from: the fingerprint of its sources.
        folder: where they are.
    """
    if not (folder / "_engine.pyx").exists():  # all that an installed wheel does; a checkout takes 0.7 ms
        return False
    from .fingerprint import fingerprint

    return fingerprint(folder) != compiled_from


AGAIN = f"install kwire again, or in a checkout run python {HERE / 'build_hook.py'}"

try:
    from ._engine import (
        SOURCES,
        BodyFacts,
        ColumnTable,
        NativeMethods,
        NodeTable,
        PacketWalker,
        Refused,
        Repeat,
        pack_bits,
        records_are_whole,
    )
except ModuleNotFoundError:
    AVAILABLE = False
except ImportError as error:  # built of other sources, or for another system: slow, which would go unnoticed
    warnings.warn(f"kwire's native engine is not used, {AGAIN}: {error}", RuntimeWarning, stacklevel=2)
    AVAILABLE = False
else:
    AVAILABLE = not is_stale(SOURCES)
    if not AVAILABLE:
        reason = "its sources have changed since it was compiled"
        warnings.warn(f"kwire's native engine is not used, {AGAIN}: {reason}", RuntimeWarning, stacklevel=2)

__all__ = [
    "AVAILABLE",
    "ENGINE",
    "ENGINES",
    "BadEngine",
    "BodyFacts",
    "ColumnTable",
    "NativeMethods",
    "NodeTable",
    "PacketWalker",
    "Refused",
    "Repeat",
    "chosen_engine",
    "engine",
    "pack_bits",
    "records_are_whole",
]

ENGINES = ("native", "python", "reference")


class BadEngine(KwireError):
    """An unknown or unavailable engine was requested: `KWIRE_ENGINE`."""

    def __init__(self, engine: str = "", reason: str = "") -> None:
        super().__init__(engine, reason)
        self.engine: str = engine
        self.hint = reason

    def __str__(self) -> str:
        return f"there is no engine {self.engine!r}; {self.hint}"


def chosen_engine(wanted: str, available: bool) -> str:
    """Return the engine to use.

    Args:
        wanted: one of `ENGINES`, or empty for the fastest available.
        available: whether the native engine was built.

    Raises:
        BadEngine: there is no such engine, or it was not built.
    """
    if wanted not in ("", *ENGINES):
        raise BadEngine(wanted, f"KWIRE_ENGINE is one of {', '.join(ENGINES)}")
    if wanted == "native" and not available:
        raise BadEngine(wanted, f"it was not built, for want of a C compiler, or of other sources; {AGAIN}")
    return wanted or ("native" if available else "python")


ENGINE = chosen_engine(os.environ.get("KWIRE_ENGINE", ""), AVAILABLE)
engine = ENGINE  # `kwire.engine`
