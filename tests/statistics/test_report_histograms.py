"""Counts that stay small."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.statistics.bounded_counter import BoundedCounter
from kwire.statistics.duration_histogram import LONGEST, DurationHistogram
from kwire.statistics.frame_timeline import FrameTimeline


def test_a_counter_keeps_its_bound() -> None:
    counter: BoundedCounter[int] = BoundedCounter(3)
    for number in range(10):
        counter.add(number % 5)
    assert (counter.counts, counter.others) == ({0: 2, 1: 2, 2: 2}, 4)


@given(st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=300), st.sampled_from([0, 0.25, 0.5, 0.95, 0.99, 1]))
def test_quantiles_are_true_to_a_percent(values: list[float], share: float) -> None:
    durations = DurationHistogram()
    for value in values:
        durations.add(value)
    ordered, position = sorted(values), share * (len(values) - 1)
    lower = ordered[int(position)]
    exact = lower + (position - int(position)) * (ordered[math.ceil(position)] - lower)
    assert abs(durations.quantile(share) - exact) <= exact * 0.006
    assert durations.quantile(0.5) == pytest.approx(statistics.median(values), rel=0.006)
    assert (durations.count, durations.least, durations.most) == (len(values), min(values), max(values))


def test_impossible_durations_have_a_bin_too() -> None:
    durations = DurationHistogram()
    for value in (0.0, 1e300):
        durations.add(value)
    assert dict(durations.bins) == {0: 1, LONGEST: 1}


def test_bins_double_and_nothing_is_lost() -> None:
    timeline = FrameTimeline(limit=10)
    times = [1.7e9 + second / 10 for second in range(1000)]
    random.Random(4).shuffle(times)
    for time in times:
        timeline.add("request", time)
    rows = list(timeline.rows())
    assert len(rows) <= 10
    assert sum(counts["request"] for _, counts in rows) == 1000
    assert timeline.width == 16.384
    assert rows[0][0] <= 1.7e9 < rows[0][0] + timeline.width


def test_one_moment_is_one_bin_and_none_is_none() -> None:
    timeline = FrameTimeline()
    assert list(timeline.rows()) == []
    timeline.add("request", 1.5)
    timeline.add("response", 1.5001)
    assert list(timeline.rows()) == [(1.5, {"request": 1, "response": 1})]


def test_times_before_1970_and_far_apart_end() -> None:
    timeline = FrameTimeline(limit=10)
    for time in (-1e12, 0.0, 1e12):
        timeline.add("request", time)
    assert sum(counts["request"] for _, counts in timeline.rows()) == 3
    assert len(list(timeline.rows())) <= 11
