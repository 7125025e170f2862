"""kafka-python's message classes by name, each made when it is first asked for; and its enums."""

from __future__ import annotations

import sys
from enum import IntEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import kwire

from .values import Container, add_fields

RELEASE = "4.3"  # the newest that kafka-python 3.0.12 knows
_CATALOG = kwire.Catalog.of()
# Where kafka-python's default is another than Kafka's.
DEFAULTS: dict[str, dict[str, Any]] = {
    "ListOffsetsRequest": {"replica_id": -1},
    "CreatePartitionsRequest": {"assignments": None},
}

DEFAULT_GENERATION_ID = UNKNOWN_OFFSET = -1
UNKNOWN_MEMBER_ID = ""
ConsumerProtocolType = "consumer"


class MessageClass(type):
    """The class of message classes: `MetadataRequest[4]` is the class for one version.

    Classes whose module does not give `kwire_spec` take the spec of their name from `load_json`, a package with specs.
    """

    def __new__(cls, name: str, bases: Any, space: dict[str, Any], load_json: str = "", **options: Any) -> Any:
        """Create a class with the fields of its spec."""
        made: Any = super().__new__(cls, name, bases, space, **options)
        if bases and "_class_version" not in space and name not in ("ApiMessage", "ApiData"):
            catalog = _catalog_of(load_json) if load_json else _CATALOG
            made.spec = catalog.spec(name)
            made.catalog, made.by_version = catalog, {}
            kwire_class = kwire.codec(name, made.spec.versions.last, catalog=catalog).message_class
            add_fields(made, made.spec.struct, kwire_class, DEFAULTS.get(name, {}))
            made.min_version, made.max_version = 0, _newest(made.spec)
            made.name, made.type, made.API_KEY = name, made.spec.type, made.spec.api_key
        return made

    def __getitem__(cls: Any, version: int | None) -> Any:
        """Return the class for a version, a negative one from the end; None is the class for all."""
        if cls._class_version is not None:
            return cls.__base__[version]
        if version is None:
            return cls
        chosen = version + (1 + cls.max_version if version < 0 else 0)
        if not 0 <= chosen <= cls.max_version:
            raise ValueError(f"{cls.__name__} has no version {version}, only 0 to {cls.max_version}")
        if chosen not in cls.by_version:
            cls.by_version[chosen] = MessageClass(f"{cls.__name__}_v{chosen}", (cls,), {"_class_version": chosen})
        return cls.by_version[chosen]

    def __len__(cls: Any) -> int:
        return int(cls.max_version) + 1


def _newest(spec: Any) -> int:
    if spec.api_key is None or spec.type not in ("request", "response"):
        return int(spec.versions.last)
    return int(kwire.release(RELEASE).stable_versions(spec.api_key).last)


@cache
def _catalog_of(package: str) -> kwire.Catalog:
    """Return the specs in the folder of a package."""
    (folder,) = import_module(package).__path__
    return kwire.Catalog.from_directory(Path(folder), alone=True)


class ApiData(Container, metaclass=MessageClass):
    """A struct that another message carries as bytes: its version, then its fields."""

    _class_version: int | None = None
    spec: Any
    catalog: kwire.Catalog
    max_version: int

    def __init__(self, *values: Any, **named: Any) -> None:
        if values and isinstance(values[0], int) and "version" not in named:
            named["version"], values = values[0], values[1:]
        super().__init__(*values, **named)

    def encode(self, version: int | None = None, header: bool = True) -> bytes:
        """Return the bytes; `header` is the version before them."""
        self._version = self._version if version is None else version
        if self._version is None:
            raise ValueError(f"{type(self).__name__} has no version to encode")
        codec = kwire.codec(self.spec.name, self._version, catalog=self.catalog)
        return self._version.to_bytes(2) * header + codec.encode(self.to_kwire(self, self._version))

    @classmethod
    def decode(cls, data: Any, version: int | None = None, header: bool = True) -> Any:
        """Return the struct in bytes; a version that is newer than the newest known is read as that (KIP-429)."""
        body = bytes(data)
        if header:
            version, body = min(int.from_bytes(body[:2]), cls.max_version), body[2:]
        if version is None:
            raise ValueError(f"{cls.__name__} has no version to decode")
        try:
            decoded = kwire.codec(cls.spec.name, version, catalog=cls.catalog).decode(body, salvage=True).message
        except kwire.DecodeError as error:
            raise ValueError(str(error)) from error
        return cls.from_kwire(decoded, version)


