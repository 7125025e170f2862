"""Where releases differ."""

from __future__ import annotations

import pytest

from kwire.cluster.assignors.releases import AssignorRules, rules_of
from kwire.errors import UnknownMessage


@pytest.mark.parametrize(
    ("release", "old"),
    [
        ("3.5", {"loser_is_no_owner", "one_more_is_balanced", "keeps_lowest_partitions", "offline_keeps_rack"}),
        ("3.5.1", {"loser_is_no_owner", "one_more_is_balanced", "revoked_from_another", "counts_full_members"}),
        ("3.5.2", {"keeps_lowest_partitions", "offline_keeps_rack"}),
        ("3.7.0", {"keeps_lowest_partitions", "revoked_from_another", "counts_full_members", "offline_keeps_rack"}),
        ("3.7.1", {"offline_keeps_rack"}),
        ("4.3.1", {"offline_keeps_rack"}),
        ("4.4", set()),
        ("10.0.0", set()),
        ("3.4", {"loser_is_no_owner", "one_more_is_balanced"}),
        ("3.3.2", {"all_generations_own", "loser_is_no_owner"}),
        ("2.8", {"all_generations_own", "newest_generation_owns"}),
        ("2.4.1", {"all_generations_own", "newest_generation_owns", "equal_topics_differ"}),
    ],
)
def test_releases(release: str, old: set[str]) -> None:
    rules = rules_of(release)
    assert old <= {name for name, value in rules._asdict().items() if not value}
    assert (rules == rules_of("newest") == AssignorRules()) is (not old)


@pytest.mark.parametrize("release", ["", "2", "2.3.1", "2.5", "2.7.2", "-3.5", "3..5", "3.\u0665", "v3.5"])
def test_what_is_no_release(release: str) -> None:
    with pytest.raises(UnknownMessage):
        rules_of(release)
