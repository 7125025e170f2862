"""Lines of request logs before Kafka 2.7 become frames: headers, times, and bodies that can be read back."""

from __future__ import annotations

import pytest

import kwire
from kwire import Request, Response, Undecodable
from kwire.capture.request_logs.request_log import RequestLogNotes, read_log_frames
from kwire.capture.request_logs.struct_text import StructText
from kwire.errors import WrongType
from kwire.protocol import Result
from kwire.protocol.frames.broker_times import BrokerTimes
from kwire.protocol.frames.stream_faults import BodyNotLogged
from kwire.schema.catalog import catalog_for

TAIL = (
    " from connection 10.0.0.1:9092-10.0.0.2:50000-0;totalTime:2.5,requestQueueTime:0.25,localTime:1.0,remoteTime:0.5,"
    "throttleTime:0.125,responseQueueTime:0.25,sendTime:0.375,securityProtocol:PLAINTEXT,principal:User:ANONYMOUS"
)
NEW = (
    "Completed request:RequestHeader(apiKey=LEAVE_GROUP, apiVersion=4, clientId=me, correlationId=9) -- {group_id=g,"
    "members=[{member_id=m-1,group_instance_id=null,_tagged_fields={}}],_tagged_fields={}},response:{throttle_time_ms=0,"
    "error_code=0,members=[{member_id=m-1,group_instance_id=null,error_code=25,_tagged_fields={}}],_tagged_fields={}}"
)
MIDDLE = (
    "Completed request:{api_key=9,api_version=1,correlation_id=12,client_id=consumer-1} -- {group_id=g,topics=["
    "{topic=t,partitions=[{partition=0},{partition=2}]}]}"
)
SCALA = (
    "Completed request:Name: FetchRequest; Version: 0; CorrelationId: 5; ClientId: ReplicaFetcherThread-0-1; "
    "ReplicaId: 3; MaxWait: 1500 ms; MinBytes: 1 bytes; RequestInfo: [orders,1] -> PartitionFetchInfo(0,1048576)"
)


def decode(*lines: str) -> tuple[list[Result], list[str]]:
    notes = RequestLogNotes()
    frames = read_log_frames([line.encode() for line in lines], "x.log", catalog_for(), notes)
    return list(kwire.decode_frames(frames)), notes.texts()


def test_bodies_of_kafka_1_0_to_2_6_are_read_back() -> None:
    (request, response), _ = decode("[2026-11-21 06:00:00,250] DEBUG " + NEW + TAIL)
    assert isinstance(request, Request)
    assert isinstance(response, Response)
    assert isinstance(request.message, kwire.messages.LeaveGroupRequest)
    assert isinstance(response.message, kwire.messages.LeaveGroupResponse)
    assert (request.message.group_id, request.message.members[0].member_id) == ("g", "m-1")
    assert response.message.members[0].error_code == 25
    assert (request.client.client_id, request.frame.source.client) == ("me", "10.0.0.2:50000")
    assert response.latency == 0.0025
    times = BrokerTimes(0.0025, 0.00025, 0.001, 0.0005, 0.000125, 0.00025, 0.000375)
    assert (request.frame.broker_times, response.frame.broker_times) == (None, times)


def test_a_response_that_is_not_in_the_log_is_known_by_its_header_and_time() -> None:
    (request, response), _ = decode("[2026-11-21 06:00:00,250] DEBUG " + MIDDLE + TAIL)
    assert isinstance(request, Request)
    assert isinstance(request.message, kwire.messages.OffsetFetchRequest)
    assert [tuple(topic.partition_indexes) for topic in request.message.topics or ()] == [(0, 2)]
    assert isinstance(response, Undecodable)
    assert isinstance(response.error, BodyNotLogged)
    assert not response.is_failure


@pytest.mark.parametrize(
    ("text", "client", "ends"),
    [
        (SCALA + TAIL, "ReplicaFetcherThread-0-1", ("10.0.0.2:50000", "10.0.0.1:9092")),
        (SCALA + " from client /10.0.0.2:50000;totalTime:2", "ReplicaFetcherThread-0-1", ("10.0.0.2:50000", None)),
        (
            SCALA.replace("; ClientId: Rep", ";ClientId:Some(2); X: Rep") + TAIL,
            "2",
            ("10.0.0.2:50000", "10.0.0.1:9092"),
        ),
    ],
)
def test_what_scala_classes_printed_has_a_header_only(text: str, client: str, ends: tuple[str, str | None]) -> None:
    (request, response), _ = decode(text)
    assert isinstance(request, Undecodable)
    assert isinstance(request.error, BodyNotLogged)
    assert (request.frame.message, request.frame.version) == ("FetchRequest", 0)
    assert (request.header.correlation_id, request.header.client_id) == (5, client)
    assert (request.frame.source.client, request.frame.source.broker) == ends
    assert response.frame.source.direction == "response"


def test_a_producer_that_wants_no_answer_gets_none() -> None:
    line = (
        "Completed request:RequestHeader(apiKey=PRODUCE, apiVersion=5, clientId=p, correlationId=1) -- {acks=0,"
        "timeout=9,partitionSizes=[a-b-0=400, c-1=20]}"
    )
    (request,), remarks = decode(line + TAIL)
    assert isinstance(request, Request)
    assert isinstance(request.message, kwire.messages.ProduceRequest)
    assert [(topic.name, topic.partition_data[0].index) for topic in request.message.topic_data] == [
        ("a-b", 0),
        ("c", 1),
    ]
    assert request.frame.broker_times is not None
    assert remarks == ["420 bytes of records are not in the log"]


@pytest.mark.parametrize(
    ("message", "version", "text", "value"),
    [
        ("MetadataRequest", 4, "{topics=[orders],allow_auto_topic_creation=true}", {"name": "orders"}),
        ("MetadataRequest", 4, "{topics=null,allow_auto_topic_creation=true}", None),
    ],
)
def test_fields_are_read_by_position(message: str, version: int, text: str, value: object) -> None:
    topics = StructText(text, version).read(catalog_for().spec(message).struct)["topics"]
    assert topics == (None if value is None else [value])


@pytest.mark.parametrize(
    "text", ["", "{", "{topics", "{topics=[", "{topics=[a]}", "{topics=[a],x=true}}", "{a=[b],c=d}"]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(WrongType):
        StructText(text, 4).read(catalog_for().spec("MetadataRequest").struct)
