"""Which record type is which message, against Kafka's own tables and against our specs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwire.errors import SpecError
from kwire.protocol.nested import RecordType, record_types
from kwire.schema.catalog import Catalog, catalog_for
from kwire.schema.spec_layers import Layer
from tests.conftest import SHARED, needs_shared

# Kafka's enumeration -> its log
ENUMERATIONS = {
    "metadataRecordType": "__cluster_metadata",
    "remoteLogMetadataRecordType": "__remote_log_metadata",
    "groupCoordinatorRecordType": "__consumer_offsets",
    "transactionCoordinatorRecordType": "__transaction_state",
    "shareCoordinatorRecordType": "__share_group_state",
}


def types_of(log: str) -> dict[int, RecordType]:
    return {number: names for (where, number), names in record_types(catalog_for()).items() if where == log}


@needs_shared
@pytest.mark.parametrize(("enumeration", "log"), ENUMERATIONS.items())
def test_types_are_kafkas(enumeration: str, log: str) -> None:
    facts = json.loads((SHARED / "kafka" / "facts" / "_enums.json").read_bytes())["enums"][enumeration]["values"]
    expected: dict[int, RecordType] = {}
    for fact in facts:
        keyed = "coordinator" in enumeration.lower()
        names = RecordType(fact["name"] + "Key", fact["name"] + "Value") if keyed else RecordType(None, fact["name"])
        expected.setdefault(fact["code"], names)  # the newest release's names come first
    if log == "__consumer_offsets":
        expected[9] = RecordType("ShareGroupPartitionMetadataKey", "ShareGroupPartitionMetadataValue")  # up to 4.0
    assert types_of(log) == expected


def test_every_record_of_the_specs_has_its_place() -> None:
    placed = {name for names in record_types(catalog_for()).values() for name in names if name}
    records = {
        name for name, (kind, _) in catalog_for().heads().items() if kind.startswith(("metadata", "coordinator"))
    }
    assert records - placed == {"QuotaRecord"}  # of 2.8, whose number is ClientQuotaRecord's now
    assert len(record_types(catalog_for())) == len(set(record_types(catalog_for()).values())) == 59


def test_keys_and_values_go_together() -> None:
    for (log, number), names in record_types(catalog_for()).items():
        assert names.value is not None, (log, number)
        if names.key is not None:
            assert names.key.removesuffix("Key") == names.value.removesuffix("Value")
        assert (names.key is None) == (log in ("__cluster_metadata", "__remote_log_metadata"))


def spec_text(name: str, number: int, kind: str = "metadata") -> str:
    return f'{{\n"apiKey": {number},\n"type": "{kind}",\n"name": "{name}", "validVersions": "0",\n"fields": []\n}}\n'


def test_a_collision_that_no_table_explains_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "SecondTopicRecord.json").write_text(spec_text("SecondTopicRecord", 2))
    with pytest.raises(SpecError, match="SecondTopicRecord and TopicRecord are both type 2 of __cluster_metadata"):
        record_types(Catalog([Layer.of_folder(tmp_path), *catalog_for().layers]))


def test_another_claim_to_a_type_that_changed_hands_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "AnotherQuotaRecord.json").write_text(spec_text("AnotherQuotaRecord", 14))
    with pytest.raises(SpecError, match="type 14 of __cluster_metadata"):
        record_types(Catalog([Layer.of_folder(tmp_path), *catalog_for().layers]))


def test_a_catalog_of_2_8_has_the_record_of_its_time(tmp_path: Path) -> None:
    (tmp_path / "QuotaRecord.json").write_text(spec_text("QuotaRecord", 14))
    assert record_types(Catalog([Layer.of_folder(tmp_path)])) == {
        ("__cluster_metadata", 14): RecordType(None, "QuotaRecord")
    }


def test_a_new_type_finds_its_log_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "RemoteLogNewRecord.json").write_text(spec_text("RemoteLogNewRecord", 99))
    (tmp_path / "NewGroupKey.json").write_text(spec_text("NewGroupKey", 99, "coordinator-key"))
    found = record_types(Catalog([Layer.of_folder(tmp_path), *catalog_for().layers]))
    assert found["__remote_log_metadata", 99] == RecordType(None, "RemoteLogNewRecord")
    assert found["__consumer_offsets", 99] == RecordType("NewGroupKey", None)
