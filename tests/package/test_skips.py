"""Tests do not fall silent: what is skipped is counted at the end, and a missing engine is a failure."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests.conftest import NO_ENGINE, SkipSummary


def report(outcome: str, reason: str = "") -> Any:
    longrepr = ("test_x.py", 3, f"Skipped: {reason}") if outcome == "skipped" else None
    return SimpleNamespace(skipped=outcome == "skipped", outcome=outcome, longrepr=longrepr)


def test_reasons_are_counted_the_most_frequent_first() -> None:
    summary, lines = SkipSummary(), list[str]()
    summary.pytest_collectreport(report("skipped", "there is no zstd"))
    for one in ("skipped", "passed", "skipped"):
        summary.pytest_runtest_logreport(report(one, "there is no kcat"))
    printer: Any = SimpleNamespace(section=lines.append, line=lines.append)
    summary.pytest_terminal_summary(printer)
    assert lines == ["3 skipped", "     2  there is no kcat", "     1  there is no zstd"]


def test_without_skips_nothing_is_printed() -> None:
    summary, lines = SkipSummary(), list[str]()
    summary.pytest_runtest_logreport(report("passed"))
    printer: Any = SimpleNamespace(section=lines.append, line=lines.append)
    summary.pytest_terminal_summary(printer)
    assert lines == []


def judged(reason: str) -> str:
    """Return the outcome of a skip after the hook."""
    hook = conftest.pytest_runtest_makereport()
    next(hook)
    with pytest.raises(StopIteration) as end:
        hook.send(report("skipped", reason))
    return str(end.value.value.outcome)


def test_a_missing_engine_is_a_failure_where_there_is_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "compiler", lambda: "/usr/bin/cc")
    assert judged(NO_ENGINE) == "failed"
    assert judged("there is no kcat") == "skipped"
    monkeypatch.setattr(conftest, "compiler", lambda: None)
    assert judged(NO_ENGINE) == "skipped"


def test_who_asked_for_no_engine_has_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWIRE_BUILD", "none")
    assert conftest.compiler() is None
    monkeypatch.setenv("KWIRE_BUILD", "")
    monkeypatch.setattr("sysconfig.get_config_var", lambda _: "/no/such/compiler -pthread")
    assert conftest.compiler() is None
