"""Expressions of many parts: tested in their order, only as far as the answer needs, and at any length."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.query.expression import Comparison, Every, OneValue, Some
from kwire.query.field_path import FieldPath


def evaluate(kind: type[Every | Some], answers: list[bool]) -> tuple[bool, list[int]]:
    """Return the answer of an expression, and which of its parts were tested."""
    calls: list[int] = []

    def part(number: int) -> Comparison:
        def holds(value: Any) -> bool:
            calls.append(number)
            return answers[number]

        return Comparison(FieldPath("size", (("size", None),)), holds)

    test = kind(tuple(map(part, range(len(answers))))).compile(lambda path: OneValue(len))
    assert not isinstance(test, bool)
    return bool(test("item")), calls


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8])
def test_parts_are_tested_in_order_up_to_the_first_that_decides(count: int) -> None:
    everything = list(range(count))
    assert evaluate(Every, [True] * count) == (True, everything)
    assert evaluate(Some, [False] * count) == (False, everything)
    for deciding in everything:
        before = everything[: deciding + 1]
        assert evaluate(Every, [number != deciding for number in everything]) == (False, before)
        assert evaluate(Some, [number == deciding for number in everything]) == (True, before)


@pytest.mark.parametrize("kind", [Every, Some])
def test_thousands_of_parts_are_not_nested_deeply(kind: type[Every | Some]) -> None:
    answers = [kind is Every] * 5000
    assert evaluate(kind, answers) == (kind is Every, list(range(5000)))


@pytest.mark.parametrize(("kind", "answer"), [(Every, True), (Some, False)])
def test_no_parts_have_a_constant_answer(kind: type[Every | Some], answer: bool) -> None:
    assert kind(()).compile(lambda path: OneValue(len)) is answer
