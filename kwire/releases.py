"""Which Kafka release speaks which versions of which api. Values only; the table is `schemas/releases.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .errors import UnknownMessage
from .versions import Versions


@dataclass(frozen=True)
class Releases:
    """The releases in order, and for each api key the releases at which its versions change."""

    names: tuple[str, ...]
    changes: dict[int, dict[str, Versions]]

    @classmethod
    def parse(cls, data: bytes) -> Releases:
        """Read the table: `{"releases": [...], "apis": {"3": {"0.8.2.2": "0", "0.10.0.1": "0-1", ...}}}`."""
        table = json.loads(data)
        changes = {
            int(key): {release: Versions.parse(text) for release, text in steps.items()}
            for key, steps in table["apis"].items()
        }
        return cls(tuple(table["releases"]), changes)

    def find(self, name: str) -> str:
        """Return the full name of a release: `3.9` is `3.9.2`.

        Raises UnknownMessage if there is none.
        """
        for known in reversed(self.names):
            if known == name or known.startswith(f"{name}."):
                return known
        raise UnknownMessage("release", name, self.names)

    def versions(self, release: str, api_key: int) -> Versions:
        """Return the versions of an api that a release speaks; none if it does not know the api."""
        spoken = Versions()
        for name in self.names:
            spoken = self.changes.get(api_key, {}).get(name, spoken)
            if name == self.find(release):
                break
        return spoken
