"""One release, and what of an api came and went with which release. Asks the table."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from ..versions import Versions
from .table import Releases, releases


@dataclass(frozen=True, slots=True)
class Release:
    """One release of Kafka; made by `kwire.release`. `name` is the full name."""

    name: str
    table: Releases = field(repr=False, compare=False)

    def versions(self, api: int | str) -> Versions:
        """Return the versions of an api that this release speaks.

        Args:
            api: its key, its name, or a name it had in an older release.

        Returns:
            The versions, an unstable one on top among them; none where the release lacks the api.

        Raises:
            UnknownMessage: no release has such an api.

        >>> import kwire
        >>> str(kwire.release("3.9").versions("Fetch")), str(kwire.release("4.0").versions("LeaderAndIsr"))
        ('0-17', 'none')
        """
        return self.table.versions(self.name, self.table.api(api).key)

    def stable_versions(self, api: int | str) -> Versions:
        """Return the versions without those that the release speaks only if told to (KIP-848's first, say).

        Raises UnknownMessage as `versions` does.

        >>> import kwire
        >>> old = kwire.release("3.6")
        >>> str(old.versions("OffsetCommit")), str(old.stable_versions("OffsetCommit"))
        ('0-9', '0-8')
        """
        return self.table.api(api).stable.get(self.name, self.versions(api))

    def name_of(self, api: int | str) -> str:
        """Return what this release calls an api, whether or not it speaks it yet.

        Raises UnknownMessage as `versions` does.

        >>> import kwire
        >>> kwire.release("0.10.0").name_of("FindCoordinator")
        'GroupCoordinator'
        """
        return self.table.name_of(self.name, self.table.api(api).key)

    def apis(self) -> tuple[str, ...]:
        """Return the apis that this release speaks, by the names they have now, in the order of their keys.

        >>> import kwire
        >>> kwire.release("0.10.0").apis()[-2:], len(kwire.release("4.4").apis())
        (('SaslHandshake', 'ApiVersions'), 91)
        """
        return tuple(api.name for key, api in sorted(self.table.apis.items()) if self.versions(key))


def release(name: str) -> Release:
    """Return a release of Kafka.

    Args:
        name: such as `3.9.2`; `3.9` is the newest of its line that kwire knows.

    Raises:
        UnknownMessage: kwire knows no such release.

    >>> release("3.9")
    Release(name='3.9.2')
    """
    return Release(releases().find(name), releases())


def first_release(api: int | str, version: int | None = None) -> str:
    """Return the first release that speaks a version of an api, or the api at all.

    Args:
        api: its key, its name, or a name it had in an older release.
        version: None for any version.

    Raises:
        UnknownMessage: no release has such an api.
        UnsupportedVersion: no release speaks that version.

    >>> first_release("Fetch", 12), first_release("CreateTopics")
    ('2.7.2', '0.10.1.1')
    """
    return releases().speakers(releases().api(api), version)[0]


def removed_in(api: int | str, version: int | None = None) -> str | None:
    """Return the release that took away a version of an api, or the whole of it, for good.

    Args:
        api: its key, its name, or a name it had in an older release.
        version: None for all versions.

    Returns:
        The first release after the last that speaks it; None when the newest still does.

    Raises:
        UnknownMessage, UnsupportedVersion: as `first_release` does.

    >>> removed_in("Fetch", 3), removed_in("Fetch", 4), removed_in("UpdateMetadata")
    ('4.0.2', None, '4.0.2')
    """
    last = releases().speakers(releases().api(api), version)[-1]
    return dict(pairwise(releases().names)).get(last)
