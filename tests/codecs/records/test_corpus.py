"""Every case that Kafka recorded: read to the recorded values, and built again."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors as faults
from kwire.codecs.records import Record, RecordBatch, UndecodableRecords, parse_records
from kwire.errors import DecodeError
from tests.cases import case_by_case
from tests.codecs.records.cases import cases, data_of, digested, name_of, rebuilt, told

# Kafka's exception -> what kwire raises there. KafkaException: a codec's complaint, or one that came before the
# checksum was looked at.
VERDICTS: dict[str, tuple[type[DecodeError], ...]] = {
    "CorruptRecordException": (faults.BadChecksum, faults.UnknownMagic, faults.BadBatchLength),
    "InvalidRecordException": (faults.BadRecordCount,),
    "IllegalArgumentException": (faults.UnknownCompression,),
    "KafkaException": (faults.BadCompression, faults.BadChecksum),
}


@case_by_case("case", cases(), ids=name_of)
def test_a_recorded_case_reads_to_the_recorded_values(case: dict[str, Any]) -> None:
    batches = list(parse_records(data_of(case), may_be_cut=True))
    assert len(batches) == len(case["batches"])
    for batch, recorded in zip(batches, case["batches"], strict=True):
        words = told(batch, list(batch.records()))
        assert (words if "records" in recorded else digested(words)) == recorded


@case_by_case("case", cases(), ids=name_of)
def test_salvage_reads_a_sound_case_to_the_same_values_without_a_fault(case: dict[str, Any]) -> None:
    data = data_of(case)
    strict, salvage = parse_records(data, may_be_cut=True), parse_records(data, salvage=True)
    for batch, same in zip(strict, salvage, strict=True):
        assert batch == same
        records = batch.records(salvage=True)
        assert list(records) == list(batch.records())
        assert records.faults == []
    assert salvage.rest == strict.rest


@case_by_case("case", cases(), ids=name_of)
def test_a_recorded_batch_is_built_again(case: dict[str, Any]) -> None:
    for batch in parse_records(data_of(case), may_be_cut=True):
        records = list(batch.records())
        data = rebuilt(batch, records)
        if batch.compression == "none":
            assert data == batch.data
        else:
            (again,) = parse_records(data)
            assert list(again.records()) == records
            ours, theirs = told(again, records), told(batch, records)
            assert {**ours, "size": 0, "length": 0, "crc": 0} == {**theirs, "size": 0, "length": 0, "crc": 0}


def test_a_cut_tail_is_reported_and_kept() -> None:
    for case in cases("mixed"):
        if "cut" not in case["case"]:
            continue
        data = data_of(case)
        batches = parse_records(data, may_be_cut=True)
        (batch,) = batches
        assert batch.data + batches.rest == data
        assert [type(fault) for fault in batches.faults] == [faults.CutBatch]
        with pytest.raises(faults.CutBatch, match=r"batches\[1\]"):
            list(parse_records(data))


@case_by_case("case", cases("broken"), ids=name_of)
def test_a_broken_case_gets_the_verdict_that_kafka_gave(case: dict[str, Any]) -> None:
    verdicts = [batch.get("error") for batch in case["batches"]] + [case.get("error")]
    wrong = next((verdict for verdict in verdicts if verdict), None)
    good: list[RecordBatch] = []
    try:
        for batch in parse_records(data_of(case)):
            list(batch.records())
            good.append(batch)
    except DecodeError as error:
        assert wrong is not None
        assert isinstance(error, VERDICTS[wrong])
        assert error.path.startswith(f"batches[{len(good)}]")
        assert len(good) == verdicts.index(wrong)
    else:
        assert wrong is None
        assert len(good) == len(case["batches"])


@case_by_case("case", cases("broken"), ids=name_of)
def test_salvage_keeps_the_header_that_kafka_reads_from_a_broken_batch(case: dict[str, Any]) -> None:
    found = [batch for batch in parse_records(data_of(case), salvage=True) if isinstance(batch, RecordBatch)]
    for batch, recorded in zip(found, case["batches"], strict=False):
        records = [record for record in batch.records(salvage=True) if isinstance(record, Record)]
        words = told(batch, records) | {"valid": not batch.faults}
        for name in recorded.keys() - {"records", "error"}:
            assert words[name] == recorded[name], name
        if "records" in recorded:
            assert words["records"] == recorded["records"]


@case_by_case("case", cases("broken"), ids=name_of)
def test_salvage_loses_no_byte_of_a_broken_case(case: dict[str, Any]) -> None:
    data = data_of(case)
    batches = parse_records(data, salvage=True)
    assert b"".join(batch.data for batch in batches) + batches.rest == data


def test_a_batch_of_an_unknown_codec_keeps_its_bytes() -> None:
    (case,) = (case for case in cases("broken") if case["case"] == "codec-5")
    (batch,) = parse_records(data_of(case))
    assert batch.compression is None
    (item,) = batch.records(salvage=True)
    assert isinstance(item, UndecodableRecords)
    assert item.data == batch.data[61:]
