"""Finds specs: by name, or by api key; what Kafka released, and the drafts of KIPs by the name of their profile.

A catalog is a few folders, looked through in order: a profile's own specs hide released ones of the same
name or api key at the versions they have, and only there. The one room below the top that reads files: our specs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .errors import UnknownMessage, UnsupportedVersion
from .releases import releases
from .resources import SCHEMAS
from .spec import MessageSpec, read_spec

_API_KEY = re.compile(r'^\s*"apiKey"\s*:\s*"?(\d+)', re.MULTILINE)
_TYPE = re.compile(r'^\s*"type"\s*:\s*"([a-z-]+)"', re.MULTILINE)


class Catalog:
    """The message specs of some folders, the first folder first.

    Args:
        folders: folders of `<Message>.json` files.
        profile: a name for the specs of the first folder; empty for released ones.
        release: limit api versions to those this Kafka release speaks.
    """

    def __init__(self, folders: Sequence[Path], profile: str = "", release: str | None = None) -> None:
        self.layers = [_layer(folder, profile if index == 0 else "") for index, folder in enumerate(folders)]
        self.profile, self.release = profile, release

    def names(self) -> list[str]:
        """Return the names of all messages, sorted."""
        return sorted({name for layer in self.layers for name in layer.files})

    def spec(self, name: str, version: int | None = None) -> MessageSpec:
        """Return the spec of a message, the one that has `version` if one is given.

        Raises:
            UnknownMessage: no such name; the text names the nearest.
            UnsupportedVersion: the message, or the catalog's release, has no such version.
        """
        specs = [layer.spec(name) for layer in self.layers if name in layer.files]
        if not specs:
            raise UnknownMessage("message", name, self.names())
        if version is None:
            return specs[0]
        for spec in specs:
            if version in spec.versions:
                self._check_release(spec, version)
                return spec
        raise UnsupportedVersion(name, version, " and ".join(str(spec.versions) for spec in specs), self.profile)

    def find(self, api_key: int, type_name: str, version: int | None = None) -> MessageSpec | None:
        """Return the request or response of an api key that has `version`; None if there is none.

        Without a version, the first one that has the key.
        """
        for layer in self.layers:
            name = layer.keys.get((api_key, type_name))
            if name and (version is None or version in layer.spec(name).versions):
                return layer.spec(name)
        return None

    def _check_release(self, spec: MessageSpec, version: int) -> None:
        if self.release is None or spec.api_key is None or spec.type not in ("request", "response"):
            return
        spoken = releases().versions(self.release, spec.api_key)
        if version not in spoken:
            raise UnsupportedVersion(spec.name, version, str(spoken), f"Kafka {self.release}")


class _Layer:
    """One folder of specs. Specs are read on first use."""

    def __init__(self, folder: Path, profile: str) -> None:
        self.profile = profile
        self.files = {path.stem: path for path in sorted(folder.glob("*.json"))}
        self._specs: dict[str, MessageSpec] = {}
        self._keys: dict[tuple[int, str], str] | None = None

    def spec(self, name: str) -> MessageSpec:
        if name not in self._specs:
            path = self.files[name]
            self._specs[name] = read_spec(path.read_text("utf-8"), str(path), self.profile)
        return self._specs[name]

    @property
    def keys(self) -> dict[tuple[int, str], str]:
        """(api key, type) -> name; read off the head of each file, for reading all specs takes ten times as long."""
        if self._keys is None:
            self._keys = {}
            for name, path in self.files.items():
                text = path.read_text("utf-8")
                key, type_name = _API_KEY.search(text), _TYPE.search(text)
                if key and type_name:
                    self._keys[int(key[1]), type_name[1]] = name
        return self._keys


def profiles() -> list[str]:
    """Return the names of the profiles: drafts of KIPs that were never released so.

    >>> profiles()
    ['KIP-112', 'KIP-36', 'KIP-879']
    """
    return sorted(path.name for path in (SCHEMAS / "drafts").iterdir() if path.is_dir())


@cache
def _layer(folder: Path, profile: str) -> _Layer:
    """Return a folder's layer: one for all catalogs, so that a message has one class everywhere."""
    return _Layer(folder, profile)


def catalog_for(profile: str | None = None, release: str | None = None) -> Catalog:
    """Return the catalog of the specs that come with kwire.

    Args:
        profile: `KIP-36`, `KIP-112`, `KIP-879`; None for what Kafka released.
        release: a Kafka release such as `3.9`; None for all of them.

    Raises:
        UnknownMessage: there is no such profile or release.
    """
    if profile and profile not in profiles():
        raise UnknownMessage("profile", profile, profiles())
    return _catalog(profile or "", releases().find(release) if release else None)


@cache
def _catalog(profile: str, release: str | None) -> Catalog:
    drafts = [SCHEMAS / "drafts" / profile] if profile else []
    return Catalog([*drafts, SCHEMAS / "kafka"], profile, release)
