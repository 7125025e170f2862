"""Finds specs by name or api key: Kafka's released messages, and drafts of KIPs by the name of their profile.

A catalog is a list of layers that are searched in order. A spec hides specs in later layers with the same name or api
key, but only at the versions that it has. The layer of a profile comes first. For a release, overlays follow: layouts
that early-access releases changed without a new version. The current specs come last.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from ..errors import UnknownMessage, UnsupportedVersion
from ..runtime import hooks
from ..runtime.caches import once
from .data_files import SCHEMAS
from .field_names import fold_name
from .former_field_names import FORMER_MESSAGES
from .message_spec import MessageSpec
from .releases import releases
from .spec_layers import WIRE_TYPES, Layer, shipped_layer
from .version_ranges import Versions


class Catalog:
    """The message specs of several folders; created from the arguments of `kwire.codec`, or by `from_directory`.

    Args:
        layers: the specs of the folders; earlier folders hide later ones.
        profile: the name of the profile; empty for released messages.
        release: limits api versions to those that this Kafka release supports.
    """

    def __init__(self, layers: Sequence[Layer], profile: str = "", release: str | None = None) -> None:
        self.layers: tuple[Layer, ...] = tuple(layers)
        self.profile: str = profile
        self.release: str | None = release
        self._found: dict[tuple[int, str, int | None], MessageSpec] = {}  # existing messages only, which are few

    @classmethod
    def from_directory(cls, folder: str | Path, *, alone: bool = False) -> Catalog:
        """Create a catalog of message specs in Kafka's format, at run time.

        Args:
            folder: a folder of `.json` specs, or a Kafka checkout.
            alone: use only these specs; otherwise the released messages are searched after them.

        Raises:
            SpecError: a spec is invalid, or two specs claim the same api key and version.

        >>> from kwire.schema.data_files import SCHEMAS
        >>> Catalog.from_directory(SCHEMAS / "drafts/KIP-879").find(68, "request", 0).name
        'CreateReplicaAssignmentRequest'
        """
        layer = Layer.of_anything(Path(folder))
        return catalog_of((layer,) if alone else (layer, *catalog_for().layers), "", None)

    def __reduce__(self) -> tuple[Any, ...]:
        return catalog_of, (self.layers, self.profile, self.release)

    @classmethod
    def of(cls, *, profile: str | None = None, release: str | None = None) -> Catalog:
        """Return a catalog of the specs shipped with kwire, for any argument `catalog=`.

        Args:
            profile: `KIP-36`, `KIP-112` or `KIP-879`: the drafts of this KIP hide the released messages that they
                change.
            release: a Kafka release such as `3.9`: its versions, and its early-access layouts.

        Raises:
            UnknownMessage: the profile or release does not exist.

        >>> import kwire
        >>> drafts = kwire.Catalog.of(profile="KIP-879")
        >>> message = drafts.messages.CreateReplicaAssignmentRequest()
        >>> kwire.encode_request(message, 0, correlation_id=7, catalog=drafts)[4:12].hex(" ", 2)
        '0044 0000 0000 0007'
        """
        return catalog_for(profile, release)

    @property
    def messages(self) -> Any:
        """The message classes of this catalog as attributes, like `kwire.messages` for Kafka's releases."""
        return hooks.message_classes(self)

    def names(self) -> list[str]:
        """Return the names of all messages, sorted."""
        return sorted({name for layer in self.layers for name in layer.files})

    def __contains__(self, name: str) -> bool:
        return bool(self._specs(name))

    def spec(self, name: str, version: int | None = None) -> MessageSpec:
        """Return the spec of a message by its name or a former name.

        If `version` is given, return the spec that has this version.

        Raises:
            UnknownMessage: the name does not exist; the text suggests the most similar name.
            UnsupportedVersion: the message, or the catalog's release, does not have this version.
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
        """Return the type and api key (or record type) of each message, without parsing whole specs."""
        return {name: head for layer in reversed(self.layers) for name, head in layer.heads.items()}

    def names_with(self, fields: Collection[str]) -> list[str]:
        """Return the messages with a field that has one of these names, sorted, without reading whole specs.

        >>> catalog_for().names_with(["stored_key", "metrics"])
        ['PushTelemetryRequest', 'UserScramCredentialRecord']
        """
        return sorted({name for layer in self.layers for name in layer.names_with(fields)})

    def named(self, word: str, version: int | None = None) -> list[str]:
        """Return the messages that a word names: one message, or the request and the response of an api.

        Args:
            word: the name of a message or an api, in any case (`metadata`, `METADATA`), or an api key (`3`).
            version: for a renamed api, select the message that had this version.

        Raises:
            UnknownMessage: the message or api does not exist; the text suggests similar names.

        >>> catalog_for().named("API_VERSIONS"), catalog_for().named("3"), catalog_for().named("fetchrequest")
        (['ApiVersionsRequest', 'ApiVersionsResponse'], ['MetadataRequest', 'MetadataResponse'], ['FetchRequest'])
        """
        if word.isdecimal() and word.isascii() and len(word) <= 5:
            specs = [self.find(int(word), part, version) or self.find(int(word), part) for part in WIRE_TYPES]
            names = [spec.name for spec in specs if spec is not None]
        else:
            names = [name for name in (word, f"{word}Request", f"{word}Response") if name in self]
            if not names:
                known = {fold_name(name): name for name in (*FORMER_MESSAGES, *self.names())}
                wanted = (fold_name(word) + part for part in ("", *WIRE_TYPES))
                names = [known[name] for name in wanted if name in known]
        if not names:
            raise UnknownMessage("api or message", word, [*self.apis(), *self.names()])
        return names

    def apis(self) -> list[str]:
        """Return the names of all apis, sorted."""
        return [name.removesuffix("Request") for name in self.names() if name.endswith("Request")]

    def find(self, api_key: int, type_name: str, version: int | None = None) -> MessageSpec | None:
        """Return the request or response of an api key that has `version`; None if it does not exist, or if the
        catalog's release does not have this version.

        Without a version, return the first message that has the key.
        """
        spec = self._found.get((api_key, type_name, version))
        if spec is None:
            specs = (layer.find(api_key, type_name, version, self.release) for layer in self.layers)
            spec = next((spec for spec in specs if spec is not None), None)
            if spec is not None and version is not None and version not in self.versions_of(spec):
                return None
            if spec is not None:
                self._found[api_key, type_name, version] = spec
        return spec

    def _specs(self, name: str) -> list[MessageSpec]:
        if not any(name in layer.files for layer in self.layers):
            name = FORMER_MESSAGES.get(name, name)
        return [layer.spec(name) for layer in self.layers if name in layer.files]

    def versions_of(self, spec: MessageSpec) -> Versions:
        """Return the versions of a message of this catalog: with a release, those that it has."""
        if self.release is None or spec.api_key is None or spec.type not in WIRE_TYPES:
            return spec.versions
        if spec.api_name not in releases().names_of(spec.api_key):
            return spec.versions  # an api of a vendor, or of a draft
        return releases().versions(self.release, spec.api_key)

    def _check_release(self, spec: MessageSpec, version: int) -> None:
        spoken = self.versions_of(spec)
        if version not in spoken:
            raise UnsupportedVersion(spec.name, version, str(spoken), f"Kafka {self.release}")


def profiles() -> list[str]:
    """Return the names of the profiles: drafts of KIPs that were never released in this form.

    >>> profiles()
    ['KIP-112', 'KIP-36', 'KIP-879']
    """
    return list(_list_profiles())


@once
def _list_profiles() -> tuple[str, ...]:
    # Computed once, because every access to a message of `kwire.messages` needs it, and listing the folder takes 30 us.
    return tuple(sorted(path.name for path in (SCHEMAS / "drafts").iterdir() if path.is_dir()))


def overlays_for(release: str | None) -> list[str]:
    """Return the overlays of a release, in the order in which they are searched.

    Args:
        release: the full name of a release; None means no overlays.

    >>> overlays_for("3.5.2")
    ['3.5', '3.6', '3.7', '3.9', '4.0']
    """
    order = {name: at for at, name in enumerate(releases().names)}
    folders = (path for path in (SCHEMAS / "releases").iterdir() if path.is_dir())
    lines = {order[releases().find(folder.name)]: folder.name for folder in folders}
    return [lines[at] for at in sorted(lines) if release is not None and at >= order[release]]


@once
def catalog_of(layers: tuple[Layer, ...], profile: str, release: str | None) -> Catalog:
    """Return the catalog of the given layers; always the same object, so that its codecs are compiled once."""
    return Catalog(layers, profile, release)


def catalog_for(profile: str | None = None, release: str | None = None) -> Catalog:
    """Return the catalog of the specs shipped with kwire.

    Args:
        profile: `KIP-36`, `KIP-112`, `KIP-879`, also written `kip36` or `36`; None for Kafka's releases.
        release: a Kafka release such as `3.9`, with its early-access layouts; None for all releases.

    Raises:
        UnknownMessage: the profile or release does not exist.
    """
    if profile:
        known = {fold_name(name): name for name in profiles()}
        if (full_name := known.get(fold_name(profile)) or known.get(f"kip{profile}")) is None:
            raise UnknownMessage("profile", profile, profiles())
        profile = full_name
    return _make_catalog(profile or "", releases().find(release) if release else None)


@once
def _make_catalog(profile: str, release: str | None) -> Catalog:
    drafts = [shipped_layer(profile, "")] if profile else []
    overlays = [shipped_layer("", line) for line in overlays_for(release)]
    return catalog_of((*drafts, *overlays, shipped_layer("", "")), profile, release)
