"""kafka-python's `BrokerVersionData`: which versions of the apis a broker has, from kwire's table of releases."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import total_ordering
from importlib import import_module
from itertools import pairwise
from typing import Any

from kwire.schema.releases import releases

Versions = Mapping[int, tuple[int, int]]

ApiKey = IntEnum("ApiKey", {api.name: key for key, api in releases().apis.items() if key >= 0})  # type: ignore[misc]


def _table() -> dict[tuple[int, ...], dict[int, tuple[int, int]]]:
    """Return the versions of each api in each release from the oldest to the newest that kafka-python knows.

    Requests are counted from version 0 on: whether a broker has dropped versions is its own answer.
    """
    table: dict[tuple[int, ...], dict[int, tuple[int, int]]] = {}
    for release in releases().names:
        numbers = tuple(map(int, release.split(".")))
        line = numbers[: 3 if numbers[0] == 0 else 2]
        ranges = {key: releases().versions(release, key) for key in releases().apis}
        table[line] = {key: (found.first, found.last) for key, found in ranges.items() if found}
    return table


BROKER_API_VERSIONS = _table()


@total_ordering
class BrokerVersionData:
    """The release of a broker, and the versions that it has by api key; one follows from the other."""

    def __init__(self, broker_version: Any = None, api_versions: Versions | None = None) -> None:
        if isinstance(broker_version, str):
            broker_version = None if broker_version == "auto" else tuple(map(int, broker_version.split(".")))
        if broker_version is None:
            if api_versions is None:
                raise ValueError("a broker's data are its release, its versions, or both")
            broker_version = infer_broker_version_from_api_versions(api_versions)
        elif api_versions is None:
            broker_version = _known(broker_version)
            api_versions = BROKER_API_VERSIONS[broker_version]
        self.broker_version: tuple[int, ...] = broker_version
        self.api_versions: Versions = api_versions or {}

    def api_version(self, operation: Any, min_version: int = 0, max_version: float = float("inf")) -> int:
        """Return the newest version of a request that both sides have.

        Args:
            operation: a class of messages, or a message, which may have bounds of its own.
            min_version, max_version: further bounds.
        """
        if min_version > max_version:
            raise ValueError(f"min_version is {min_version}, more than {max_version}")
        bounds = [
            value for value in (operation.__dict__.get("_max_version"), operation.max_version) if value is not None
        ]
        newest = min(max_version, *bounds)
        oldest = max(min_version, operation.__dict__.get("_min_version") or 0, operation.min_version)
        first, last = self.api_versions.get(operation.API_KEY, (0, -1))
        if oldest > last or newest < first:
            refuse = import_module("kafka.errors").IncompatibleBrokerVersion
            raise refuse(f"{operation.name}: the client has {oldest} to {newest}, and the broker {first} to {last}")
        return int(min(newest, last))

    @property
    def broker_version_str(self) -> str:
        """The release, as text."""
        return ".".join(map(str, self.broker_version))

    def __str__(self) -> str:
        return f"<BrokerVersionData {self.broker_version_str}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BrokerVersionData) and (self.broker_version, self.api_versions) == (
            other.broker_version,
            other.api_versions,
        )

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: BrokerVersionData) -> bool:
        return self.broker_version < other.broker_version


def _known(broker_version: Any) -> tuple[int, ...]:
    """Return the newest known release up to one."""
    errors = import_module("kafka.errors")
    if not isinstance(broker_version, tuple):
        raise errors.KafkaConfigurationError("api_version is a tuple")
    earlier = [known for known in BROKER_API_VERSIONS if known <= broker_version or known == (*broker_version, 0)]
    if not earlier:
        raise errors.UnrecognizedBrokerVersion(broker_version)
    return max(earlier)


def infer_broker_version_from_api_versions(api_versions: Versions) -> tuple[int, ...]:
    """Return the newest release that brought a version that the broker has."""
    lines = sorted(BROKER_API_VERSIONS)
    for before, line in reversed(list(pairwise(lines))):
        for key, (_, last) in BROKER_API_VERSIONS[line].items():
            is_new = last > BROKER_API_VERSIONS[before].get(key, (0, -1))[1]
            if is_new and api_versions.get(key, (0, -1))[1] >= last:
                return line
    return lines[0]
