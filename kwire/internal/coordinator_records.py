"""Records of `__consumer_offsets`, `__transaction_state` and `__share_group_state`: which record type is which
message.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from ..errors import SpecError, WrongType
from ..spec.catalog import Catalog, catalog_for
from ..wire import INT16, Reader
from .versioned_body import Embedded, body_of, int16, read_embedded, versions_of

GROUPS, TRANSACTIONS, SHARES = "__consumer_offsets", "__transaction_state", "__share_group_state"
METADATA, REMOTE = "__cluster_metadata", "__remote_log_metadata"

# (kind of spec, beginning of the name) -> log; the first that fits counts
LOGS: dict[tuple[str, str], str] = {
    ("metadata", "RemoteLog"): REMOTE,
    ("metadata", "RemotePartition"): REMOTE,
    ("metadata", ""): METADATA,
    ("coordinator", "TransactionLog"): TRANSACTIONS,
    ("coordinator", "ShareSnapshot"): SHARES,
    ("coordinator", "ShareUpdate"): SHARES,
    ("coordinator", ""): GROUPS,
}
# message -> the one that has its type now.
SUPERSEDED: dict[str, str] = {
    # Kafka 2.8, an early access, called type 14 so; from 3.0 on it has another name and another layout.
    "QuotaRecord": "ClientQuotaRecord",
}


class RecordType(NamedTuple):
    """The messages of a record: `key` is None in logs whose records have no key; `value` is None if no spec has it."""

    key: str | None = None
    value: str | None = None


@cache
def record_types(catalog: Catalog) -> dict[tuple[str, int], RecordType]:
    """Return for each (log, type) its messages.

    Args:
        catalog: whose specs.

    Raises:
        SpecError: two messages of a log have the same type, and `SUPERSEDED` does not say which one it is.

    >>> from kwire.spec.catalog import catalog_for
    >>> record_types(catalog_for())["__share_group_state", 0]
    RecordType(key='ShareSnapshotKey', value='ShareSnapshotValue')
    """
    names: dict[tuple[str, int], dict[str, str]] = {}
    heads = catalog.heads()
    for name, (kind, number) in heads.items():
        if number is None or not kind.startswith(("metadata", "coordinator")) or SUPERSEDED.get(name) in heads:
            continue
        slot = "key" if kind == "coordinator-key" else "value"
        taken = names.setdefault((log_of(name, kind), number), {})
        if slot in taken:
            problem = f"{name} and {taken[slot]} are both type {number} of {log_of(name, kind)}"
            raise SpecError(problem, file=name, hint="give one of them another apiKey")
        taken[slot] = name
    return {place: RecordType(**taken) for place, taken in sorted(names.items())}


def log_of(name: str, kind: str) -> str:
    """Return the log that a record's message belongs to."""
    return next(log for (group, start), log in LOGS.items() if kind.startswith(group) and name.startswith(start))


OFFSET_COMMIT = RecordType("OffsetCommitKey", "OffsetCommitValue")


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """A record of a coordinator's log: `type` is that of the key; `value` is None for a tombstone."""

    log: str
    type: int
    key: Embedded
    value: Embedded | None


def decode_group_record(key: bytes, value: bytes | None, *, legacy_keys: bool = False) -> CoordinatorRecord:
    """Decode a record of `__consumer_offsets`.

    Args:
        key, value: of the record; no value is a tombstone.
        legacy_keys: number key messages as Kafka up to 4.0 does: the version is the type.

    Returns:
        Key and value, each with its message; a type or version that is not known keeps its bytes.

    Raises:
        DecodeError: the bytes are not what their type says; offsets count from the start of key or value.

    >>> record = decode_group_record(bytes.fromhex("0002 000467726f75"), None)
    >>> record.key.name, record.key.version, record.key.message.group, record.value
    ('GroupMetadataKey', 0, 'grou', None)
    """
    return _decode(GROUPS, key, value, legacy_keys)


def decode_transaction_record(key: bytes, value: bytes | None) -> CoordinatorRecord:
    """Decode a record of `__transaction_state`; arguments, returns and errors as `decode_group_record`.

    >>> decode_transaction_record(bytes.fromhex("0000 000174"), None).key.message.transactional_id
    't'
    """
    return _decode(TRANSACTIONS, key, value, False)


def decode_share_record(key: bytes, value: bytes | None, *, legacy_keys: bool = False) -> CoordinatorRecord:
    """Decode a record of `__share_group_state`; arguments, returns and errors as `decode_group_record`.

    >>> decode_share_record(bytes.fromhex("0001 000167" + 16 * "00" + "00000003"), None).key.message.partition
    3
    """
    return _decode(SHARES, key, value, legacy_keys)


def coordinator_record(key: Any, value: Any = None, version: int = 0) -> CoordinatorRecord:
    """Make a record of messages.

    Args:
        key: a message such as `kwire.messages.GroupMetadataKey(...)`.
        value: its value; None for a tombstone.
        version: of the value.

    Raises:
        EncodeError: the key is no key of a coordinator's log.

    >>> from kwire import messages
    >>> record = coordinator_record(messages.GroupMetadataKey(group="g"))
    >>> encode_record(record)
    (b'\\x00\\x02\\x00\\x01g', None)
    """
    name = type(key).__name__
    kind, number = catalog_for().heads().get(name, ("", None))
    if kind != "coordinator-key" or number is None:
        raise WrongType(need="a key of a coordinator's log", found=name)
    embedded = None if value is None else Embedded(type(value).__name__, version, value)
    return CoordinatorRecord(log_of(name, kind), number, Embedded(name, key_version(name, number), key), embedded)


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Encode key and value, to the bytes they were decoded from. Raises EncodeError, UnsupportedVersion."""
    key = int16(record.type) + body_of(record.key)
    if record.value is None:
        return key, None
    front = b"" if record.value.version is None else int16(record.value.version)
    return key, front + body_of(record.value)


def _decode(log: str, key: bytes, value: bytes | None, legacy_keys: bool) -> CoordinatorRecord:
    reader = Reader(bytes(key))
    number = reader.child("type", INT16)
    names = record_types(catalog_for()).get((log, number), RecordType())
    if legacy_keys and log == GROUPS and number == 0:
        names = OFFSET_COMMIT
    version = number if names.key is None else key_version(names.key, number, legacy_keys)
    return CoordinatorRecord(log, number, read_embedded(reader, names.key, version), _value(names.value, value))


def key_version(name: str, number: int, legacy: bool = False) -> int:
    """Return the version of a key's message: 0, or its type where that is the only one or asked for."""
    versions = versions_of(name)
    return number if number in versions and (legacy or 0 not in versions) else 0


def _value(name: str | None, value: bytes | None) -> Embedded | None:
    if value is None:
        return None
    if name is None:
        return Embedded(None, None, None, bytes(value))
    reader = Reader(bytes(value))
    return read_embedded(reader, name, reader.child("version", INT16))
