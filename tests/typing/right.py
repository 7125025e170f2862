"""A right program: a type checker has nothing to say about it but what it is asked to reveal."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import assert_type

from hypothesis import given

import kwire
from kwire import messages as M
from kwire.testing import strategies
from kwire.values import ErrorCode, kind


def partitions_of(body: bytes) -> Iterator[tuple[str, tuple[int, ...]]]:
    codec = kwire.codec(M.MetadataResponse, 12)
    assert_type(codec, kwire.Codec[M.MetadataResponse])
    response = codec.decode(body)
    assert_type(response, M.MetadataResponse)
    for topic in response.topics:
        if ErrorCode(topic.error_code) is not ErrorCode.NONE or topic.name is None:
            continue
        for partition in topic.partitions:
            yield topic.name, partition.offline_replicas


def by_name(body: memoryview) -> int:
    codec = kwire.codec("FetchResponse", 16)
    assert_type(codec, kwire.Codec[M.FetchResponse])
    salvaged = codec.decode(bytearray(body), salvage=True)
    assert_type(salvaged, kwire.Salvaged[M.FetchResponse])
    assert_type(salvaged.message.node_endpoints, tuple[M.FetchResponse.NodeEndpoint, ...])
    for fault in salvaged.faults:
        assert_type(fault.path, str)
    return sum(len(one.records or b"") for topic in salvaged.message.responses for one in topic.partitions)


def answered(request: bytes, response: bytes) -> M.MetadataResponse:
    header = kwire.decode_request(request).header
    print(header.request_api_key, header.client_id)
    assert_type(kwire.decode_response(b"", kwire.codec("FetchRequest", 12)), kwire.Response[M.FetchResponse])
    return kwire.decode_response(response, kwire.codec(M.MetadataResponse, 12)).message


def metadata_request(names: Sequence[str], topic_ids: Sequence[uuid.UUID] = ()) -> bytes:
    topic = M.MetadataRequest.MetadataRequestTopic
    topics = [topic(name=name) for name in names] + [topic(topic_id=each, name=None) for each in topic_ids]
    return kwire.encode_request(M.MetadataRequest(topics=topics), 12, correlation_id=7, client_id="me")


def delete(names: Sequence[str]) -> M.DeleteTopicsRequest:
    return M.DeleteTopicsRequest(topic_names=names, timeout_ms=30_000)


def any_codec(name: str | int, version: int, release: str | None = None) -> kwire.Codec:
    return kwire.codec(name, version, release=release)


def frames_of(path: Path) -> Iterator[str]:
    for frame in kwire.decode_frames(kwire.read_dump(path)):
        if isinstance(frame, kwire.Undecodable):
            yield f"{frame.error.offset}: {frame.error.path}"
        elif isinstance(frame, kwire.Request | kwire.Response):
            yield f"{frame.api_name} v{frame.api_version} {frame.message!r}"


def forwarded(path: Path) -> Iterator[bytes]:
    for frame in kwire.decode_frames(kwire.read_dump(path)):
        if isinstance(frame, kwire.Request):
            yield kwire.encode_request(frame.message, frame.api_version)
        elif isinstance(frame, kwire.Response):
            yield kwire.encode_response(frame.message, frame.codec.version)
    own = kwire.Catalog.from_directory("specs")
    yield kwire.encode_request(own.messages.PingRequest(), 0, catalog=own)
    yield kwire.encode_request(kwire.codec("FetchRequest", 12).decode(b""), 12)


async def count_responses(tap: asyncio.StreamReader) -> int:
    async with kwire.open(tap) as reader:
        assert_type(reader, kwire.AsyncDumpReader)
        return len([result async for result in reader if isinstance(result, kwire.Response)])


@given(
    strategies.messages(M.HeartbeatRequest, 4),
    strategies.messages("HeartbeatRequest", 4),
    strategies.requests(M.ProduceRequest),
    strategies.exchanges("Produce"),
    strategies.captures(strategies.exchanges(M.FetchRequest)),
)
def test_drawn(
    heartbeat: M.HeartbeatRequest,
    named: M.HeartbeatRequest,
    request: kwire.Request[M.ProduceRequest],
    exchange: tuple[kwire.Request, kwire.Response | None],
    capture: strategies.DrawnCapture,
) -> None:
    assert_type(request.message.acks, int)
    print(heartbeat.group_id, named.group_id, exchange[0].message, len(capture.data), kwire.open(capture.data).kind)


def explained(code: int) -> str:
    error = ErrorCode(code)
    return f"{error.name}: {error.about} {error.retriable} {ErrorCode('NONE').value} {kind('Acks')(-1)}"


own = kwire.Catalog.from_directory("specs")
print(kwire.codec("PingRequest", 0, catalog=own).decode(b""), own.messages.PingRequest(), kwire.messages.kafka_3_6)
print(
    any_codec(3, 12),
    metadata_request(["orders"]),
    delete(("a",)),
    explained(3),
    list(forwarded(Path("dump.pcap"))),
    list(partitions_of(b"")),
    answered(b"", b""),
)