class ApiMessage(Container, metaclass=MessageClass):
    """A request or response."""

    _class_version: int | None = None
    spec: Any
    max_version: int

    def __new__(cls, *values: Any, **named: Any) -> Any:
        """Create a message; one of a class for a version is of the class for all, in that version."""
        if cls._class_version is None:
            return super().__new__(cls)
        if named.setdefault("version", cls._class_version) != cls._class_version:
            raise ValueError(f"{cls.__name__} has another version than {named['version']}")
        return cls[None](*values, **named)

    def __init__(
        self, *values: Any, min_version: int | None = None, max_version: int | None = None, **named: Any
    ) -> None:
        self._min_version, self._max_version = min_version, max_version
        self.header: Header | None = None
        super().__init__(*values, **named)

    @property
    def API_VERSION(self) -> int | None:  # noqa: N802
        """The version of the message, if it has one."""
        return self._version

    @API_VERSION.setter
    def API_VERSION(self, version: int) -> None:  # noqa: N802
        if not 0 <= version <= self.max_version:
            raise ValueError(f"{type(self).__name__} has no version {version}, only 0 to {self.max_version}")
        self._version = version

    @classmethod
    def is_request(cls) -> bool:
        """Whether it is a request."""
        return bool(cls.spec.type == "request")

    def expect_response(self) -> bool:
        """Whether a broker answers."""
        return getattr(self, "acks", None) != 0

    def with_header(self, correlation_id: int = 0, client_id: str | None = "kafka-python") -> None:
        """Set the header with which `encode` writes a frame."""
        self.header = Header(correlation_id, client_id)

    def kwire_message(self) -> Any:
        """Return kwire's message, for the version that is set."""
        if self._version is None:
            raise ValueError(f"{type(self).__name__} has no version to encode")
        return self.to_kwire(self, self._version)

    def encode(self, version: int | None = None, header: bool = False, framed: bool = False) -> bytes:
        """Return the bytes of the body, after the header and the size if these are wanted."""
        if version is not None:
            self.API_VERSION = version
        message = self.kwire_message()
        chosen = int(self._version or 0)
        if not header:
            body = kwire.codec(self.spec.name, chosen).encode(message)
            return len(body).to_bytes(4) * framed + body
        if self.header is None:
            raise ValueError(f"{type(self).__name__} has no header to encode")
        number, client_id = self.header
        if self.is_request():
            frame = kwire.encode_request(message, chosen, correlation_id=number, client_id=client_id)
        else:
            frame = kwire.encode_response(message, chosen, correlation_id=number)
        return frame if framed else frame[4:]

    @classmethod
    def decode(cls, data: Any, version: int | None = None, header: bool = False, framed: bool = False) -> Any:
        """Return the message in the bytes of a body, after a header and a size if these are there."""
        version = cls._class_version if version is None else version
        if version is None:
            raise ValueError(f"{cls.__name__} has no version to decode")
        body = data.read() if hasattr(data, "read") else bytes(data)
        codec = kwire.codec(cls.spec.name, version)
        if not header:
            return cls[None].of(codec.decode(body[4 * framed :], salvage=True).message, version)
        frame = body if framed else len(body).to_bytes(4) + body
        decoded: Any = kwire.decode_request(frame) if cls.is_request() else kwire.decode_response(frame, codec)
        made = cls[None].of(decoded.message, decoded.api_version)
        made.header = Header(decoded.correlation_id, getattr(decoded.header, "client_id", None))
        return made

    @classmethod
    def of(cls, message: Any, version: int) -> Any:
        """Return the message for one of kwire's."""
        made = cls.from_kwire(message, version)
        made.header = made._min_version = made._max_version = None
        return made

    def __eq__(self, other: object) -> bool:
        return self.version == getattr(other, "version", None) and super().__eq__(other)

    __hash__ = None


