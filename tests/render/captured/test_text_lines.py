"""Lines of text that batches write straight from bytes are those of decoded frames."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import kwire
from kwire import FrameDecoder
from kwire.capture.kafka.captured_frames import TcpEnds
from kwire.codecs import native
from kwire.codecs.native import ENGINE, FrameBatch
from kwire.protocol.frames.captured_frame import SECOND, CapturedFrame, first_numbers, make_frame
from kwire.protocol.message_summary import MessageSummary
from kwire.redact.masking import mask
from kwire.render.captured.text_lines import CapturedLines
from kwire.render.colours import Style
from kwire.render.frame_line import FrameLines
from tests.seeds import named, seeded

M: Any = kwire.messages
TIME = 1_700_000_000_123_456_789
NAMES = [*(f"topic-{number}" for number in range(60)), "orders\u202e", "ключ", "a" * 249, "tab\there"]


def request(message: Any, version: int, client: str = "me") -> tuple[bool, bytes]:
    return True, kwire.encode_request(message, version, correlation_id=7, client_id=client)


def response(message: Any, version: int) -> tuple[bool, bytes]:
    return False, kwire.encode_response(message, version, correlation_id=7)


def check_lines(frames: list[tuple[bool, bytes]], *, width: int = 80, waits: tuple[int, ...] = (1_000,)) -> str:
    """Compare the lines of a batch with those of decoded frames, and return them; `waits` are between two frames."""
    ends = TcpEnds(7, bytes.fromhex("0a000001 0a000002 1388 2384"), 0)
    batch, careful, wanted, now = FrameBatch(), FrameDecoder(), "", TIME
    style = Style(False, width)
    form, quick_form = FrameLines(MessageSummary(), style), FrameLines(MessageSummary(), style)
    for number, (is_request, data) in enumerate(frames):
        now += waits[number % len(waits)]
        captured = CapturedFrame(ends, is_request, number, now, data, None, *first_numbers(data))
        batch.append(captured)
        wanted += form.text(mask(careful.decode(make_frame(captured, "x", number))))
    writer = CapturedLines(FrameDecoder(), "x", quick_form)
    left = native.path_counts()["lines"][1] if ENGINE == "native" else 0
    found = "".join(text for text, _ in writer.written(batch, 0, lambda result: quick_form.text(mask(result))))
    assert found == wanted
    assert quick_form.summary.names_by_id == form.summary.names_by_id
    if ENGINE == "native":
        assert native.path_counts()["lines"][1] == left
    return found


def metadata(rng: Random, count: int) -> Any:
    """Return a response with topics, some of which come again, have no id, or have an error."""
    topic, partition = M.MetadataResponse.MetadataResponseTopic, M.MetadataResponse.MetadataResponsePartition
    topics = []
    for _ in range(count):
        number = rng.randrange(len(NAMES))
        codes = [rng.choice([0, 0, 3, 5, rng.randrange(-1, 200)]) for _ in range(rng.randrange(3))]
        topics.append(
            topic(
                name=rng.choice([NAMES[number], None, ""]) if rng.random() < 0.2 else NAMES[number],
                topic_id=number.to_bytes(16, "big") if rng.random() < 0.8 else bytes(16),
                error_code=rng.choice([0, 0, 0, 29]),
                partitions=[partition(error_code=code) for code in codes],
            )
        )
    return M.MetadataResponse(topics=topics)


@pytest.mark.parametrize("width", [20, 80, 1_000, 1 << 62])
def test_any_number_of_topics_ids_and_errors(width: int) -> None:
    rng = seeded(f"topics of lines {width}")
    for count in (0, 1, 2, 16, 17, 31, 32, 33, 34, 120):
        ids = [rng.randrange(len(NAMES) + 9).to_bytes(16, "big") for _ in range(count)]
        topics = [M.FetchRequest.FetchTopic(topic_id=topic_id) for topic_id in ids]
        fetch = request(M.FetchRequest(topics=topics), 13)
        frames = [fetch, request(M.MetadataRequest(topics=None), 12), response(metadata(rng, count), 12)]
        with named(count):
            check_lines([fetch, response(M.FetchResponse(), 13), *frames[1:], fetch], width=width)


def test_more_kinds_of_errors_than_are_counted_one_by_one() -> None:
    partition = M.MetadataResponse.MetadataResponsePartition
    for count in (31, 32, 33, 90):
        partitions = [partition(error_code=code % count + 1) for code in range(2 * count)]
        topic = M.MetadataResponse.MetadataResponseTopic(name="t", partitions=partitions)
        frames = [request(M.MetadataRequest(topics=None), 12), response(M.MetadataResponse(topics=[topic]), 12)]
        assert f"{kwire.values.ErrorCode(1)} x2" in check_lines(frames, width=10_000)


def test_latencies_of_every_size() -> None:
    rng, frames = seeded("latencies of lines"), []
    edges = (999, 1_000, 1_050, 1_150, 9_949, 9_950, 9_951, 99_500, 999_499, 999_500, 1_050_000, 9_950_000, 10_500_000)
    waits = [*range(40), *edges, *(edge + 50 for edge in edges), 86_400_000_000]
    waits += [rng.randrange(10 ** rng.randrange(1, 12)) for _ in range(2_000)]
    waits += [round(wait, -2) + 50 for wait in waits[-500:]]
    for _ in waits:
        frames += [request(M.MetadataRequest(topics=None), 1), response(M.MetadataResponse(), 1)]
    check_lines(frames, waits=tuple(time for wait in waits for time in (SECOND // 7, wait * 1_000)))


def test_messages_with_secrets_are_written_without_spans() -> None:
    message = M.DescribeConfigsResponse
    config = message.DescribeConfigsResourceResult(name="ssl.keystore.password", value="wonder")
    frames = [
        request(M.DescribeConfigsRequest(resources=[]), 4),
        response(message(results=[message.DescribeConfigsResult(configs=[config], error_code=3)]), 4),
        request(M.AlterUserScramCredentialsRequest(upsertions=()), 0),
        response(M.AlterUserScramCredentialsResponse(), 0),
        request(M.CreateTopicsRequest(topics=[M.CreateTopicsRequest.CreatableTopic(name="orders")]), 5),
    ]
    lines = check_lines(frames, width=120)
    assert "wonder" not in lines
    assert "!UNKNOWN_TOPIC_OR_PARTITION" in lines
    assert lines.endswith("me  orders\n")
