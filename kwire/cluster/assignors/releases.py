"""The differences between assignors of Kafka's releases."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import UnknownMessage

NEWEST = "newest"
_STICKY = (((2, 4), (2, 5)), ((2, 8), (99999,)))  # known releases: first and last of each range
# The first release with each behaviour.
_SINCE = {
    "loser_is_no_owner": (3, 5, 2),
    "one_more_is_balanced": (3, 5, 2),
    "keeps_lowest_partitions": (3, 7, 1),
    "revoked_from_another": (3, 7, 1),
    "counts_full_members": (3, 7, 1),
    "offline_keeps_rack": (4, 4),
    "all_generations_own": (3, 4),
    "newest_generation_owns": (3, 0),
    "equal_topics_differ": (2, 8),
}


class AssignorRules(NamedTuple):
    """The behaviour of a release; True is the behaviour of the newest release."""

    loser_is_no_owner: bool = True
    """A member whose older claim is refused does not count as the owner if a third member claims the partition."""
    one_more_is_balanced: bool = True
    """A member with one partition less than another member counts as balanced."""
    keeps_lowest_partitions: bool = True
    """Surplus partitions are taken from a member's highest partitions, not from the end of its list."""
    revoked_from_another: bool = True
    """A partition that returns to its owner is not being transferred; one that racks take from its owner is."""
    counts_full_members: bool = True
    """Matching racks stops filling members once the maximum number of members has one partition more."""
    offline_keeps_rack: bool = True
    """A replica that goes offline keeps its rack when the leader checks for changes."""
    all_generations_own: bool = True
    """A member of an earlier generation keeps what no later one claims (KIP-792); before, it owned nothing."""
    newest_generation_owns: bool = True
    """Members of the newest generation own partitions; before, each partition belonged to the newest claim."""
    equal_topics_differ: bool = True
    """Equal subscriptions use the constrained algorithm; before, the cooperative assignor also had no generations."""


def rules_of(release: str) -> AssignorRules:
    """Return the rules of a Kafka release.

    Args:
        release: a release such as "3.9.2", or "newest".

    Raises:
        UnknownMessage: the text is not a release number, or the results of the release's sticky assignors are unknown
            (before 2.4, and from 2.5 to 2.7).

    >>> rules_of("3.9.2").offline_keeps_rack, rules_of("newest").offline_keeps_rack
    (False, True)
    """
    if release == NEWEST:
        return AssignorRules()
    if not knows_sticky(release):
        raise _unknown(release)
    numbers = numbers_in(release)
    return AssignorRules(**{rule: numbers >= since for rule, since in _SINCE.items()})


def knows_sticky(release: str) -> bool:
    """Whether the results of the sticky assignors of a release are known.

    >>> [knows_sticky(release) for release in ("2.4.1", "2.6.0", "2.8.2", "newest")]
    [True, False, True, True]
    """
    return release == NEWEST or any(first <= numbers_in(release) < end for first, end in _STICKY)


def numbers_in(release: str) -> tuple[int, ...]:
    """Return the numbers of a release. Raises UnknownMessage if the text is not a release.

    >>> numbers_in("3.9.2")
    (3, 9, 2)
    """
    words = release.split(".")
    if not all(word.isascii() and word.isdigit() and len(word) < 6 for word in words):
        raise _unknown(release)
    return tuple(map(int, words))


def _unknown(release: str) -> UnknownMessage:
    return UnknownMessage("release whose sticky assignors are known", release, ("newest", "2.4.1", "2.8.2", "3.0.0"))
