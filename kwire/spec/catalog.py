"""Finds specs by name or api key: what Kafka released, and drafts of KIPs by the name of their profile.

A catalog is a few folders, looked through in order: a spec hides those behind it of the same name or api key, at
the versions it has and only there. A profile's own come first; for a release, overlays follow: layouts that early
access changed without a new version, each in a folder named by the last release that had it; then what holds now.
The only module of the lower layers that reads files: our specs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from .. import hooks
from ..caches import once
from ..errors import UnknownMessage, UnsupportedVersion
from ..names import FORMER_MESSAGES, folded
from ..resources import SCHEMAS
from . import MessageSpec
from .folder import WIRE_TYPES, Layer, shipped_layer
from .releases import releases


class Catalog:
    """The message specs of some folders; made by `kwire.codec`'s arguments, or by `from_directory`.

    Args:
        layers: the folders' specs; the first hide those behind them.
        profile: the profile's name; empty for released messages.
        release: limit api versions to those this Kafka release speaks.
    """

    def __init__(self, layers: Sequence[Layer], profile: str = "", release: str | None = None) -> None:
        self.layers: tuple[Layer, ...] = tuple(layers)
        self.profile: str = profile
        self.release: str | None = release
        self._found: dict[tuple[int, str, int | None], MessageSpec] = {}  # of those that exist, so that they are few

    @classmethod
    def from_directory(cls, folder: str | Path, *, alone: bool = False) -> Catalog:
        """Make a catalog of message specs in Kafka's format, at run time.

        Args:
            folder: a folder of `.json` specs, or a whole Kafka checkout.
            alone: know nothing but these; else the released messages stand behind them.

        Raises:
            SpecError: a spec is not valid, or two of them claim the same api key and version.

        >>> from kwire.resources import SCHEMAS
        >>> Catalog.from_directory(SCHEMAS / "drafts/KIP-879").find(68, "request", 0).name
        'CreateReplicaAssignmentRequest'
        """
        layer = Layer.of_anything(Path(folder))
        return catalog_of((layer,) if alone else (layer, *catalog_for().layers), "", None)

    def __reduce__(self) -> tuple[Any, ...]:
        return catalog_of, (self.layers, self.profile, self.release)

    @classmethod
    def of(cls, *, profile: str | None = None, release: str | None = None) -> Catalog:
        """Return the catalog of the specs that come with kwire, for whatever takes `catalog=`.

        Args:
            profile: `KIP-36`, `KIP-112` or `KIP-879`: the drafts of that KIP hide the released messages they change.
            release: a Kafka release such as `3.9`: its versions, and its layouts of early access.

        Raises:
            UnknownMessage: there is no such profile or release.

        >>> import kwire
        >>> drafts = kwire.Catalog.of(profile="KIP-879")
        >>> message = drafts.messages.CreateReplicaAssignmentRequest()
        >>> kwire.encode_request(message, 0, correlation_id=7, catalog=drafts)[4:12].hex(" ", 2)
        '0044 0000 0000 0007'
        """
        return catalog_for(profile, release)

    @property
    def messages(self) -> Any:
        """The message classes of this catalog as attributes, as `kwire.messages` has those of Kafka's releases."""
        return hooks.message_classes(self)

    def names(self) -> list[str]:
        """Return the names of all messages, sorted."""
        return sorted({name for layer in self.layers for name in layer.files})

    def __contains__(self, name: str) -> bool:
        return bool(self._specs(name))

    def spec(self, name: str, version: int | None = None) -> MessageSpec:
        """Return the spec of a message, the one that has `version` if one is given; also by a former name.

        Raises:
            UnknownMessage: no such name; the text names the nearest.
            UnsupportedVersion: the message, or the catalog's release, has no such version.
        """
        specs = self._specs(name)
        if not specs:
            raise UnknownMessage("message", name, self.names())
        if version is None:
            return specs[0]
        for spec in specs:
            if version in spec.versions:
                self._check_release(spec, version)
                return spec
        lasting = [str(spec.versions) for spec in specs if not spec.release]
        raise UnsupportedVersion(name, version, " and ".join(lasting), self.profile)

    def heads(self) -> dict[str, tuple[str, int | None]]:
        """Return for each message its type and api key (or record type), without reading whole specs."""
        return {name: head for layer in reversed(self.layers) for name, head in layer.heads.items()}

    def names_with(self, fields: Collection[str]) -> list[str]:
        """Return the messages with a field of one of these names, sorted, without reading whole specs.

        >>> catalog_for().names_with(["stored_key", "metrics"])
        ['PushTelemetryRequest', 'UserScramCredentialRecord']
        """
        return sorted({name for layer in self.layers for name in layer.names_with(fields)})

    def named(self, word: str, version: int | None = None) -> list[str]:
        """Return the messages that a word names: one message, or the request and the response of an api.

        Args:
            word: the name of a message or of an api, in whatever case (`metadata`, `METADATA`), or an api key (`3`).
            version: of apis that were renamed, the one that had this version.

        Raises:
            UnknownMessage: there is none; the text names the nearest.

        >>> catalog_for().named("API_VERSIONS"), catalog_for().named("3"), catalog_for().named("fetchrequest")
        (['ApiVersionsRequest', 'ApiVersionsResponse'], ['MetadataRequest', 'MetadataResponse'], ['FetchRequest'])
        """
        if word.isdecimal() and word.isascii() and len(word) <= 5:
            found = [self.find(int(word), part, version) or self.find(int(word), part) for part in WIRE_TYPES]
            names = [spec.name for spec in found if spec is not None]
        else:
            names = [name for name in (word, f"{word}Request", f"{word}Response") if name in self]
            if not names:
                known = {folded(name): name for name in (*FORMER_MESSAGES, *self.names())}
                wanted = (folded(word) + part for part in ("", *WIRE_TYPES))
                names = [known[name] for name in wanted if name in known]
        if not names:
            raise UnknownMessage("api or message", word, [*self.apis(), *self.names()])
        return names

    def apis(self) -> list[str]:
        """Return the names of all apis, sorted."""
        return [name.removesuffix("Request") for name in self.names() if name.endswith("Request")]

    def find(self, api_key: int, type_name: str, version: int | None = None) -> MessageSpec | None:
        """Return the request or response of an api key that has `version`; None if there is none.

        Without a version, the first one that has the key.
        """
        found = self._found.get((api_key, type_name, version))
        if found is None:
            specs = (layer.find(api_key, type_name, version, self.release) for layer in self.layers)
            found = next((spec for spec in specs if spec is not None), None)
            if found is not None:
                self._found[api_key, type_name, version] = found
        return found

    def _specs(self, name: str) -> list[MessageSpec]:
        if not any(name in layer.files for layer in self.layers):
            name = FORMER_MESSAGES.get(name, name)
        return [layer.spec(name) for layer in self.layers if name in layer.files]

    def _check_release(self, spec: MessageSpec, version: int) -> None:
        if self.release is None or spec.api_key is None or spec.type not in WIRE_TYPES:
            return
        if spec.api_name not in releases().names_of(spec.api_key):
            return  # a vendor's api, or a draft's
        spoken = releases().versions(self.release, spec.api_key)
        if version not in spoken:
            raise UnsupportedVersion(spec.name, version, str(spoken), f"Kafka {self.release}")


