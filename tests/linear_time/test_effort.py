"""What counts and bounds effort does so."""

from __future__ import annotations

import sys

import pytest

from tests.linear_time.effort import at_most, effort_of, no_hang


def loop(times: int) -> int:
    total = 0
    for number in range(times):
        total += number
    return total


def test_lines_are_counted() -> None:
    before = sys.gettrace()
    with at_most(1000) as effort:
        loop(100)
    assert 200 <= effort.lines <= 220
    assert sys.gettrace() is before


def test_too_many_lines_fail() -> None:
    with pytest.raises(pytest.fail.Exception, match="more than 1,000 lines"), at_most(1000):
        loop(10_000)


def test_what_hangs_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="hangs"), no_hang(0.05):
        while True:
            pass


def test_a_copy_of_a_container_for_each_element_shows_in_the_bytes() -> None:
    def copy(count: int) -> None:
        elements: tuple[int, ...] = ()
        for number in range(count):
            elements += (number,)

    def append(count: int) -> None:
        elements: list[int] = []
        for number in range(count):
            elements.append(number)

    copied, twice = (effort_of(lambda count=count: copy(count)) for count in (1000, 2000))  # type: ignore[misc]
    assert twice.lines == pytest.approx(2 * copied.lines, rel=0.01)
    assert twice.allocated > 3.5 * copied.allocated
    appended, twice = (effort_of(lambda count=count: append(count)) for count in (1000, 2000))  # type: ignore[misc]
    assert twice.allocated < 2.2 * appended.allocated
