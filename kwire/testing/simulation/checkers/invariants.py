"""All invariants, and the check of a history against them."""

from __future__ import annotations

from ..history import History
from .groups import GROUP_INVARIANTS
from .records import RECORD_INVARIANTS
from .violation import HistoryFacts, Invariant, Violation

INVARIANTS: tuple[Invariant, ...] = (*RECORD_INVARIANTS, *GROUP_INVARIANTS)


def check_history(history: History) -> list[Violation]:
    """Return the violations of all invariants in a history."""
    facts = HistoryFacts(history)
    return [Violation(invariant.name, *problem) for invariant in INVARIANTS for problem in invariant.check(facts)]
