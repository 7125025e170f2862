"""Records of the coordinators' logs, against what Kafka framed and what real brokers left on disk."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import messages
from kwire.errors import EncodeError, TrailingBytes, Truncated
from kwire.protocol.nested import (
    CoordinatorRecord,
    Embedded,
    coordinator_record,
    decode_group_record,
    decode_share_record,
    decode_transaction_record,
    encode_record,
    record_types,
)
from kwire.schema.catalog import catalog_for
from tests.conftest import SHARED, needs_shared

DATA = Path(__file__).parents[2] / "data"

DECODERS: dict[str, Callable[[bytes, bytes | None], CoordinatorRecord]] = {
    "__consumer_offsets": decode_group_record,
    "__transaction_state": decode_transaction_record,
    "__share_group_state": decode_share_record,
}


def lines(path: Path) -> list[Any]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def raw(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def json_of(embedded: Embedded) -> Any:
    assert embedded.name is not None and embedded.version is not None
    return kwire.codec(embedded.name, embedded.version).to_json(embedded.message)


def check(case: Any) -> None:
    key, value = bytes.fromhex(case["key_hex"]), raw(case["value_hex"])
    record = DECODERS[case["log"]](key, value)
    assert (record.log, record.type, record.key.name) == (case["log"], case["type_id"], case["key_message"])
    assert json_of(record.key) == case["key_json"]
    if record.value is None:
        assert value is None
    else:
        assert (record.value.name, record.value.version) == (case["value_message"], case["value_version"])
        assert json_of(record.value) == case["value_json"]
        made = coordinator_record(record.key.message, record.value.message, case["value_version"])
        assert encode_record(made) == (key, value)
    assert encode_record(record) == (key, value)


def test_records_that_kafka_framed() -> None:
    sample = [case for case in lines(DATA / "record_frames.jsonl") if case["log"] in DECODERS]
    for case in sample:
        check(case)
    there = {(case["log"], case["type_id"]) for case in sample}
    assert there == {place for place in record_types(catalog_for()) if place[0] in DECODERS} - {
        ("__consumer_offsets", 9)
    }


@needs_shared
def test_all_records_that_kafka_framed() -> None:
    files = sorted((SHARED / "kafka" / "records").glob("*-coordinator-frames.jsonl.gz"))
    cases = [case for path in files for case in lines(path)]
    for case in cases:
        check(case)
    assert len(cases) == 170


def test_records_of_real_brokers() -> None:
    """Of every log, type and version that the brokers of the named runs wrote, one record."""
    rows = [row for row in lines(DATA / "segment_records.jsonl") if row["log"] in DECODERS]
    assert len(rows) > 30
    for row in rows:
        key, value = bytes.fromhex(row["key"]), raw(row["value"])
        record = DECODERS[row["log"]](key, value)
        assert record.key.message is not None
        assert (record.value is None) == (value is None)
        assert record.value is None or record.value.message is not None, row
        assert encode_record(record) == (key, value)


def test_a_group_of_kafka_0_8_has_keys_of_type_0() -> None:
    (row,) = (row for row in lines(DATA / "segment_records.jsonl") if row["run"] == "kafka-0.8.2")
    key, value = bytes.fromhex(row["key"]), bytes.fromhex(row["value"])
    new, old = decode_group_record(key, value), decode_group_record(key, value, legacy_keys=True)
    assert (new.key.name, old.key.name) == ("LegacyOffsetCommitKey", "OffsetCommitKey")
    assert new.value is not None and old.value is not None
    assert (new.value.name, old.value.name) == ("LegacyOffsetCommitValue", "OffsetCommitValue")
    assert (new.key.message.group, old.key.message.group) == ("old-group", "old-group")
    assert new.value.message.offset == old.value.message.offset == 60
    assert encode_record(new) == encode_record(old) == (key, value)


@pytest.mark.parametrize("place", [place for place in record_types(catalog_for()) if place[0] == "__consumer_offsets"])
def test_both_numberings_of_keys_are_the_same_bytes(place: tuple[str, int]) -> None:
    """Up to Kafka 4.0 the number in front was the key message's version; from 4.1 on it is the type."""
    name = record_types(catalog_for())[place].key
    assert name is not None
    versions = catalog_for().spec(name).versions
    message = getattr(messages, name)()
    written = {kwire.codec(name, version).encode(message) for version in (0, place[1]) if version in versions}
    assert len(written) == 1
    key = place[1].to_bytes(2, "big") + written.pop()
    new, old = decode_group_record(key, None), decode_group_record(key, None, legacy_keys=True)
    assert encode_record(new) == encode_record(old) == (key, None)
    assert new.key.version == (0 if 0 in versions else place[1])
    assert old.key.version == (place[1] if place[1] in versions or place[1] == 0 else 0)


def test_share_keys_have_both_numberings_too() -> None:
    key = bytes.fromhex("0001 000167" + 16 * "ab" + "00000003")
    assert decode_share_record(key, None).key.version == 0
    assert decode_share_record(key, None, legacy_keys=True).key.version == 1


def test_an_unknown_type_keeps_its_bytes() -> None:
    for key in (b"\x00\x63", b"\x00\x63key", b"\xff\xffkey"):
        for value in (None, b"", b"\x01", b"\x00\x01value"):
            record = decode_group_record(key, value)
            assert record.key == Embedded(None, record.type, None, key[2:])
            assert record.value is None or record.value == Embedded(None, None, None, value or b"")
            assert encode_record(record) == (key, value)


def test_an_unknown_version_of_a_value_keeps_its_bytes() -> None:
    key, value = bytes.fromhex("0002 000167"), bytes.fromhex("7fff 0102")
    record = decode_group_record(key, value)
    assert record.value == Embedded("GroupMetadataValue", 32767, None, b"\x01\x02")
    assert encode_record(record) == (key, value)


def test_a_log_has_its_own_types() -> None:
    key = bytes.fromhex("0000 000174")
    assert decode_transaction_record(key, None).key.name == "TransactionLogKey"
    with pytest.raises(Truncated) as caught:
        decode_group_record(key, None)
    assert (caught.value.message, caught.value.path, caught.value.offset) == ("LegacyOffsetCommitKey", "topic", 5)


def test_tails_are_errors_with_their_place() -> None:
    with pytest.raises(TrailingBytes) as caught:
        decode_group_record(bytes.fromhex("0002 000167 ff"), None)
    assert caught.value.offset == 5
    key, value = encode_record(coordinator_record(messages.ShareUpdateKey(), messages.ShareUpdateValue()))
    assert value is not None
    with pytest.raises(TrailingBytes) as tail:
        decode_share_record(key, value + b"\x00")
    assert (tail.value.message, tail.value.offset) == ("ShareUpdateValue", len(value))
    with pytest.raises(Truncated) as short:
        decode_group_record(b"\x00", None)
    assert (short.value.path, short.value.offset) == ("type", 0)
    with pytest.raises(Truncated) as cut:
        decode_group_record(bytes.fromhex("0002 000167"), b"\x00")
    assert (cut.value.path, cut.value.offset) == ("version", 0)


def test_a_message_that_is_no_key_makes_no_record() -> None:
    with pytest.raises(EncodeError, match="a key of a coordinator's log is needed, not GroupMetadataValue"):
        coordinator_record(messages.GroupMetadataValue())


def test_the_early_access_key_without_a_number_has_type_9() -> None:
    record = coordinator_record(messages.ShareGroupPartitionMetadataKey(group_id="g"))
    assert encode_record(record) == (bytes.fromhex("0009 000167"), None)
    assert decode_group_record(*encode_record(record)).key == record.key
