"""Ranges join: what is known at the end of one is what the next begins with, walked there or from the start."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.arrow.growing_files import Memory, broken_cuts
from kwire.arrow.options import Options
from kwire.arrow.reader import Reading
from tests.arrow.captures import conversation, write
from tests.arrow.test_growing_files import TALK

ENDS = [0]
for _frame in conversation(9):
    ENDS.append(ENDS[-1] + len(_frame))


def memory() -> Memory:
    return Memory(Options(max_corrupt_bytes=4), Reading(Options()).apis)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(ENDS[1:]), max_size=5), st.integers(1, 300))
def test_it_is_the_same_by_steps_and_at_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], most: int
) -> None:
    path = str(write(tmp_path_factory.mktemp("ranges"), TALK))
    steps, whole = memory(), memory()
    for start, stop in pairwise(sorted({0, *cuts, len(TALK)})):
        units = steps.divide(path, start, stop, most)
        assert (units[0].start, units[-1].stop) == (start, stop)
        assert all(one.stop == other.start for one, other in pairwise(units))
        assert units[0].state == whole.known(path, start).state
        assert steps.known(path, stop) == whole.known(path, stop)


def test_behind_a_break_there_are_pieces(tmp_path: Path) -> None:
    path = str(write(tmp_path, TALK + b"\xff\xff\xff\xfe" + b"0123456789"))
    broken = len(TALK)
    known = memory()
    assert known.known(path, broken + 6).broken == broken
    units = known.divide(path, broken + 6, broken + 14, 5)
    assert [(unit.start, unit.stop, unit.broken) for unit in units] == [
        (broken + 6, broken + 11, broken),
        (broken + 11, broken + 14, broken),
    ]
    (offset, data, fault), (_, rest, _) = (cut for cuts in broken_cuts(units[0], known.options) for cut in cuts)
    assert (offset, data, rest) == (broken + 6, b"2345", b"6")
    assert fault is not None
    assert fault.found == -2
