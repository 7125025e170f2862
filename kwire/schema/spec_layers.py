"""A layer of a catalog: the specs in a folder, each read on first use; pickled by name or by text.

Two messages in one folder may have the same api key only at different versions, or if the api was renamed.
"""

from __future__ import annotations

import copyreg
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from ..errors import SpecError
from ..runtime.caches import once, once_attribute
from ..runtime.forks import LOCK
from ..runtime.lazy_patterns import lazy_pattern
from .data_files import SCHEMAS
from .field_names import fold_name
from .message_spec import MessageSpec
from .releases import releases
from .spec_reader import read_spec

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
        self.is_released: bool = False  # whether it is the shipped layer of released messages
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
        files = tuple((str(path), _read_text(path)) for path in _spec_files(folder))
        if not files:
            raise SpecError("there are no specs in it", file=str(folder), hint="name a folder of .json message specs")
        return layer_of(files, "", "")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle specs shipped with kwire by name, other specs by their text."""
        if self is _find_shipped_layer(self.profile, self.release):
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
                self._specs[name] = spec_of(_read_text(path), str(path), self.profile, self.release)
            return self._specs[name]

    def find(self, api_key: int, type_name: str, version: int | None, release: str | None) -> MessageSpec | None:
        """Return the message of an api key that has the version.

        If there are several, return the one with the name that the api has in the release.
        """
        specs = [self.spec(name) for name in self._names_for(api_key, type_name)]
        specs = [spec for spec in specs if version is None or version in spec.versions]
        if len(specs) < 2:
            return specs[0] if specs else None
        now = releases().name_of(release, api_key)
        return next((spec for spec in specs if spec.api_name == now), specs[0])

    def _names_for(self, api_key: int, type_name: str) -> list[str]:
        """Return the messages of an api key. Those of the shipped layer are listed by `releases`, so that a command
        need not look into each of its files, which took 5 ms."""
        if not self.is_released:
            return self.keys.get((api_key, type_name), [])
        names = sorted(name + type_name.capitalize() for name in releases().names_of(api_key))
        return [name for name in names if name in self.files]

    def check_keys(self) -> None:
        """Raise SpecError if two messages claim the same api key and version without a renaming."""
        for (api_key, _), names in self.keys.items():
            known = releases().names_of(api_key)
            for first, second in combinations(map(self.spec, names), 2):
                both = first.versions.meets(second.versions)
                if both and not {first.api_name, second.api_name} <= known:
                    problem = f"api key {api_key} version {both.first} is {first.name} and {second.name}"
                    hint = f"change the api key of one of them ({first.file}, {second.file})"
                    raise SpecError(problem, file=second.file, line=1, json_path="$.apiKey", hint=hint)

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
        field = re.compile(rf'"name"\s*:\s*"(?:{"|".join(map(fold_name, fields))})"', re.IGNORECASE)
        return [name for name in self.files if field.search(self._text_of(name))]

    def _text_of(self, name: str) -> str:
        return self._specs[name].text if name in self._specs else _read_text(self.files[name])

    def _head_of(self, name: str) -> tuple[str, int | None]:
        """Return type and key from the first bytes of one of kwire's files.

        Reading whole specs takes ten times as long.
        """
        if name in self._specs:
            return self._specs[name].type, self._specs[name].api_key
        with self.files[name].open("rb") as file:
            head = file.read(HEAD)
        text = head.decode("utf-8", "replace") if b'"fields"' in head else _read_text(self.files[name])
        api_key = _API_KEY.search(text)
        type_name = _TYPE.search(text)
        return (type_name[1] if type_name else ""), (int(api_key[1]) if api_key else None)


@once
def spec_of(text: str, file: str, profile: str, release: str) -> MessageSpec:
    """Parse a spec. Equal text of the same file gives the same spec object, and therefore the same class."""
    spec = read_spec(text, file, profile, release)
    return _extend_key_versions(spec) if Path(file).parent == SCHEMAS / "kafka" else spec


@once
def layer_of(files: tuple[tuple[str, str], ...], profile: str, release: str) -> Layer:
    """Return the validated layer of files, each given as name and text; for errors see `Layer.of_anything`."""
    layer = Layer({}, profile, release)
    for file, text in files:
        spec = spec_of(text, file, profile, release)
        if spec.name in layer.files:
            raise SpecError(f"{spec.name} is in {layer.files[spec.name]} too", file=file, line=1)
        layer.files[spec.name] = Path(file)
        layer._specs[spec.name] = spec
    layer.check_keys()
    return layer


@once
def shipped_layer(profile: str, release: str) -> Layer:
    """Return the layer of a profile's drafts, of a release's overlay, or of the released messages."""
    if profile:
        folder = f"drafts/{profile}"
    elif release:
        folder = f"releases/{release}"
    else:
        folder = "kafka"
    layer = Layer.of_folder(SCHEMAS / folder, profile, release)
    layer.is_released = not (profile or release)
    return layer


def _find_shipped_layer(profile: str, release: str) -> Layer | None:
    try:
        return shipped_layer(profile, release)
    except OSError:
        return None


def is_shipped(spec: MessageSpec) -> bool:
    """Whether a spec is part of kwire, not of a user's folder."""
    layer = _find_shipped_layer(spec.profile, spec.release)
    return layer is not None and str(layer.files.get(spec.name)) == spec.file


def _shipped_spec(name: str, profile: str, release: str) -> MessageSpec:
    return shipped_layer(profile, release).spec(name)


def _reduce_spec(spec: MessageSpec) -> tuple[Any, ...]:
    """Pickle a spec shipped with kwire by name, any other spec by its text."""
    if is_shipped(spec):
        return _shipped_spec, (spec.name, spec.profile, spec.release)
    return spec_of, (spec.text, spec.file, spec.profile, spec.release)


copyreg.pickle(MessageSpec, _reduce_spec)


def _extend_key_versions(spec: MessageSpec) -> MessageSpec:
    """Return the spec of a coordinator's key with all versions it has had.

    Later releases limit the specs of keys to version 0.
    """
    versions = releases().key_versions.get(spec.name)
    if versions is None:
        return spec
    return replace(spec, versions=versions, struct=replace(spec.struct, versions=versions))


def _read_text(path: Path) -> str:
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
