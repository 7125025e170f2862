"""Logs of requests become frames: brokers' logs, rows of them, Kroxylicious' lines, our own."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import DecodeError, Frame, Request, Response, Source
from kwire.capture.open_dump import open_dump
from kwire.capture.request_logs.request_log import (
    SIZES,
    RequestLogNotes,
    convert_object,
    looks_like_request_log,
    read_log_frames,
)
from kwire.errors import DumpError, EncodeError
from kwire.protocol.frames.broker_times import BrokerTimes
from kwire.schema.catalog import catalog_for
from tests.conftest import ROOT

LINE = (
    '{"isForwarded":false,"requestHeader":{"requestApiKey":3,"requestApiVersion":4,"correlationId":70000,'
    '"clientId":"me","requestApiKeyName":"METADATA"},"request":{"topics":null,"allowAutoTopicCreation":true},'
    '"response":{"throttleTimeMs":0,"brokers":[],"clusterId":null,"controllerId":7,"topics":[]},'
    '"connection":"127.0.0.1:9092-127.0.0.1:50000-0","totalTimeMs":1.5}'
)
LOG4J = f"[2024-05-01 10:00:00,000] DEBUG Completed request:{LINE} (kafka.request.logger)"
ROW = json.dumps(
    {"broker": 1, "connection": "::1:9092-::1:50000-0-3", "request_header": json.loads(LINE)["requestHeader"]}
    | {name: json.loads(LINE)[name] for name in ("request", "response")}
)
KROXYLICIOUS = (
    '{"header":{"type":"REQUEST","apiKey":"METADATA","apiVersion":4,"correlationId":70000,"clientId":"me"},'
    '"payload":{"topics":null,"allowAutoTopicCreation":true}}'
)
ANSWER = (
    '{"header":{"type":"RESPONSE","apiKey":"METADATA","apiVersion":4,"correlationId":70000},'
    '"payload":{"throttleTimeMs":0,"brokers":[],"clusterId":null,"controllerId":7,"topics":[]}}'
)
ENDS = "127.0.0.1:50000", "127.0.0.1:9092"
TOTAL = BrokerTimes(total=0.0015)
ASKED = "00000011 0003 0004 00011170 0002 6d65 ffffffff 01"
ANSWERED = "00000016 00011170 00000000 00000000 ffff 00000007 00000000"
PRODUCED = {
    "requestHeader": {"requestApiKey": 0, "requestApiVersion": 7, "correlationId": 1, "clientId": None},
    "request": {
        "transactionalId": None,
        "acks": 0,
        "timeoutMs": 9,
        "topicData": [{"name": "t", "partitionData": [{"index": 2, "recordsSizeInBytes": 70}]}],
    },
    "response": "",
    "isForwarded": True,
}


def frames(*lines: str) -> tuple[list[Frame], list[str]]:
    notes = RequestLogNotes()
    return list(read_log_frames([line.encode() for line in lines], "x.log", catalog_for(), notes)), notes.texts()


@pytest.mark.parametrize(
    ("lines", "ends", "times", "broker_times"),
    [
        ((LINE,), ENDS, (None, None), TOTAL),
        ((LOG4J,), ENDS, (1714557600 - 0.0015, 1714557600.0), TOTAL),
        ((ROW,), ("::1:50000", "::1:9092"), (None, None), None),
        ((KROXYLICIOUS, ANSWER), (None, None), (None, None), None),
        (
            ("2026-08-04 10:00:00 <netty-1> INFO  ProtocolLogger - " + KROXYLICIOUS, ANSWER),
            (None, None),
            (1785837600.0, None),
            None,
        ),
    ],
)
def test_a_line_becomes_a_request_and_a_response(
    lines: tuple[str, ...],
    ends: tuple[str | None, str | None],
    times: tuple[float | None, float | None],
    broker_times: BrokerTimes | None,
) -> None:
    asked, answer = frames(*lines)[0]
    source = Source("x.log", 0, None, times[0], *ends, direction="request")
    assert asked == Frame(bytes.fromhex(ASKED), source, message="MetadataRequest", version=4)
    source = Source("x.log", 1, None, times[1], *ends, direction="response")
    assert answer == Frame(
        bytes.fromhex(ANSWERED), source, message="MetadataResponse", version=4, broker_times=broker_times
    )


def test_our_own_lines_are_read(tmp_path: Path) -> None:
    dump = ROOT / "fixtures/dumps/kafka-3.9-zk.bin"
    lines = [json.dumps(kwire.envelope(result)) for result in kwire.decode_frames(kwire.read_dump(dump))]
    (tmp_path / "x").write_text("\n".join(lines))
    assert b"".join(frame.data for frame in kwire.read_dump(tmp_path / "x")) == dump.read_bytes()


def test_what_is_lost_is_remarked_on() -> None:
    (asked,), remarks = frames("[2024-05-01] INFO started", json.dumps(PRODUCED), "")
    (result,) = kwire.decode_frames([asked])
    assert isinstance(result, Request)
    assert isinstance(result.message, kwire.messages.ProduceRequest)
    assert result.message.topic_data[0].partition_data[0].records == b""
    assert remarks == [
        "1 lines without a request were left out",
        "1 requests came inside an Envelope, which is not in the log",
        "70 bytes of records are not in the log",
        "1 requests without a response in the log",
    ]


def test_empty_records_lose_nothing() -> None:
    line = json.dumps(PRODUCED | {"isForwarded": False}).replace('InBytes": 70', 'InBytes": 0')
    assert frames(line)[1] == ["1 requests without a response in the log"]


def test_hidden_values_stay_text() -> None:
    config = {"name": "password", "value": "[hidden]"}
    members = {
        "requestHeader": {"requestApiKey": 33, "requestApiVersion": 0, "correlationId": 1, "clientId": "me"},
        "request": {"resources": [{"resourceType": 4, "resourceName": "1", "configs": [config]}], "validateOnly": True},
        "response": None,
    }
    (asked,) = frames(json.dumps(members))[0]
    assert b"\0\x08[hidden]" in asked.data


def test_a_refused_api_versions_request_is_answered_in_version_0() -> None:
    members = json.loads(LINE)
    members["requestHeader"] |= {"requestApiKey": 18, "requestApiVersion": 3}
    members["request"] = {"clientSoftwareName": "x", "clientSoftwareVersion": "1"}
    members["response"] = {"errorCode": 35, "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 2}]}
    asked, answer = frames(json.dumps(members))[0]
    assert (answer.message, answer.version) == ("ApiVersionsResponse", 0)
    result = list(kwire.decode_frames([asked, answer]))[1]
    assert isinstance(result, Response)
    assert (result.api_version, result.codec.version, result.request.client_id) == (3, 0, "me")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"requestHeader": {', "x.log:2: not valid JSON: Expecting property name"),
        (LINE.replace('"topics":null', '"topic":null'), "MetadataRequest v4: topic: there is no such field; did you"),
        (LINE.replace('"correlationId":70000,', ""), "x.log:2: requestHeader.correlationId: the field is missing"),
        (LINE.replace('Key":3', 'Key":9999'), "not request of api key 9999 version 4"),
        (KROXYLICIOUS.replace("METADATA", "META"), "header.apiKey: an api key or the name of an api is needed"),
        (KROXYLICIOUS.replace('"REQUEST"', "1"), "header.type: a str is needed, not 1"),
        ('{"a": 1}', "a logged request, or an object with header and payload is needed, not {'a': 1}"),
        ("{" + '"header":{' * 5000, "x.log:2: not valid JSON:"),
    ],
)
def test_an_odd_line_is_counted_and_reading_goes_on(line: str, text: str) -> None:
    notes = RequestLogNotes()
    lines = [one.encode() for one in (LINE, line, LINE)]
    found = list(read_log_frames(lines, "x.log", catalog_for(), notes))
    assert [frame.message for frame in found if frame.fault is None][-2:] == ["MetadataRequest", "MetadataResponse"]
    (fault,) = [frame.fault for frame in found if frame.fault is not None]
    assert "line 2: " in str(fault)
    assert text.removeprefix("x.log:2: ") in str(fault)
    assert (notes.broken, notes.errors[0].line) == (1, 2)


def test_a_log_of_odd_lines_only_is_an_error() -> None:
    with pytest.raises(DumpError, match=r"not valid JSON.*; 1 more lines cannot be read") as caught:
        frames('{"requestHeader": {', '{"requestHeader": {')
    assert caught.value.line == 1


def test_the_error_of_a_log_without_json_describes_it() -> None:
    with pytest.raises(
        DumpError, match=r"not a request in the text form of Kafka before 2\.7; 1 more lines cannot be read"
    ):
        frames(*["[2015-01-01] TRACE Completed request:Name:FetchRequest; Version:0"] * 2)
    with pytest.raises(DumpError, match="no request in it: 1 lines without a request were left out"):
        frames("[2015-01-01] INFO started")


@pytest.mark.parametrize(
    ("head", "answer"),
    [(LINE, True), (LOG4J, True), (ROW, True), ("\n {", True), ("00 01", False), ("# {\n00", False), ("[1, 2]", False)],
)
def test_logs_are_told_by_content(head: str, answer: bool) -> None:
    assert looks_like_request_log(head) is answer


def test_one_object_at_a_time() -> None:
    assert len(list(convert_object(json.loads(LINE), catalog_for(), RequestLogNotes()))) == 2
    with pytest.raises(EncodeError, match="a logged request"):
        list(convert_object([], catalog_for(), RequestLogNotes()))


def same(ours: Any, logged: Any) -> bool:
    """Compare with what Kafka logged; renamed fields stand in the same order."""
    if isinstance(ours, list) and isinstance(logged, list):
        return len(ours) == len(logged) and all(map(same, ours, logged))
    if not isinstance(ours, dict) or not isinstance(logged, dict):
        return bool(ours == logged)
    logged = {SIZES.get(name, name): "" if name in SIZES else value for name, value in logged.items()}
    if ours.keys() == logged.keys():
        return all(same(ours[name], logged[name]) for name in ours)
    return len(ours) == len(logged) and all(map(same, ours.values(), logged.values()))


@pytest.mark.ci
def test_every_logged_message_of_the_captures_comes_back(shared: Path, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for path in sorted((shared / "captures").glob("*.requests.jsonl.gz")):
        lines = [line for line in gzip.decompress(path.read_bytes()).splitlines() if b'"request_header"' in line]
        if lines:
            (tmp_path / "log").write_bytes(b"\n".join(lines))
            counts += compared(tmp_path / "log", [json.loads(line) for line in lines])
    assert counts == {"request": 7564, "response": 7561, "unanswered": 3}


def compared(log: Path, rows: list[dict[str, Any]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    logged = [(row[kind], row["api_version"]) for row in rows for kind in ("request", "response") if row[kind]]
    with open_dump(log) as dump:
        results = kwire.decode_frames(dump.frames, salvage=False)
        for result, (members, version) in zip(results, logged, strict=True):
            assert isinstance(result, Request | Response), result
            assert not isinstance(result, DecodeError)
            assert same(result.codec.to_json(result.message), members)
            assert result.api_version == version
            counts[result.codec.spec.type] += 1
    counts["unanswered"] = sum(not row["response"] for row in rows)
    return counts
