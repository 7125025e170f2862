"""kwire's brokers answer as real ones did: recorded requests, replayed without I/O."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from tests.interop.conformance.askers import ServedBroker
from tests.interop.conformance.differences import DIFFERENCES
from tests.interop.conformance.recording import list_lines, read_recorded


def by_case(lines: list[str]) -> dict[str, list[str]]:
    cases: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        case, _, rest = line.partition(": ")
        cases[case].append(rest)
    return cases


@pytest.mark.parametrize("release", DIFFERENCES)
def test_requests_are_answered_as_by_a_real_broker(release: str) -> None:
    """1,200 requests take one second."""
    expected = by_case(read_recorded(release))
    found = by_case(list_lines(ServedBroker(release)))
    reasons = DIFFERENCES[release]
    differing = [case for case in expected if found.get(case) != expected[case]]
    unexplained = [case for case in differing if not any(re.fullmatch(pattern, case) for pattern in reasons)]
    assert {case: (expected[case], found.get(case)) for case in unexplained} == {}
    assert [pattern for pattern in reasons if not any(re.fullmatch(pattern, case) for case in differing)] == []
