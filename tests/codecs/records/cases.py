"""What the tests of records share: the recorded cases, and how a batch is told in the corpus's words.

The cases are those of `../shared/kafka/records` (or of the folder in KWIRE_SHARED); where that is not, those of
`tests/data/records.jsonl.gz`, which were cut out of it. Apache Kafka wrote all their bytes, and told what is in them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import struct
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from kwire.codecs.records import Record, RecordBatch, build_batch
from kwire.codecs.records.crc32c import crc32c
from kwire.protocol.nested import decode_control_record
from kwire.values import kind
from tests.conftest import ROOT, SHARED

SAMPLE = ROOT / "tests" / "data" / "records.jsonl.gz"


@cache
def all_cases() -> tuple[dict[str, Any], ...]:
    folder = SHARED / "kafka" / "records"
    paths = sorted(folder.glob("*.jsonl.gz")) or [SAMPLE]
    return tuple(case for path in paths if "frames" not in path.name for case in _read(path))


def _read(path: Path) -> Iterator[dict[str, Any]]:
    for line in gzip.decompress(path.read_bytes()).splitlines():
        case = json.loads(line)
        case.setdefault("file", path.name.split(".")[0])
        if "files" in case:
            case["hex"] = next(text for name, text in case["files"].items() if name.endswith(".log"))
        yield case


def cases(*files: str) -> list[Any]:
    """The cases of some files (`magic0`, `control`), as parameters of a test; all sound ones without a name."""
    chosen = [case for case in all_cases() if case["file"].startswith(files or ("magic", "c", "e", "mi", "s"))]
    return [_Case(case) for case in chosen]


class _Case(dict[str, Any]):
    def __repr__(self) -> str:
        return f"{self['file']}-{self['case']}"


def name_of(case: Any) -> str:
    return repr(case)


def data_of(case: dict[str, Any]) -> bytes:
    if "base64" in case:
        return base64.b64decode(case["base64"])
    return bytes.fromhex(case["hex"])


def told(batch: RecordBatch, records: list[Record]) -> dict[str, Any]:
    """Tell a batch in the corpus's words."""
    words: dict[str, Any] = {
        "base_offset": records[0].offset if batch.base_offset is None else batch.base_offset,
        "size": len(batch.data),
        "valid": True,
        "records": [_told_record(batch, record) for record in records],
    }
    names = "last_offset length partition_leader_epoch magic crc compression compression_id timestamp_type"
    if batch.magic == 2:
        names += " last_offset_delta base_timestamp producer_id producer_epoch base_sequence record_count"
        words |= {"transactional": batch.is_transactional, "control": batch.is_control}
    words |= {name: getattr(batch, name) for name in (names + " max_timestamp attributes").split()}
    return words | ({} if batch.delete_horizon is None else {"delete_horizon": batch.delete_horizon})


def _told_record(batch: RecordBatch, record: Record) -> dict[str, Any]:
    words: dict[str, Any] = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key_hex": _hex(record.key),
        "value_hex": _hex(record.value),
        "headers": [[name, _hex(value)] for name, value in record.headers],
    }
    if batch.magic == 2:
        base = {"base_offset": batch.base_offset, "base_timestamp": batch.base_timestamp}
        words |= {"sequence": batch.sequence(record), "size": len(build_batch([record], **base)) - 61}  # type: ignore[arg-type]
    return words | ({"control_type": control_type(record)} if batch.is_control else {})


def control_type(record: Record) -> str:
    """What a control record is by Kafka's name; its value is read too."""
    read = decode_control_record(record.key or b"", record.value)
    assert read.value is not None and read.value.message is not None
    return kind("ControlRecordType")(read.type).name


def digested(words: dict[str, Any]) -> dict[str, Any]:
    """The words of a batch with a digest in place of its records, as in the sample."""
    records = json.dumps(words["records"], sort_keys=True, separators=(",", ":")).encode()
    return {name: value for name, value in words.items() if name != "records"} | {
        "records_sha256": hashlib.sha256(records).hexdigest()
    }


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def rebuilt(batch: RecordBatch, records: list[Record]) -> bytes:
    """Build a batch again from what was read."""
    common: dict[str, Any] = {"magic": batch.magic, "compression": batch.compression}
    common |= {"timestamp_type": batch.timestamp_type, "attributes": batch.attributes}
    if batch.magic == 2:
        names = "base_offset last_offset partition_leader_epoch base_timestamp max_timestamp producer_id producer_epoch"
        names += " base_sequence is_transactional is_control delete_horizon"
        common |= {name: getattr(batch, name) for name in names.split()}
    elif batch.compression != "none":
        common |= {"last_offset": batch.last_offset}
    return build_batch(records, **common)


def with_right_crcs(data: bytes) -> bytes:
    """Make the checksums of all batches right, as far as there are batches."""
    out, at = bytearray(data), 0
    while at + 17 <= len(out):
        stop = at + 12 + int.from_bytes(out[at + 8 : at + 12], "big", signed=True)
        if stop < at + 26 or stop > len(out):
            break
        if out[at + 16] == 2:
            out[at + 17 : at + 21] = crc32c(bytes(out[at + 21 : stop])).to_bytes(4, "big")
        else:
            out[at + 12 : at + 16] = zlib.crc32(out[at + 16 : stop]).to_bytes(4, "big")
        at = stop
    return bytes(out)


def batch_around(payload: bytes, *, count: int = 1, attributes: int = 0) -> bytes:
    """A batch of magic 2 with any bytes for records, and the right checksum."""
    head = struct.pack(">qiibIhiqqqhii", 0, 49 + len(payload), 0, 2, 0, attributes, count - 1, 0, 0, -1, -1, -1, count)
    return with_right_crcs(head + payload)


def message_around(value: bytes | None, *, offset: int = 0, magic: int = 1, attributes: int = 0) -> bytes:
    """A message of magic 0 or 1 with any value, and the right checksum."""
    body = struct.pack(">bb", magic, attributes) + (bytes(8) if magic else b"") + b"\xff" * 4
    body += b"\xff" * 4 if value is None else len(value).to_bytes(4, "big") + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body
