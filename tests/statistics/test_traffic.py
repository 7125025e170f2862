"""Frames are counted by any columns; who uses what a release does not speak is found."""

from __future__ import annotations

import pytest

import kwire
from kwire import messages
from kwire.errors import UnknownMessage
from kwire.statistics.latencies import Latencies
from kwire.statistics.traffic import Traffic
from kwire.statistics.unsupported_uses import unsupported_uses
from tests.protocol.test_frame_decoder import request, response


def counted(by: list[str], frames: list[kwire.Frame], errors: bool = False) -> Traffic:
    traffic = Traffic(by, errors=errors)
    for frame in frames:
        traffic.add(frame)
    return traffic


def produce(version: int, client: str | None, *topics: str) -> bytes:
    data = tuple(messages.ProduceRequest.TopicProduceData(name=name) for name in topics)
    return kwire.encode_request(messages.ProduceRequest(topic_data=data), version, correlation_id=99, client_id=client)


def frames(*data: bytes) -> list[kwire.Frame]:
    return [kwire.Frame(one) for one in data]


def test_requests_and_answers_are_counted_in_one_row() -> None:
    (row,) = counted(["api", "version"], frames(request(70000), response(70000))).rows()
    count = row.count
    assert row.key == ("Metadata", "1")
    assert (count.requests, count.responses, count.request_bytes, count.response_bytes) == (1, 1, 20, 20)
    assert count.mean is None


def test_times_between_them() -> None:
    found = [
        kwire.Frame(data, kwire.Source(time=time, client="10.0.0.1:5000"))
        for data, time in (
            (request(70000), 1.0),
            (response(70000), 1.5),
            (request(70001), 2.0),
            (response(70001), 2.25),
        )
    ]
    (row,) = counted(["ip"], found).rows()
    assert (row.key, row.count.mean, row.count.longest) == (("10.0.0.1",), 0.375, 0.5)


@pytest.mark.parametrize("times", [(float("nan"), 1.5), (1.0, float("inf")), (-1e308, 1e308), (0.0, 1e307)])
@pytest.mark.parametrize("errors", [False, True])
def test_a_response_without_a_finite_time_is_counted_without_it(times: tuple[float, float], errors: bool) -> None:
    found = [
        kwire.Frame(data, kwire.Source(time=time, client="10.0.0.1:5000"))
        for data, time in zip((request(70000), response(70000)), times, strict=True)
    ]
    traffic = Traffic(["ip"], errors=errors, latencies=Latencies(5))
    for frame in found:
        traffic.add(frame)
    (row,) = traffic.rows()
    assert (row.count.requests, row.count.responses, row.count.answered, row.count.mean) == (1, 1, 0, None)


def test_the_longest_latency_is_292_years() -> None:
    latencies = Latencies(5)
    traffic = Traffic(["ip"], latencies=latencies)
    for data, time in ((request(70000), 0.0), (response(70000), 1e12)):
        traffic.add(kwire.Frame(data, kwire.Source(time=time)))
    assert [answered.latency for answered in latencies.slowest] == [10**21]
    assert traffic.times() == [(("-",), [(1 << 63) - 1])]


def test_a_frame_counts_for_each_of_its_topics() -> None:
    rows = counted(["topic", "client"], frames(produce(3, "a", "x", "y"), produce(3, "b", "x"))).rows()
    assert {row.key: row.count.requests for row in rows} == {("x", "a"): 1, ("y", "a"): 1, ("x", "b"): 1}


def test_software_is_known_from_the_first_request_on() -> None:
    hello = messages.ApiVersionsRequest(client_software_name="sarama", client_software_version="1.4")
    rows = counted(["software", "api"], frames(kwire.encode_request(hello, 3, client_id="me"), request(5))).rows()
    assert [row.key for row in rows] == [("sarama 1.4", "ApiVersions"), ("sarama 1.4", "Metadata")]


def test_errors_are_counted_if_wanted() -> None:
    topics = (messages.MetadataResponse.MetadataResponseTopic(name="x", error_code=3),)
    reply = kwire.encode_response(messages.MetadataResponse(topics=topics), 1, correlation_id=70000)
    (row,) = counted(["api"], frames(request(70000), reply), errors=True).rows()
    assert row.count.errors == {"UNKNOWN_TOPIC_OR_PARTITION": 1}
    (row,) = counted(["api"], frames(request(70000), reply)).rows()
    assert row.count.errors == {}


def test_an_error_about_two_topics_is_one_error() -> None:
    topics = tuple(messages.MetadataResponse.MetadataResponseTopic(name=name, error_code=3) for name in "xy")
    reply = kwire.encode_response(messages.MetadataResponse(topics=topics), 1, correlation_id=70000)
    traffic = counted(["topic"], frames(request(70000), reply), errors=True)
    assert traffic.errors == {"UNKNOWN_TOPIC_OR_PARTITION": 2}
    assert [row.count.errors.total() for row in traffic.rows() if row.key != ("-",)] == [2, 2]


def test_what_is_neither_is_counted_apart() -> None:
    traffic = counted(["api"], frames(b"\0\0\0\x04noise", request(1)))
    assert (traffic.frames, traffic.unread, len(traffic.rows())) == (2, {"BAD_SIZE": 1}, 1)


def test_no_body_is_decoded_without_need() -> None:
    broken = bytearray(request(1))
    broken[-4:] = b"\x7f\xff\xff\xff"  # more topics than there can be
    assert counted(["client", "api", "version", "ip"], frames(bytes(broken))).rows()[0].key == (
        "me",
        "Metadata",
        "1",
        "-",
    )


def test_who_breaks_with_a_release() -> None:
    traffic = counted(["api"], frames(produce(2, "old"), produce(2, "old"), produce(9, "new")))
    (found,) = unsupported_uses(traffic, "4.0")
    assert found._asdict() == {
        "client": "old",
        "software": "-",
        "ip": "-",
        "api": "Produce",
        "version": 2,
        "requests": 2,
        "breaks": True,
        "why": "4.0 supports 3-12",
        "asks": False,
    }
    assert unsupported_uses(traffic, "3.9") == []


def test_a_newer_version_does_not_break_clients_and_a_removed_api_does() -> None:
    traffic = counted(["api"], frames(produce(9, "new"), bytes.fromhex("0000000c 0007 0000 00000005 00000003")))
    assert [(one.api, one.breaks) for one in unsupported_uses(traffic, "1.0")] == [("Produce", False)]
    assert [(one.api, one.why) for one in unsupported_uses(traffic, "4.0")] == [
        ("ControlledShutdown", "4.0 has no such api")
    ]
    with pytest.raises(UnknownMessage):
        unsupported_uses(traffic, "9.9")


def test_a_client_id_that_is_no_text_is_not_shown() -> None:
    traffic = Traffic(["client"])
    for client in ("app-ü 1", "\x11secret\x01"):
        data = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 9, client_id=client)
        for frame in kwire.protocol.cut_frames(data):
            traffic.add(frame)
    assert sorted(row.key for row in traffic.rows()) == [("-",), ("app-ü 1",)]
