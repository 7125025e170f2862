"""Taking turns: all implementations are timed once in every round, so that a slow machine is slow for all of them.

Only times of the same round are compared. Knows nothing of messages.
"""

from __future__ import annotations

import gc
import itertools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

Timer = Callable[[float], float]  # seconds that a turn may take, to seconds of one call
Times = dict[str, list[float]]  # by implementation, one figure a round


def timer(function: Callable[..., Any], inputs: Sequence[tuple[Any, ...]], clock: Callable[[], float]) -> Timer:
    """Return what times a function over all its inputs in turn, as many times as go into a slot."""

    def measure(slot: float) -> float:
        gc.collect()
        count, end = 0, clock() + slot / 2
        while clock() < end:
            for one in inputs:
                function(*one)
            count += 1
        turns = list(itertools.islice(itertools.cycle(inputs), count * len(inputs)))
        begin = clock()
        for one in turns:
            function(*one)
        return (clock() - begin) / len(turns)

    return measure


def once(function: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """Return the time of one call."""
    gc.collect()
    begin = clock()
    function()
    return clock() - begin


def round_robin(
    runs: Sequence[dict[str, Timer]], rounds: int, slot: float, warm: float = 0.0, *, frozen: bool = True
) -> list[Times]:
    """Time every run of every implementation once a round.

    Args:
        runs: timers by the name of the implementation.
        rounds: how many there are.
        slot: seconds of one turn.
        warm: seconds of a turn before the first round, of which nothing is kept.
        frozen: whether the garbage collector leaves out what there is before.

    Returns:
        For each run the times, a round each.
    """
    gc.collect()
    if frozen:
        gc.freeze()  # what is held for later turns is not walked over in each
    times: list[Times] = [{name: [] for name in run} for run in runs]
    for number in range(-1 if warm else 0, rounds):
        for run, taken in zip(runs, times, strict=True):
            for name, measure in run.items():
                figure = measure(warm if number < 0 else slot)
                taken[name] += [figure] if number >= 0 else []
    gc.unfreeze()
    return times


def ratios(theirs: Sequence[float], ours: Sequence[float]) -> list[float]:
    """Return how many times longer theirs took, a round each."""
    return [one / other for one, other in zip(theirs, ours, strict=True)]


def spread(found: Sequence[float]) -> str:
    """Write the median, and in brackets the least and the greatest."""
    return f"{short(statistics.median(found))} ({short(min(found))}-{short(max(found))})" if found else "-"


def short(figure: float) -> str:
    """Write a figure with three digits, or the whole of it."""
    digits = 2 - math.floor(math.log10(figure)) if figure > 0 else 2
    return f"{figure:.{min(max(digits, 0), 3 if figure < 0.1 else 2)}f}"
