"""Where Kafka's releases answer differently, in one table. Knows releases by their numbers only."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import UnknownMessage

NEWEST = "newest"
_FIRST = (3, 5)  # KIP-881


class Rules(NamedTuple):
    """What a release does; True is what the newest does."""

    loser_is_no_owner: bool = True
    """A member whose older claim is refused does not count as the owner when a third one claims the partition."""
    one_more_is_balanced: bool = True
    """A member that has one partition less than another could not be better off."""
    keeps_lowest_partitions: bool = True
    """What a member has too many of is taken from its highest partitions, not from the end of its list."""
    revoked_from_another: bool = True
    """A partition that its owner gets back is not in transfer; one that racks take from its owner is."""
    counts_full_members: bool = True
    """Matching racks stops filling members once as many as may have one partition more."""
    offline_keeps_rack: bool = True
    """A replica that goes offline keeps its rack, for the leader who looks for changes."""


# The first release that does it.
_SINCE = {
    "loser_is_no_owner": (3, 5, 2),
    "one_more_is_balanced": (3, 5, 2),
    "keeps_lowest_partitions": (3, 7, 1),
    "revoked_from_another": (3, 7, 1),
    "counts_full_members": (3, 7, 1),
    "offline_keeps_rack": (4, 4),
}


def rules_of(release: str) -> Rules:
    """Return the rules of a Kafka release.

    Args:
        release: such as "3.9.2", or "newest".

    Raises:
        UnknownMessage: no number of a release, or one before 3.5, which has no rack-aware assignors.

    >>> rules_of("3.9.2").offline_keeps_rack, rules_of("newest").offline_keeps_rack
    (False, True)
    """
    if release == NEWEST:
        return Rules()
    words = release.split(".")
    numbers = tuple(int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 6)
    if len(numbers) != len(words) or numbers < _FIRST:
        raise UnknownMessage("release with rack-aware assignors", release, ("newest", "3.5.0", "3.7.1", "4.4.0"))
    return Rules(**{rule: numbers >= since for rule, since in _SINCE.items()})
