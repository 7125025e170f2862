"""Reads meta.properties, partition.metadata and quorum-state.

Kafka's classes: MetaProperties (KIP-631, directory ids: KIP-858), PartitionMetadataFile (KIP-516), FileQuorumStateStore
(KIP-595).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ...errors import EncodeError
from ...protocol.nested.versioned_message import codec_for, versions_of
from ...runtime.lazy_patterns import lazy_pattern
from .disk_entry import DiskEntry, DiskItem, PartitionMetadata, bad_bytes, read_text_file, split_lines

_METADATA = lazy_pattern(rb"version: (\d{1,5})\r?\ntopic_id: ([A-Za-z0-9_-]{22})\s*")


def read_properties(kind: str, base: int, portions: Iterable[bytes], file: str) -> Iterator[DiskItem]:
    """Yield the properties of a log directory as one entry; comments are omitted."""
    data = read_text_file(portions, file)
    properties = dict[str, str]()
    for at, line in split_lines(data):
        text = line.strip()
        if not text or text[:1] in (b"#", b"!"):
            continue
        name, separator, value = text.partition(b"=")
        if not separator or not text.isascii():
            yield bad_bytes(at, line, "not a line of NAME=VALUE", file)
        elif name.strip().decode() in properties:
            yield bad_bytes(at, line, f"{name.strip().decode()} occurs twice", file)
        else:
            properties[name.strip().decode()] = value.strip().decode().replace("\\:", ":").replace("\\=", "=")
    yield DiskEntry(kind, 0, 0, properties, file)


def read_partition_metadata(kind: str, base: int, portions: Iterable[bytes], file: str) -> Iterator[DiskItem]:
    """Read partition.metadata: the topic id of a partition's folder."""
    data = read_text_file(portions, file)
    match = _METADATA.fullmatch(data)
    if match is None:
        yield bad_bytes(0, data, "two lines are needed: version: 0, and topic_id: with 22 characters of base64", file)
        return
    yield DiskEntry(kind, 0, 0, PartitionMetadata(int(match[1]), match[2].decode()), file)


def read_quorum_state(kind: str, base: int, portions: Iterable[bytes], file: str) -> Iterator[DiskItem]:
    """Read quorum-state: the vote and the leader of a KRaft controller, in JSON."""
    data = read_text_file(portions, file)
    try:
        members = msgspec.json.decode(data)
        version = members.pop("data_version")
        if version not in versions_of("QuorumState"):
            raise ValueError(f"data_version {version}; {versions_of('QuorumState')} is known")
        codec = codec_for("QuorumState", version)
        state = codec.to_json(codec.from_json(members))
        yield DiskEntry(kind, 0, 0, {**state, "data_version": version}, file)
    except (msgspec.DecodeError, EncodeError, ValueError, RecursionError) as error:
        yield bad_bytes(0, data, f"no quorum state: {error}", file)
    except (AttributeError, KeyError, TypeError):
        yield bad_bytes(0, data, "no quorum state: a JSON object with data_version is needed", file)
