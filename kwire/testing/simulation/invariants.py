"""All invariants, and the check of a history against them."""

from __future__ import annotations

from .group_checkers import GROUP_INVARIANTS
from .history import History
from .record_checkers import RECORD_INVARIANTS
from .violation import Facts, Invariant, Violation

INVARIANTS: tuple[Invariant, ...] = (*RECORD_INVARIANTS, *GROUP_INVARIANTS)


def check_history(history: History) -> list[Violation]:
    """Return the violations of all invariants in a history."""
    facts = Facts(history)
    return [Violation(one.name, *problem) for one in INVARIANTS for problem in one.check(facts)]
