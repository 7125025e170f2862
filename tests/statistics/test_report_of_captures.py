"""What is counted of a capture by its frames' bytes is what is counted of its results."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

import kwire
from kwire.capture.open_dump import open_dump
from kwire.codecs.native import ENGINE
from kwire.protocol import FrameDecoder
from kwire.redact.masking import mask
from kwire.render.html.report_page import report_html
from kwire.statistics.report_counts import CapturedReportCounts, ReportCounts
from tests.capture.building import Conversation, capture
from tests.capture.captured import CAPTURES
from tests.conftest import ROOT, each_of, needs_shared
from tests.protocol.test_frame_decoder import request, response
from tests.seeds import named, seeded
from tests.statistics.test_report_counts import refused

M: Any = kwire.messages


def both(path: Path) -> tuple[ReportCounts, ReportCounts, list[int]]:
    """Count a capture both ways; the list has the number of each frame that was decoded after all."""
    one, other, decoded = ReportCounts(mask), ReportCounts(mask), list[int]()
    with open_dump(path) as dump:
        decoder = FrameDecoder(salvage=True)
        for frame in dump.frames:
            one.add(decoder.decode(frame))
    with open_dump(path) as dump:
        assert dump.captured is not None
        counting = CapturedReportCounts(other, FrameDecoder(salvage=True), dump.file)
        decode = counting.decoder.result

        def noted(*given: Any) -> Any:
            decoded.append(counting._number)
            return decode(*given)

        counting.decoder.result = noted  # type: ignore[method-assign, assignment]
        for batch in dump.captured:
            counting.add(batch)
    return one, other, decoded


def facts(tally: ReportCounts) -> dict[str, Any]:
    names = "frames size timed unanswered backwards kinds first_errors samples problems faults unread".split()
    found = {name: getattr(tally, name) for name in names}
    for name in ("versions", "errors", "connections"):
        found[name] = (getattr(tally, name).counts, getattr(tally, name).others)
    for name, api in tally.apis.items():
        counts = api.requests, api.responses, api.request_bytes, api.response_bytes, api.errors, api.durations.count
        found[f"api {name}"] = counts
    found["timeline"] = list(tally.timeline.rows())
    return found


def same(path: Path) -> list[int]:
    one, other, decoded = both(path)
    assert facts(other) == facts(one)
    for name, api in one.apis.items():
        for share in (0, 0.5, 0.95, 1) if api.durations.count else ():
            expected = pytest.approx(api.durations.quantile(share), rel=0.012, abs=2e-6)
            assert other.apis[name].durations.quantile(share) == expected
    assert len("".join(report_html("x", other))) > 1000
    return decoded


def test_a_capture_is_counted_so_and_nearly_nothing_is_decoded() -> None:
    decoded = same(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")
    assert decoded == [] or ENGINE != "native"


@needs_shared
@pytest.mark.ci
@each_of("path", sorted(CAPTURES.glob("*.pcap")), most=12, ids=lambda path: path.stem)
def test_captures_of_brokers_are_counted_so(path: Path) -> None:
    same(path)


def odd(random_: Random) -> list[Callable[[Conversation], Any]]:
    topics = M.MetadataRequest(topics=())
    silent = kwire.encode_request(M.ProduceRequest(acks=0), 3, correlation_id=5, client_id="me")
    login = kwire.encode_request(M.SaslHandshakeRequest(mechanism="PLAIN"), 1, correlation_id=9, client_id="me")
    welcome = kwire.encode_response(M.SaslHandshakeResponse(mechanisms=("PLAIN",)), 1, correlation_id=9)
    flexible = kwire.encode_request(topics, 12, correlation_id=4, client_id="other")
    return [
        lambda conversation: conversation.ask(random_.randrange(9)),
        lambda conversation: conversation.say(0, request(7)).say(0, request(7)).say(1, response(7)).say(1, refused(7)),
        lambda conversation: conversation.say(0, request(3)).say(0, request(4)).say(1, response(4)),
        lambda conversation: conversation.say(0, silent),
        lambda conversation: conversation.say(0, login).say(1, welcome),
        lambda conversation: conversation.say(0, flexible[:4] + flexible[4:-1] + b"\1\5\1x"),
        lambda conversation: conversation.say(0, b"\0\0\0\x0c\x27\x0f\0\1\0\0\0\1\0\2me"),
        lambda conversation: conversation.say(0, request(8, client_id="é" * 3)).say(1, response(8)[:-1] + b"\0\0"),
        lambda conversation: conversation.say(1, response(99)),
    ]


def test_odd_frames_in_any_order_are_counted_so(tmp_path: Path) -> None:
    random_ = seeded("odd frames of a report")
    for number in range(30):
        conversation = Conversation().open().ask(1)
        for step in islice(iter(lambda: random_.choice(odd(random_)), None), 6):
            step(conversation)
        path = tmp_path / "x.pcap"
        path.write_bytes(capture(conversation.close().segments))
        with named(number):
            same(path)


def test_errors_are_counted_by_their_paths_and_nothing_is_decoded(tmp_path: Path) -> None:
    """Codes of several fields, many of one kind, and the first frame of each; unusual frames come between them."""
    topic, partition = M.MetadataResponse.MetadataResponseTopic, M.MetadataResponse.MetadataResponsePartition
    random_, conversation = seeded("errors of a report"), Conversation().open().ask(1)
    for number in range(2, 60):
        partitions = [partition(error_code=random_.choice([0, 5, 9, number])) for _ in range(number % 7)]
        topics = [topic(name="t", error_code=random_.choice([0, 3, 29]), partitions=partitions)] * (number % 3)
        conversation.ask(
            number, answer=kwire.encode_response(M.MetadataResponse(topics=topics), 1, correlation_id=number)
        )
        if number % 20 == 0:
            conversation.say(0, request(number)).say(1, refused(number))
    path = tmp_path / "errors.pcap"
    path.write_bytes(capture(conversation.close().segments))
    decoded = same(path)
    assert ENGINE != "native" or len(decoded) <= 2
    tally = both(path)[1]
    assert {path for _, path, _ in tally.errors.counts} >= {"topics.error_code", "topics.partitions.error_code"}
    assert list(tally.errors.counts) == list(both(path)[0].errors.counts)
