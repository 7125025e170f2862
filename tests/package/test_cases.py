"""Many cases in one test are all run, and those that fail are named."""

from __future__ import annotations

import inspect
import traceback

import pytest

from tests.cases import case_by_case


@case_by_case("number", [1, 2, 3])
def is_small(number: int) -> None:
    assert number < 3


@case_by_case("left,right", [(1, 2), [3, 3]])
@case_by_case("sign", [1, -1])
def are_equal(left: int, right: int, sign: int, tolerance: int) -> None:
    assert abs(sign * left - sign * right) <= tolerance


def test_the_case_that_fails_is_named() -> None:
    with pytest.raises(AssertionError) as caught:
        is_small()
    assert caught.value.__notes__[-1] == "of the case number = 3"


def test_all_cases_run_and_fixtures_are_passed_on() -> None:
    assert list(inspect.signature(are_equal).parameters) == ["tolerance"]
    are_equal(tolerance=1)
    with pytest.raises(ExceptionGroup, match="2 of 2 cases") as caught:
        are_equal(tolerance=0)
    text = "".join(traceback.format_exception(caught.value))
    for words in ("of the case sign = 1", "of the case sign = -1", "of the case left,right = (1, 2)"):
        assert words in text
    assert "(3, 3)" not in text


def test_no_case_is_an_error() -> None:
    with pytest.raises(AssertionError, match="there is no case"):
        case_by_case("number", [])
