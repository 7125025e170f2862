"""Chooses the engine that is tried first, and says why the native one cannot be used.

`ENGINE` is `native`, the compiled interpreter; `python`, source generated for each message, if the interpreter was
not built; or `reference`. The environment variable `KWIRE_ENGINE` selects it. If the native engine cannot be used,
`AVAILABLE` is false, and `MISSING` says why.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from ...errors import KwireError
from .fingerprint import fingerprint

HERE = Path(__file__).parent


def is_stale(compiled_from: int, folder: Path = HERE) -> bool:
    """Whether an extension was compiled from other sources than those in a folder; only a checkout has sources.

    Args:
        compiled_from: the fingerprint of its sources.
        folder: the folder of the current sources.
    """
    if not (folder / "_engine.pyx").exists():  # an installed wheel needs no more than this; a checkout takes 0.7 ms
        return False
    return fingerprint(folder) != compiled_from


AGAIN = f"install kwire again, or in a checkout run python {HERE / 'build_hook.py'}"

try:
    from ._engine import SOURCES
    from ._engine import Declined as Declined
except ModuleNotFoundError:
    MISSING = "it was not built; install a C compiler, then kwire again"
except ImportError as error:  # built from other sources or for another system; or for another interpreter (PEP 489)
    is_second = "interpreter" in str(error).lower()
    second = "it works only in the first interpreter of a process, and this is another one"
    MISSING = second if is_second else f"{AGAIN}: {error}"
    warnings.warn(f"kwire's native engine is not used, {MISSING}", RuntimeWarning, stacklevel=2)
else:
    MISSING = f"{AGAIN}: its sources have changed since it was compiled" if is_stale(SOURCES) else ""
    if MISSING:
        warnings.warn(f"kwire's native engine is not used, {MISSING}", RuntimeWarning, stacklevel=2)
AVAILABLE = not MISSING


if not AVAILABLE:

    class Declined(Exception):  # type: ignore[no-redef]
        """Bytes or values that are left to the reference execution."""


ENGINES = ("native", "python", "reference")


class BadEngine(KwireError):
    """The requested engine is unknown or unavailable: `KWIRE_ENGINE`."""

    def __init__(self, engine: str = "", reason: str = "") -> None:
        super().__init__(engine, reason)
        self.engine: str = engine
        self.hint = reason

    def __str__(self) -> str:
        return f"there is no engine {self.engine!r}; {self.hint}"


def chosen_engine(wanted: str, available: bool) -> str:
    """Return the engine to use.

    Args:
        wanted: one of `ENGINES`, or empty for the fastest available engine.
        available: whether the native engine was built.

    Raises:
        BadEngine: the engine does not exist or was not built.
    """
    if wanted not in ("", *ENGINES):
        raise BadEngine(wanted, f"KWIRE_ENGINE is one of {', '.join(ENGINES)}")
    if wanted == "native" and not available:
        raise BadEngine(wanted, MISSING or "it was not built")
    return wanted or ("native" if available else "python")


ENGINE = chosen_engine(os.environ.get("KWIRE_ENGINE", ""), AVAILABLE)
engine = ENGINE  # `kwire.engine`
