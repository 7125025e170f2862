"""One seed for all that tests draw, and how often they draw.

In CI each run draws a new seed and prints it; `KWIRE_SEED=N` repeats a run, of hypothesis too. Elsewhere it is fixed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random, SystemRandom

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
if PROFILE != "dev":
    os.environ.setdefault("KWIRE_SEED", str(SystemRandom().randrange(10**9)))  # for pytest's workers, too
SEED = int(os.environ.get("KWIRE_SEED", "14"))
TRIES = int(os.environ.get("KWIRE_TRIES", "1"))  # how many times as often as usual


def seeded(what: str) -> Random:
    """Return numbers by chance for a purpose, the same whenever the seed is the same."""
    return Random(f"{SEED} {what}")


@contextmanager
def named(case: object) -> Iterator[None]:
    """Say which case failed, and with which seed."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"KWIRE_SEED={SEED}: {case}")
        raise
