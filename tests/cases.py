"""Runs many small cases as one test: pytest takes longer for a test of its own than such a case does."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def case_by_case(arguments: str, cases: Iterable[Any], ids: Callable[[Any], object] = repr) -> Callable[[Test], Test]:
    """Run a test once for each case; all run, and each that fails is named.

    `pytest.mark.parametrize` instead makes a test of each. It is needed where cases use fixtures that must be fresh.

    Args:
        arguments: names of arguments, with commas between them.
        cases: a value for each run; a tuple or list of values if there are several arguments.
        ids: what a case is called.
    """
    names, values = [name.strip() for name in arguments.split(",")], list(cases)
    assert values, "there is no case"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures = []
            for case in values:
                chosen = dict(zip(names, case if len(names) > 1 else (case,), strict=True))
                try:
                    test(**chosen, **fixtures)
                except Exception as error:
                    error.add_note(f"of the case {arguments} = {ids(case)}")
                    failures.append(error)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(values)} cases", failures)

        signature = inspect.signature(test)
        others = [value for name, value in signature.parameters.items() if name not in names]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return decorate
