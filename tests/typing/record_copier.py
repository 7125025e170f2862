"""Copies the records of a log to Produce requests; each line with a mistake says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_type

import kwire
from kwire import Record, build_batch
from kwire.messages import ProduceRequest


def records_of(batches: bytes) -> Iterator[Record]:
    for batch in kwire.parse_records(batches):
        for record in batch.records():
            assert_type(record, Record)
            if record.value is None:
                continue
            yield Record(record.offset, key=record.key, value=record.value.upper())
            yield Record(record.offset, key=7)  # mistake
            yield record.values  # mistake


def produce(topic: str, index: int, batches: bytes, compression: str = "none") -> bytes:
    copied = build_batch(records_of(batches), compression=compression, producer_id=7, is_transactional=True)
    build_batch(records_of(batches), compresion="gzip")  # mistake
    build_batch(records_of(batches), producer_id="seven")  # mistake
    row = ProduceRequest.PartitionProduceData(index=index, records=copied)
    data = ProduceRequest.TopicProduceData(topic, partition_data=[row])
    data.name = "other"  # mistake
    message = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
    codec = kwire.codec("ProduceRequest", 9)
    assert_type(codec.decode(codec.encode(message)), ProduceRequest)
    codec.encode(row)  # mistake
    return kwire.encode_request(message, "9", correlation_id=1)  # mistake
