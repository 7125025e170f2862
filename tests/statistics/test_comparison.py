"""Two captures compared: what is new, what is gone, what is worse."""

from __future__ import annotations

import pytest

from kwire.statistics.comparison import Limits, TrafficProfile, compare_profiles

MS = 1_000_000


def profile(**counts: int) -> TrafficProfile:
    found = TrafficProfile()
    found.responses["Fetch"] = 200
    for name, count in counts.items():
        found.errors["Fetch", name] = count
    return found


@pytest.mark.parametrize(
    ("old", "new", "limit", "verdicts"),
    [
        (0, 4, 1.0, [True]),
        (0, 2, 1.0, [False]),  # one percent, and new
        (4, 6, 1.0, []),
        (4, 7, 1.0, [True]),
        (7, 4, 1.0, [False]),  # better
        (4, 0, 5.0, [False]),
        (0, 1, 0.0, [True]),
    ],
)
def test_errors_are_compared_as_shares(old: int, new: int, limit: float, verdicts: list[bool]) -> None:
    differences = list(compare_profiles(profile(x=old), profile(x=new), Limits(errors=limit)))
    assert [difference.is_worse for difference in differences] == verdicts


@pytest.mark.parametrize(
    ("old", "new", "verdicts"),
    [
        ([10] * 20, [14] * 20, []),
        ([10] * 20, [16] * 20, [("Fetch p50", True), ("Fetch p99", True)]),
        ([16] * 20, [10] * 20, [("Fetch p50", False), ("Fetch p99", False)]),
        ([10] * 19, [99] * 20, []),  # too few
    ],
)
def test_latencies_are_compared_by_percentiles(
    old: list[int], new: list[int], verdicts: list[tuple[str, bool]]
) -> None:
    before, after = TrafficProfile(), TrafficProfile()
    before.latencies["Fetch"] = [one * MS for one in old]
    after.latencies["Fetch"] = [one * MS for one in new]
    found = compare_profiles(before, after, Limits())
    assert [(difference.subject, difference.is_worse) for difference in found] == verdicts


def test_less_than_a_millisecond_is_noise() -> None:
    before, after = TrafficProfile(), TrafficProfile()
    before.latencies["Fetch"] = [MS // 10] * 20
    after.latencies["Fetch"] = [MS] * 20
    assert list(compare_profiles(before, after, Limits())) == []


def test_clients_versions_and_topics() -> None:
    before, after = TrafficProfile(), TrafficProfile()
    before.clients["app", "java 3"] = after.clients["app", "java 4"] = 5
    before.versions["app", "Fetch"] = {11}
    after.versions["app", "Fetch"] = {11, 17}
    before.topics["orders"] = 3
    assert [difference[:4] for difference in compare_profiles(before, after, Limits())] == [
        ("client", "app (java 3)", "5 requests", "-"),
        ("client", "app (java 4)", "-", "5 requests"),
        ("version", "app Fetch", "11", "11, 17"),
        ("topic", "orders", "3 requests", "-"),
    ]
