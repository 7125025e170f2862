"""Reads the api versions that each Kafka release supports from `schemas/releases.json`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ..errors import UnknownMessage, UnsupportedVersion
from ..runtime.caches import once
from .data_files import SCHEMAS
from .field_names import fold_name
from .version_ranges import Versions

NONE = Versions()


@dataclass(frozen=True, slots=True)
class ReleasedApi:
    """One api in all releases.

    Attributes:
        key: the api key.
        name: the name in the newest release.
        names: release -> the name of the api from then on.
        changes: release -> the versions supported from then on; none if the api was removed.
        stable: release -> the versions without an unstable highest one; only for releases that have one.
    """

    key: int
    name: str
    names: dict[str, str]
    changes: dict[str, Versions]
    stable: dict[str, Versions]

    @classmethod
    def parse(cls, key: str, entry: dict[str, Any], first: str) -> ReleasedApi:
        """Read one entry of the table; `first` is the oldest release."""
        names = entry.get("names", {first: entry["name"]})
        return cls(
            int(key), entry["name"], names, _parse_ranges(entry["versions"]), _parse_ranges(entry.get("stable", {}))
        )

    def is_named(self, api: int | str) -> bool:
        """Whether a key or name, which may be a former name, identifies this api."""
        words = {fold_name(name) for name in (self.name, *self.names.values())}
        return str(api) == str(self.key) or (isinstance(api, str) and fold_name(api) in words)


@dataclass(frozen=True)
class Releases:
    """The releases, oldest first; the apis by their keys; and the versions of record keys.

    Attributes:
        names: the releases.
        apis: api key -> api.
        key_versions: key of a coordinator's log -> its versions in all releases. Since Kafka 4.1, the spec of such a
            key (type `coordinator-key`) has only version 0; before, its version was its record type.
    """

    names: tuple[str, ...]
    apis: dict[int, ReleasedApi]
    key_versions: dict[str, Versions]

    @classmethod
    def parse(cls, data: bytes) -> Releases:
        """Read the table.

        {"releases": ["0.8.2.2", ...], "apis": {"68": {"name": "ConsumerGroupHeartbeat",
         "versions": {"3.5.2": "0", "4.0.2": "0-1"}, "stable": {"3.5.2": "none", "3.6.2": "none"}}, ...},
         "keyVersions": {"GroupMetadataKey": "0,2", ...}}
        """
        table = json.loads(data)
        first = table["releases"][0]
        apis = {int(key): ReleasedApi.parse(key, entry, first) for key, entry in table["apis"].items()}
        return cls(tuple(table["releases"]), apis, _parse_ranges(table["keyVersions"]))

    def find(self, name: str) -> str:
        """Return the full name of a release: `3.9` and `3.9.1` become `3.9.2`, the release of this line in the table.

        `v3.9`, `kafka-3.9.1` and `3.9-IV0` are accepted too. Raises UnknownMessage if the release does not exist.
        """
        number = re.sub(
            r"^(?:apache[- ]?)?(?:kafka(?:_2\.\d+)?[- ]?)?v?(?=\d)|(?<=\d)(?:-iv\d+|\.x)$", "", name.strip().casefold()
        )
        for known in reversed(self.names):
            if known == number or known.startswith(f"{number}.") or _release_line(known) == _release_line(number):
                return known
        raise UnknownMessage("release", name, self.names)

    def api(self, api: int | str) -> ReleasedApi:
        """Return an api by key, name or former name, in any case.

        Raises UnknownMessage if it does not exist.
        """
        for known in self.apis.values():
            if known.is_named(api):
                return known
        raise UnknownMessage("api", str(api), [known.name for known in self.apis.values()])

    def names_of(self, api_key: int) -> set[str]:
        """Return all current and former names of an api; an empty set if no release has it."""
        api = self.apis.get(api_key)
        return {api.name, *api.names.values()} if api else set()

    def name_of(self, release: str | None, api_key: int) -> str:
        """Return the name of an api in a release, by default the newest; an empty string if no release has it."""
        api = self.apis.get(api_key)
        if api is None or release is None:
            return api.name if api else ""
        name: str = self.at(release, api.names, next(iter(api.names.values())))
        return name

    def versions(self, release: str, api_key: int) -> Versions:
        """Return the versions of an api that a release supports; none if it does not have the api."""
        api = self.apis.get(api_key)
        return self.at(release, api.changes, NONE) if api else NONE

    def at(self, release: str, steps: dict[str, Any], before: Any) -> Any:
        """Return the value of the last change up to a release; `before` if there is none."""
        reached = self.names[: self.names.index(self.find(release)) + 1]
        return next((steps[name] for name in reversed(reached) if name in steps), before)

    def speakers(self, api: ReleasedApi, version: int | None) -> tuple[str, ...]:
        """Return the releases that support a version of an api, or any version, oldest first.

        Raises UnsupportedVersion if no release does.
        """
        spoken = {name: self.versions(name, api.key) for name in self.names}
        if version is None:
            speakers = [name for name in self.names if spoken[name]]
        else:
            speakers = [name for name in self.names if version in spoken[name]]
        if not speakers:
            raise UnsupportedVersion(api.name, version or 0, _format_union(api.changes), "any release of Kafka")
        return tuple(speakers)


@once
def releases() -> Releases:
    """Return the table of releases and of the api versions that they support."""
    return Releases.parse((SCHEMAS / "releases.json").read_bytes())


def _release_line(name: str) -> str:
    """Return the line of a full name, in which messages do not change: 3.9 for 3.9.1, 0.10.2 for 0.10.2.2."""
    parts = name.split(".")
    count_of_full_name = 4 if parts[0] == "0" else 3
    return ".".join(parts[:-1]) if len(parts) == count_of_full_name else ""


def _parse_ranges(texts: dict[str, str]) -> dict[str, Versions]:
    return {name: Versions.parse(text) for name, text in texts.items()}


def _format_union(changes: dict[str, Versions]) -> str:
    ranges = [span for versions in changes.values() for span in versions.ranges]
    return f"{min(low for low, _ in ranges)}-{max(high for _, high in ranges)}"


@dataclass(frozen=True, slots=True)
class Release:
    """One release of Kafka; returned by `kwire.release`. `name` is the full name."""

    name: str
    table: Releases = field(repr=False, compare=False)

    def versions(self, api: int | str) -> Versions:
        """Return the versions of an api that this release supports.

        Args:
            api: the key, the name, or a former name of the api.

        Returns:
            The versions, including an unstable highest one; none if the release lacks the api.

        Raises:
            UnknownMessage: no release has this api.

        >>> import kwire
        >>> str(kwire.release("3.9").versions("Fetch")), str(kwire.release("4.0").versions("LeaderAndIsr"))
        ('0-17', 'none')
        """
        return self.table.versions(self.name, self.table.api(api).key)

    def stable_versions(self, api: int | str) -> Versions:
        """Return the versions without those that must be enabled by configuration, such as the first ones of KIP-848.

        Raises UnknownMessage like `versions`.

        >>> import kwire
        >>> old = kwire.release("3.6")
        >>> str(old.versions("OffsetCommit")), str(old.stable_versions("OffsetCommit"))
        ('0-9', '0-8')
        """
        return self.table.api(api).stable.get(self.name, self.versions(api))

    def name_of(self, api: int | str) -> str:
        """Return the name of an api in this release, even if the release does not support it.

        Raises UnknownMessage like `versions`.

        >>> import kwire
        >>> kwire.release("0.10.0").name_of("FindCoordinator")
        'GroupCoordinator'
        """
        return self.table.name_of(self.name, self.table.api(api).key)

    def apis(self) -> tuple[str, ...]:
        """Return the current names of the apis that this release supports, in the order of their keys.

        >>> import kwire
        >>> kwire.release("0.10.0").apis()[-2:], len(kwire.release("4.4").apis())
        (('SaslHandshake', 'ApiVersions'), 91)
        """
        return tuple(api.name for key, api in sorted(self.table.apis.items()) if self.versions(key))


def release(name: str) -> Release:
    """Return a release of Kafka.

    Args:
        name: a name such as `3.9.2`; `3.9` is the newest release of this line in kwire's table.

    Raises:
        UnknownMessage: the table does not have this release.

    >>> release("3.9")
    Release(name='3.9.2')
    """
    if not isinstance(name, str):  # 3.10 would be 3.1
        raise TypeError(f"the name of a release is text, such as '3.9', not {type(name).__name__} {name!r}")
    return Release(releases().find(name), releases())


def first_release(api: int | str, version: int | None = None) -> str:
    """Return the first release that supports a version of an api, or any version.

    Args:
        api: the key, the name, or a former name of the api.
        version: None for any version.

    Raises:
        UnknownMessage: no release has this api.
        UnsupportedVersion: no release supports this version.

    >>> first_release("Fetch", 12), first_release("CreateTopics")
    ('2.7.2', '0.10.1.1')
    """
    return releases().speakers(releases().api(api), version)[0]


def removed_in(api: int | str, version: int | None = None) -> str | None:
    """Return the release that removed a version of an api, or all versions, permanently.

    Args:
        api: the key, the name, or a former name of the api.
        version: None for all versions.

    Returns:
        The first release after the last one that supports it; None if the newest release still does.

    Raises:
        UnknownMessage, UnsupportedVersion: see `first_release`.

    >>> removed_in("Fetch", 3), removed_in("Fetch", 4), removed_in("UpdateMetadata")
    ('4.0.2', None, '4.0.2')
    """
    last = releases().speakers(releases().api(api), version)[-1]
    return dict(pairwise(releases().names)).get(last)


__all__ = ["Release", "ReleasedApi", "Releases", "first_release", "release", "releases", "removed_in"]
