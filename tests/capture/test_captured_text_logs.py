"""What is decoded is what the brokers themselves logged in text (Kafka 0.8 to 2.4): the headers."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from typing import Any

import kwire
from kwire.protocol.frame_encoder import encode_result
from kwire.statistics.latencies import Latencies
from kwire.statistics.traffic import Traffic
from tests.capture.captured import CAPTURES, Exchange, ends_of, exchanges, log_of
from tests.capture.test_captured_logs import TEXT_RUNS
from tests.conftest import each_of

WITH_BYTES = {"Produce", "JoinGroup", "SyncGroup", "SaslAuthenticate"}


def test_there_are_logs_in_text(shared: object) -> None:
    assert TEXT_RUNS


def header_of(one: Exchange) -> tuple[Any, ...]:
    header = one.request.header
    # The log writes a client id that is not there as an empty one, or as null.
    client = getattr(header, "client_id", None) or None
    return header.request_api_key, header.request_api_version, header.correlation_id, client


@each_of("run", TEXT_RUNS, most=3)
def test_every_header_that_was_logged_was_on_the_wire(run: str) -> None:
    by_ends: defaultdict[Any, deque[Exchange]] = defaultdict(deque)
    anywhere: Counter[tuple[Any, ...]] = Counter()
    for one in exchanges(run):
        by_ends[one.ends, header_of(one)].append(one)
        anywhere[header_of(one)] += 1
    logged: Counter[tuple[Any, ...]] = Counter()
    for entry in log_of(run):
        text = re.sub(r"^Some\((.*)\)$", r"\1", entry.get("client_id") or "")  # as Scala writes what may not be there
        client = None if text in ("null", "", "None") else text
        header = entry["api_key"], entry["api_version"], entry["correlation_id"], client
        ends = ends_of(entry.get("connection"))
        if ends is not None:
            assert by_ends[ends, header], (ends, header)
            by_ends[ends, header].popleft()
        logged[header] += 1
    left = anywhere - logged
    assert logged - anywhere == {}
    told = json.loads((CAPTURES / f"{run}.summary.json").read_text("utf-8"))["capture_as_a_whole"]["request_log"]
    assert logged.total() == told["in_both"]
    only: Counter[str] = Counter()
    for header, count in left.items():
        only[f"{header[0]}/{header[1]}"] += count
    assert only == told["only_on_wire"]


@each_of("run", TEXT_RUNS, most=3)
def test_requests_and_answers_encode_to_the_bytes_of_the_wire(run: str) -> None:
    for one in exchanges(run):
        for result in (one.request, one.response):
            assert result is None or encode_result(result) == result.frame.data


@each_of("run", TEXT_RUNS, most=2)
def test_latencies_of_a_log_are_its_total_times(run: str) -> None:
    traffic = Traffic(["api"], latencies=Latencies(0))
    frames = list(kwire.read_dump(CAPTURES / f"{run}.requests.jsonl.gz"))
    for frame in frames:
        traffic.add(frame)
    assert traffic.latencies is not None
    measured = Counter(latency for times in traffic.latencies.times.values() for latency in times)
    totals = Counter[int]()
    unanswered = Counter[int]()
    for frame in frames:
        times = frame.broker_times
        if times is not None and times.total is not None:
            (totals if frame.source.direction == "response" else unanswered)[round(times.total * 1e9)] += 1
    logged = Counter(
        round(float(entry["text"].rpartition(";totalTime:")[2].split(",")[0]) * 1000) * 1000 for entry in log_of(run)
    )
    assert measured == totals
    assert totals + unanswered == logged


def in_any_order(value: Any) -> str:
    """Return the text of plain values without the order of arrays: brokers log those of maps in the order of hashes."""
    if isinstance(value, dict):
        return repr({name: in_any_order(member) for name, member in value.items()})
    return repr(sorted(map(in_any_order, value))) if isinstance(value, list) else repr(value)


def requests_of(results: Iterable[Any]) -> Counter[str]:
    return Counter(
        f"{result.api_name} {in_any_order(result.codec.to_json(result.message))}"
        for result in results
        if isinstance(result, kwire.Request) and result.api_name not in WITH_BYTES
    )


@each_of("run", TEXT_RUNS, most=2)
def test_requests_in_a_log_are_those_of_the_wire(run: str) -> None:
    """All but records and members' metadata, of which the log has the size only."""
    logged = requests_of(kwire.decode_frames(kwire.read_dump(CAPTURES / f"{run}.requests.jsonl.gz")))
    assert logged - requests_of(one.request for one in exchanges(run)) == {}
    assert logged or run == "kafka-0.8.2"  # its log has no bodies that can be read back
