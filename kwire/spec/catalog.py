"""Finds specs by name or api key: Kafka's released messages, and drafts of KIPs by the name of their profile.

A catalog is a list of folders that are searched in order; each folder is read on first use. A spec hides specs in later
folders with the same name or api key, but only at the versions that it has. The folder of a profile comes first. For a
release, overlays follow: layouts that early-access releases changed without a new version, each in a folder named after
the last release that had it. The current specs come last. Two messages in one folder may have the same api key only at
different versions, or if the api was renamed.
"""

from __future__ import annotations

import copyreg
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from .. import hooks
from ..caches import LOCK, lazy_pattern, once, once_attribute
from ..errors import SpecError, UnknownMessage, UnsupportedVersion
from ..names import FORMER_MESSAGES, folded
from ..resources import SCHEMAS
from .model import MessageSpec
from .parser import read_spec
from .releases import releases

_API_KEY = lazy_pattern(r'^\s*"apiKey"\s*:\s*"?(\d+)', re.MULTILINE)
_TYPE = lazy_pattern(r'^\s*"type"\s*:\s*"([a-z-]+)"', re.MULTILINE)
_SOURCES = ("src/main/resources/common/message", "src/main/resources/common/metadata")
HEAD = 1024  # bytes of a file that contain the name and api key in kwire's specs
WIRE_TYPES = ("request", "response")


class Layer:
    """The specs in a set of files.

    Args:
        files: message name -> file.
        profile: the name of the profile, for drafts; empty for released messages.
        release: the last release with these layouts; empty if no later release changed them.
    """

    def __init__(self, files: Mapping[str, Path], profile: str = "", release: str = "") -> None:
        self.files: dict[str, Path] = dict(files)
        self.profile: str = profile
        self.release: str = release
        self._specs: dict[str, MessageSpec] = {}

    @classmethod
    def of_folder(cls, folder: Path, profile: str = "", release: str = "") -> Layer:
        """Create a layer from kwire's own specs: `<Message>.json`, one message per file."""
        paths = sorted((path for path in folder.iterdir() if path.name.endswith(".json")), key=lambda path: path.name)
        return cls({path.name.removesuffix(".json"): path for path in paths}, profile, release)

    @classmethod
    def of_anything(cls, folder: Path) -> Layer:
        """Create a layer from a user's folder, or from a Kafka checkout. All specs are read and validated immediately.

        Raises:
            SpecError: a spec is invalid, a message is defined twice, or two messages claim the same api key and
                version.
            OSError: a file cannot be read.
        """
        files = tuple((str(path), _text(path)) for path in _spec_files(folder))
        if not files:
            raise SpecError("there are no specs in it", file=str(folder), hint="name a folder of .json message specs")
        return layer_of(files, "", "")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle specs shipped with kwire by name, other specs by their text."""
        if self is _shipped(self.profile, self.release):
            return shipped_layer, (self.profile, self.release)
        specs = map(self.spec, self.files)
        return layer_of, (tuple((spec.file, spec.text) for spec in specs), self.profile, self.release)

    def spec(self, name: str) -> MessageSpec:
        """Return the spec of one of `files`."""
        spec = self._specs.get(name)
        return self._read(name) if spec is None else spec

    def _read(self, name: str) -> MessageSpec:
        with LOCK:
            if name not in self._specs:
                path = self.files[name]
                self._specs[name] = spec_of(_text(path), str(path), self.profile, self.release)
            return self._specs[name]

    def find(self, api_key: int, type_name: str, version: int | None, release: str | None) -> MessageSpec | None:
        """Return the message of an api key that has the version.

        If there are several, return the one with the name that the api has in the release.
        """
        found = [self.spec(name) for name in self.keys.get((api_key, type_name), ())]
        found = [spec for spec in found if version is None or version in spec.versions]
        if len(found) < 2:
            return found[0] if found else None
        now = releases().name_of(release, api_key)
        return next((spec for spec in found if spec.api_name == now), found[0])

    def check_keys(self) -> None:
        """Raise SpecError if two messages claim the same api key and version without a renaming."""
        for (api_key, _), names in self.keys.items():
            known = releases().names_of(api_key)
            for one, other in combinations(map(self.spec, names), 2):
                both = one.versions.meets(other.versions)
                if both and not {one.api_name, other.api_name} <= known:
                    problem = f"api key {api_key} version {both.first} is {one.name} and {other.name}"
                    hint = f"change the api key of one of them ({one.file}, {other.file})"
                    raise SpecError(problem, file=other.file, line=1, json_path="$.apiKey", hint=hint)

    @once_attribute
    def heads(self) -> dict[str, tuple[str, int | None]]:
        """name -> (message type, api key or record type)."""
        return {name: self._head_of(name) for name in self.files}

    @once_attribute
    def keys(self) -> dict[tuple[int, str], list[str]]:
        """(api key, request or response) -> names."""
        keys: dict[tuple[int, str], list[str]] = {}
        for name, (type_name, key) in self.heads.items():
            if key is not None and type_name in WIRE_TYPES:
                keys.setdefault((key, type_name), []).append(name)
        return keys

    def names_with(self, fields: Iterable[str]) -> list[str]:
        """Return the messages with a field that has one of these names, in any spelling, without reading whole
        specs.
        """
        field = re.compile(rf'"name"\s*:\s*"(?:{"|".join(map(folded, fields))})"', re.IGNORECASE)
        return [name for name in self.files if field.search(self._text_of(name))]

    def _text_of(self, name: str) -> str:
        return self._specs[name].text if name in self._specs else _text(self.files[name])

    def _head_of(self, name: str) -> tuple[str, int | None]:
        """Return type and key from the first bytes of one of kwire's files.

        Reading whole specs takes ten times as long.
        """
        if name in self._specs:
            return self._specs[name].type, self._specs[name].api_key
        with self.files[name].open("rb") as file:
            head = file.read(HEAD)
        text = head.decode("utf-8", "replace") if b'"fields"' in head else _text(self.files[name])
        key, type_name = _API_KEY.search(text), _TYPE.search(text)
        return (type_name[1] if type_name else ""), (int(key[1]) if key else None)


@once
def spec_of(text: str, file: str, profile: str, release: str) -> MessageSpec:
    """Parse a spec. Equal text of the same file gives the same spec object, and therefore the same class."""
    spec = read_spec(text, file, profile, release)
    return _over_all_releases(spec) if Path(file).parent == SCHEMAS / "kafka" else spec


@once
def layer_of(files: tuple[tuple[str, str], ...], profile: str, release: str) -> Layer:
    """Return the validated layer of files, each given as name and text; for errors see `Layer.of_anything`."""
    layer = Layer({}, profile, release)
    for file, text in files:
        spec = spec_of(text, file, profile, release)
        if spec.name in layer.files:
            raise SpecError(f"{spec.name} is in {layer.files[spec.name]} too", file=file, line=1)
        layer.files[spec.name], layer._specs[spec.name] = Path(file), spec
    layer.check_keys()
    return layer


@once
def shipped_layer(profile: str, release: str) -> Layer:
    """Return the layer of a profile's drafts, of a release's overlay, or of the released messages."""
    folder = f"drafts/{profile}" if profile else f"releases/{release}" if release else "kafka"
    return Layer.of_folder(SCHEMAS / folder, profile, release)


def _shipped(profile: str, release: str) -> Layer | None:
    try:
        return shipped_layer(profile, release)
    except OSError:
        return None


def is_shipped(spec: MessageSpec) -> bool:
    """Whether a spec is part of kwire, not of a user's folder."""
    layer = _shipped(spec.profile, spec.release)
    return layer is not None and str(layer.files.get(spec.name)) == spec.file


