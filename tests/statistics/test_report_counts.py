"""A dump is counted in one pass."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import kwire
from kwire import Frame, Source
from kwire.statistics.report_counts import SAMPLES, ReportCounts
from tests.conftest import ROOT
from tests.protocol.test_frame_decoder import request, response

M: Any = kwire.messages


def frame(data: bytes, time: float | None = None, client: str = "10.0.0.1:1000", number: int = 0) -> Frame:
    return Frame(data, Source("x.pcap", number, number * 100, time, client, "10.0.0.9:9092"))


def tallied(frames: Iterable[Frame]) -> ReportCounts:
    tally = ReportCounts()
    for result in kwire.decode_frames(frames):
        tally.add(result)
    return tally


def refused(correlation_id: int) -> bytes:
    topic = M.MetadataResponse.MetadataResponseTopic(error_code=3, name="t")
    return kwire.encode_response(M.MetadataResponse(topics=(topic,)), 1, correlation_id=correlation_id)


def test_a_real_dump_is_counted() -> None:
    tally = tallied(kwire.read_dump(ROOT / "fixtures/dumps/kafka-3.9-zk.bin"))
    assert (tally.frames, tally.size, dict(tally.kinds)) == (6, 818, {"request": 3, "response": 3})
    assert tally.versions.counts == {
        ("LeaderAndIsr", "1", 7): 1,
        ("UpdateMetadata", "1", 8): 1,
        ("Metadata", "lab-producer", 12): 1,
    }
    assert tally.errors.counts == {("Metadata", "topics.partitions.error_code", 5): 1}
    assert tally.first_errors == {("Metadata", "topics.partitions.error_code", 5): "frame 5 at 580"}
    assert (tally.timed, list(tally.timeline.rows())) == (0, [])


def test_latency_is_from_request_to_response_of_one_connection() -> None:
    other = "10.0.0.2:1000"
    tally = tallied(
        [
            frame(request(1), 10.0),
            frame(request(1), 10.5, other),
            frame(request(2), 11.0),
            frame(response(1), 11.25),
            frame(refused(2), 11.5),
            frame(response(1), 12.5, other),
        ]
    )
    took = tally.apis["Metadata"].durations
    assert (took.count, took.least, took.most) == (3, 0.5, 2.0)
    assert tally.connections.counts == {("10.0.0.1:1000", "10.0.0.9:9092"): 4, (other, "10.0.0.9:9092"): 2}
    assert (tally.apis["Metadata"].errors, tally.timed) == (1, 6)


def test_equal_correlation_ids_pair_in_their_order() -> None:
    tally = tallied([frame(request(0), 1.0), frame(request(0), 2.0), frame(response(0), 4.0), frame(response(0), 7.0)])
    took = tally.apis["Metadata"].durations
    assert (took.count, took.least, took.most) == (2, 3.0, 5.0)


def test_an_answer_before_its_question_is_no_latency() -> None:
    tally = tallied([frame(request(1), 10.0), frame(response(1), 9.0)])
    assert (tally.backwards, tally.apis["Metadata"].durations.count) == (1, 0)


def test_overtaken_requests_are_unanswered() -> None:
    tally = tallied([frame(request(70001), 1.0), frame(request(70002), 2.0), frame(response(70002), 3.0)])
    assert (tally.unanswered, tally.apis["Metadata"].durations.most) == (1, 1.0)


def test_what_does_not_decode_is_counted_and_some_of_it_kept() -> None:
    bad = bytes.fromhex("00000004 270f0001")
    tally = tallied(frame(bad, number=number) for number in range(SAMPLES + 50))
    assert dict(tally.problems) == {"UnknownApi": SAMPLES + 50}
    assert len(tally.samples) == SAMPLES
    assert tally.samples[3][:2] == ("frame 3 at 300", 8)


@pytest.mark.ci  # tracemalloc makes it slow
@pytest.mark.parametrize("kind", ["bad", "good", "clients"])
def test_memory_is_flat(kind: str) -> None:
    def frames(count: int) -> Iterator[Frame]:
        for number in range(count):
            if kind == "bad":
                yield frame(bytes.fromhex("00000004 270f0001"), number / 100)
                continue
            client = f"{number % 2000}-{'x' * 300}" if kind == "clients" else "me"
            correlation_id = 70_000 + number  # the engine keeps the integers up to 65,536
            yield frame(request(correlation_id, client_id=client), number / 100)
            yield replace(frame(response(correlation_id)), source=frame(b"", number / 100 + 0.001).source)

    tallied(frames(10))
    gc.collect()
    gc.freeze()  # else what other tests left delays the collection of ours
    tracemalloc.start()
    tallied(frames(2500))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    tallied(frames(7500))
    _, later = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert later < peak * 1.3 + 100_000
