"""Records of messages as views of the body: equal to the copies, in each execution."""

from __future__ import annotations

import contextlib
import pickle
import sys
from typing import Any

import pytest
from msgspec.structs import replace

import kwire
from kwire import messages
from kwire.codecs import native
from kwire.codecs.native.node_table import node_table
from kwire.codecs.records import Record, build_batch, parse_records

RECORDS = build_batch([Record(0, 5, b"k", b"v"), Record(1, 6, None, b"w")])
PARTITION = messages.ProduceRequest.PartitionProduceData
TOPIC = messages.ProduceRequest.TopicProduceData
FETCHED = messages.FetchResponse.PartitionData
RESPONSE = messages.FetchResponse.FetchableTopicResponse

natively = pytest.mark.skipif(native.ENGINE != "native", reason="another engine was chosen")


def produce(*records: Any) -> messages.ProduceRequest:
    parts = tuple(PARTITION(index=index, records=part) for index, part in enumerate(records))
    return messages.ProduceRequest(acks=-1, timeout_ms=1, topic_data=(TOPIC(name="t", partition_data=parts),))


def fetched(*records: Any) -> messages.FetchResponse:
    parts = tuple(FETCHED(partition_index=index, records=part) for index, part in enumerate(records))
    return messages.FetchResponse(responses=(RESPONSE(topic="t", partitions=parts),))


def records_in(message: Any) -> list[Any]:
    if isinstance(message, messages.ProduceRequest):
        return [part.records for topic in message.topic_data for part in topic.partition_data]
    return [part.records for topic in message.responses for part in topic.partitions]


@pytest.mark.parametrize("name, version, build", [("ProduceRequest", 9, produce), ("FetchResponse", 4, fetched)])
def test_records_are_views_of_the_body(name: Any, version: int, build: Any) -> None:
    codec: Any = kwire.codec(name, version)
    body = codec.encode(build(RECORDS, None, b"", RECORDS))
    copied, viewed = codec.decode(body), codec.decode(body, records="view")
    assert viewed == copied == build(RECORDS, None, b"", RECORDS)
    first, none, empty, last = records_in(viewed)
    assert [type(part) for part in (first, empty, last)] == [memoryview] * 3 and none is None
    assert first.readonly
    assert codec.encode(viewed) == body
    assert [batch.data for batch in parse_records(first)] == [RECORDS]
    assert codec.to_json(viewed) == codec.to_json(copied)
    assert {type(part) for part in records_in(codec.decode(body, records="bytes"))} == {bytes, type(None)}


@natively
@pytest.mark.parametrize("name, version, build", [("ProduceRequest", 9, produce), ("FetchResponse", 16, fetched)])
def test_the_engine_copies_nothing(name: Any, version: int, build: Any) -> None:
    codec: Any = kwire.codec(name, version)
    table = native.NodeTable(*node_table(codec.schema))
    message = build(RECORDS, None, b"", RECORDS * 100)
    if version == 16:
        message = replace(message, responses=tuple(replace(topic, topic="") for topic in message.responses))
    body = codec.encode(message)
    viewed = table.decode_with_views(body)
    assert viewed == table.decode(body) == message
    assert [None if part is None else part.obj is body for part in records_in(viewed)] == [True, None, True, True]
    count = sys.getrefcount(body)
    for stop in (*range(0, len(body), 7), len(body)):
        with contextlib.suppress(native.Declined):
            table.decode_with_views(body[:stop])
    del viewed
    assert sys.getrefcount(body) <= count  # the parts of what was refused are released
    with pytest.raises(TypeError):
        table.decode_with_views(memoryview(body))  # type: ignore[arg-type]


@pytest.mark.parametrize("tail", [b"", b"tail"])
def test_what_the_engine_refuses_has_views_too(tail: bytes) -> None:
    """A faulty body is decoded by the reference."""
    codec = kwire.codec("ProduceRequest", 8)
    body = codec.encode(produce(RECORDS, RECORDS))
    found = codec.decode(body + tail, salvage=True, records="view")
    assert found.message == codec.decode(body)
    assert {type(part) for part in records_in(found.message)} == {memoryview}
    if tail:
        with pytest.raises(kwire.DecodeError):
            codec.decode(body + tail, records="view")


def test_another_word_is_refused() -> None:
    codec = kwire.codec("ProduceRequest", 9)
    body = codec.encode(produce(RECORDS))
    for salvage in (False, True):
        with pytest.raises(ValueError, match="records is bytes or view, not 'copy'"):
            codec.decode(body, salvage=salvage, records="copy")  # type: ignore[call-overload]


def test_views_are_not_pickled() -> None:
    codec = kwire.codec("ProduceRequest", 9)
    body = codec.encode(produce(RECORDS))
    assert pickle.loads(pickle.dumps(codec.decode(body))) == produce(RECORDS)
    with pytest.raises(TypeError, match="memoryview"):
        pickle.dumps(codec.decode(body, records="view"))