def _shipped_spec(name: str, profile: str, release: str) -> MessageSpec:
    return shipped_layer(profile, release).spec(name)


def _reduced(spec: MessageSpec) -> tuple[Any, ...]:
    """Pickle a spec shipped with kwire by name, any other spec by its text."""
    if is_shipped(spec):
        return _shipped_spec, (spec.name, spec.profile, spec.release)
    return spec_of, (spec.text, spec.file, spec.profile, spec.release)


copyreg.pickle(MessageSpec, _reduced)


def _over_all_releases(spec: MessageSpec) -> MessageSpec:
    """Return the spec of a coordinator's key with all versions it has had.

    Later releases limit the specs of keys to version 0.
    """
    versions = releases().key_versions.get(spec.name)
    if versions is None:
        return spec
    return replace(spec, versions=versions, struct=replace(spec.struct, versions=versions))


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(f"not UTF-8: {error.reason}", file=str(path), line=1) from None


def _spec_files(folder: Path) -> Iterable[Path]:
    if not folder.is_dir():
        raise SpecError("there is no such folder", file=str(folder))
    files = sorted(folder.glob("*.json"))
    if files:
        return files
    return sorted(path for source in _SOURCES for path in folder.glob(f"**/{source}/*.json"))


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
        """Return the request or response of an api key that has `version`; None if it does not exist.

        Without a version, return the first message that has the key.
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
            return  # an api of a vendor, or of a draft
        spoken = releases().versions(self.release, spec.api_key)
        if version not in spoken:
            raise UnsupportedVersion(spec.name, version, str(spoken), f"Kafka {self.release}")


def profiles() -> list[str]:
    """Return the names of the profiles: drafts of KIPs that were never released in this form.

    >>> profiles()
    ['KIP-112', 'KIP-36', 'KIP-879']
    """
    return list(_profiles())


@once
def _profiles() -> tuple[str, ...]:
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
        known = {folded(name): name for name in profiles()}
        if (found := known.get(folded(profile)) or known.get(f"kip{profile}")) is None:
            raise UnknownMessage("profile", profile, profiles())
        profile = found
    return _catalog(profile or "", releases().find(release) if release else None)


@once
def _catalog(profile: str, release: str | None) -> Catalog:
    drafts = [shipped_layer(profile, "")] if profile else []
    overlays = [shipped_layer("", line) for line in overlays_for(release)]
    return catalog_of((*drafts, *overlays, shipped_layer("", "")), profile, release)