class Header(NamedTuple):
    """What a header says beside api and version."""

    correlation_id: int
    client_id: str | None = None


class MetadataRequest(ApiMessage):
    """Version 0 asks for all topics with an empty list."""

    ALL_TOPICS = None
    NO_TOPICS: list[str] = []

    def kwire_message(self) -> Any:
        """Return kwire's message."""
        if self._version == 0 and self.topics is None:
            self.topics: Any = []
        return super().kwire_message()


class DeleteTopicsRequest(ApiMessage):
    """The names of topics have another field until version 5."""

    topics: Any
    topic_names: Any

    def kwire_message(self) -> Any:
        """Return kwire's message."""
        if self._version is not None and self._version <= 5 and self.topics and not self.topic_names:
            self.topic_names = [topic.name for topic in self.topics]
        return super().kwire_message()


class FetchRequest(ApiMessage):
    """Isolation levels came with version 4 (KIP-98)."""

    @classmethod
    def min_version_for_isolation_level(cls, level: int) -> int:
        """Return the first version with a level."""
        return 4 if int(level) else 0


class ListOffsetsRequest(ApiMessage):
    """Isolation levels came with version 2 (KIP-98)."""

    @classmethod
    def min_version_for_isolation_level(cls, level: int) -> int:
        """Return the first version with a level."""
        return 2 if int(level) else 0

    @classmethod
    def min_version_for_timestamp(cls, timestamp: int) -> int:
        """Return the first version with a special timestamp: KIP-734, KIP-405, KIP-1005."""
        return {-3: 7, -4: 8, -5: 9}.get(int(timestamp), 0)


class ConsumerProtocolAssignment(ApiData):
    """The partitions of a member."""

    assigned_partitions: Any

    @property
    def assignment(self) -> Any:
        """The partitions by topic."""
        return self.assigned_partitions

    @assignment.setter
    def assignment(self, value: Any) -> None:
        self.assigned_partitions = value

    def partitions(self) -> list[Any]:
        """Return all partitions."""
        pair = import_module("kafka.structs").TopicPartition
        return [pair(topic, number) for topic, numbers in self.assigned_partitions for number in numbers]


class Choice(IntEnum):
    """An enum whose members are found by name, in any case, too."""

    @classmethod
    def build_from(cls, value: Any) -> Any:
        """Return the member of a value, or of a name."""
        try:
            return cls(value)
        except ValueError:
            try:
                return cls[str(value).strip().upper().replace("-", "_")]
            except KeyError:
                raise ValueError(f"{cls.__name__} has no {value}") from None

    @classmethod
    def value_for(cls, value: Any) -> Any:
        """Return the number of a member, or of a name."""
        return cls(value).value if isinstance(value, int) else cls.build_from(value).value


class CoordinatorType(Choice):
    """What a coordinator is for."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class IsolationLevel(Choice):
    """Which records of transactions are read."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class OffsetSpec(Choice):
    """The timestamps of ListOffsets with a meaning."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5


class ElectionType(Choice):
    """Which replica is elected."""

    PREFERRED = 0
    UNCLEAN = 1


class OffsetResetStrategy:
    """What a consumer without an offset starts from."""

    LATEST, EARLIEST, NONE = -1, -2, 0


class OffsetTimestamp(int):
    """A timestamp where an offset may be, too."""

    def __repr__(self) -> str:
        return f"OffsetTimestamp({int(self)})"


def __getattr__(name: str) -> Any:
    """Make the class of a message, by its name."""
    if name.startswith("__") or name not in _CATALOG:
        raise AttributeError(name)
    base = ApiMessage if name.endswith(("Request", "Response")) else ApiData
    made = MessageClass(name, (base,), {})
    setattr(sys.modules[__name__], name, made)
    return made
