"""Drawings say what they show."""

from __future__ import annotations

import pytest

from kwire.render.html.report_drawings import clock, duration, histogram_svg, share_svg, timeline_svg
from kwire.statistics.duration_histogram import DurationHistogram
from kwire.statistics.frame_timeline import FrameTimeline
from tests.browser import Structure


def test_the_timeline_has_a_bar_for_each_kind_of_each_bin() -> None:
    timeline = FrameTimeline()
    for _ in range(1000):
        timeline.add("request", 1700000000.0)
    timeline.add("undecodable", 1700000000.0)
    timeline.add("response", 1700000000.0021)
    found = Structure(timeline_svg(timeline))
    assert [bar["class"] for bar in found.attributes("rect")] == ["request", "undecodable", "response"]
    assert float(found.attributes("rect")[1]["height"] or 0) == 1.5  # seen, though one of thousands
    assert found.text == [
        "2023-11-14 22:13:20.000: 1000 request, 1 undecodable",
        "2023-11-14 22:13:20.002: 1 response",
        "2023-11-14 22:13:20.000",
        "2023-11-14 22:13:20.003",
    ]


def test_bars_stay_in_their_drawing() -> None:
    durations = DurationHistogram()
    for seconds in (0.0, 0.001, 0.001, 5.0):
        durations.add(seconds)
    bars = Structure(histogram_svg(durations)).attributes("rect")
    assert len(bars) == 3
    for bar in bars:
        left, top, wide, high = (float(bar[name] or 0) for name in ("x", "y", "width", "height"))
        assert left >= 0
        assert left + wide <= 200.01
        assert round(top + high, 2) == 34
    assert 'width="50.00"' in share_svg(1, 2)
    assert 'width="0.50"' in share_svg(1, 10**9)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0.00 µs"), (9.994e-4, "999 µs"), (0.25, "250 ms"), (3600.0, "3600 s")]
)
def test_durations_have_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_times_that_no_calendar_has_are_numbers() -> None:
    assert clock(1e300).startswith("1000000000000")
    assert clock(-0.5) == "1969-12-31 23:59:59.500"
