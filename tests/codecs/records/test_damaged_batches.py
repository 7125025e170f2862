"""`is_whole` and `records` agree, whichever engine there is; a broker reads what Kafka tolerates."""

from __future__ import annotations

import contextlib

import pytest

import kwire
from kwire import messages
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.codecs import native
from kwire.codecs.records import Record, RecordBatch, build_batch, parse_records
from kwire.codecs.records.crc32c import crc32c
from kwire.codecs.records.record_layouts import BATCH
from kwire.errors import OverlongVarint
from kwire.testing import Kafka
from tests.codecs.records.damaged_batches import damaged_batches, read_one_by_one, whole
from tests.codecs.records.executions import without_native_records
from tests.seeds import TRIES, named, seeded


def with_an_overlong_timestamp(value: bytes = b"v") -> bytes:
    """Return a batch with one record, whose timestamp delta has four bytes where one suffices."""
    data = build_batch([Record(0, 0, None, value)])
    record = data[BATCH.size + 1 :]
    body = record[:1] + b"\x80\x80\x80\0" + record[2:]
    rest = data[21 : BATCH.size] + bytes([2 * len(body)]) + body
    length = (len(data) + 3 - 12).to_bytes(4, "big")
    return data[:8] + length + data[12:17] + crc32c(rest).to_bytes(4, "big") + rest


@pytest.mark.parametrize("engine", ["native", "python"])
def test_what_is_whole_can_be_read_one_by_one(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine == "native" and native.ENGINE != "native":
        pytest.skip("another engine was chosen")
    monkeypatch.setattr(native, "ENGINE", engine)
    accepted = 0
    path = contextlib.nullcontext if engine == "native" else without_native_records
    for batch in damaged_batches(seeded("damaged batches"), 600 * TRIES):
        for salvage in (False, True):
            with named((salvage, batch.data.hex())), path():
                assert whole(batch, salvage) == read_one_by_one(batch, salvage)
                accepted += whole(batch, salvage)
    assert accepted > 100


def test_the_engine_is_asked_only_if_it_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "ENGINE", "python")
    monkeypatch.delattr(native, "records_are_whole", raising=False)  # as where the engine was not built
    (batch,) = parse_records(build_batch([Record(0), Record(1)]))
    assert batch.is_whole()


def test_an_overlong_varint_is_an_error_but_not_in_salvage() -> None:
    (batch,) = parse_records(with_an_overlong_timestamp())
    for strict in (batch.is_whole, lambda: list(batch.records())):
        with pytest.raises(OverlongVarint):
            strict()
    assert batch.is_whole(salvage=True)
    assert list(batch.tolerant_records()) == [Record(0, 0, None, b"v")]
    (damaged,) = parse_records(batch.data[:-1] + b"\x02", check_crcs=False)
    with pytest.raises(kwire.DecodeError):
        list(damaged.tolerant_records())


def test_a_count_of_no_records_or_another_magic_is_not_taken_for_whole() -> None:
    """The engine is asked only about records of magic 2, of which there is one at least."""
    (batch,) = parse_records(build_batch([]))
    assert batch.is_whole()
    header = batch.data[:57]
    for count in (-1, -5, 1):
        (changed,) = parse_records(header + count.to_bytes(4, "big", signed=True), check_crcs=False)
        assert not whole(changed, salvage=False)
    inner = build_batch([Record(0)])[BATCH.size :]
    message = build_batch([Record(7, value=b"x" * (BATCH.size - 34) + inner)], magic=1)
    (old,) = parse_records(message)
    assert isinstance(old, RecordBatch) and old.data[BATCH.size :] == inner
    assert not old.is_whole() or [record.offset for record in old.records()] == [7]


def test_a_produce_that_kafka_accepts_is_accepted_and_read_back() -> None:
    """Kafka's LogValidator reads records with DefaultRecord.readFrom, whose varints may have more bytes than needed."""
    partition = messages.ProduceRequest.PartitionProduceData(index=0, records=with_an_overlong_timestamp(b"long"))
    topic = messages.ProduceRequest.TopicProduceData(name="t", partition_data=(partition,))
    request = messages.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(topic,))
    with Kafka(topics={"t": 1}, seed=1) as kafka:
        with BrokerConnection(address(kafka.address(1)), timeout=60, client_id="by-hand") as connection:
            answer = connection.ask(kwire.codec("ProduceRequest", 9), request)
        assert answer is not None and answer.message.responses[0].partition_responses[0].error_code == 0
        assert [record.value for record in kafka.records("t")] == [b"long"]