def profiles() -> list[str]:
    """Return the names of the profiles: drafts of KIPs that were never released so.

    >>> profiles()
    ['KIP-112', 'KIP-36', 'KIP-879']
    """
    return sorted(path.name for path in (SCHEMAS / "drafts").iterdir() if path.is_dir())


def overlays_for(release: str | None) -> list[str]:
    """Return the overlays of a release (a full name), those it looks into first at the front.

    Args:
        release: None has none.

    >>> overlays_for("3.5.2")
    ['3.5', '3.6', '3.7', '3.9', '4.0']
    """
    order = {name: at for at, name in enumerate(releases().names)}
    folders = (path for path in (SCHEMAS / "releases").iterdir() if path.is_dir())
    lines = {order[releases().find(folder.name)]: folder.name for folder in folders}
    return [lines[at] for at in sorted(lines) if release is not None and at >= order[release]]


@once
def catalog_of(layers: tuple[Layer, ...], profile: str, release: str | None) -> Catalog:
    """Return the catalog of these layers, one for all who ask: its codecs are compiled once."""
    return Catalog(layers, profile, release)


def catalog_for(profile: str | None = None, release: str | None = None) -> Catalog:
    """Return the catalog of the specs that come with kwire.

    Args:
        profile: `KIP-36`, `KIP-112`, `KIP-879`; None for what Kafka released.
        release: a Kafka release such as `3.9`, with the layouts that early access had then; None for all of them.

    Raises:
        UnknownMessage: there is no such profile or release.
    """
    if profile and profile not in profiles():
        raise UnknownMessage("profile", profile, profiles())
    return _catalog(profile or "", releases().find(release) if release else None)


@once
def _catalog(profile: str, release: str | None) -> Catalog:
    drafts = [shipped_layer(profile, "")] if profile else []
    overlays = [shipped_layer("", line) for line in overlays_for(release)]
    return catalog_of((*drafts, *overlays, shipped_layer("", "")), profile, release)
