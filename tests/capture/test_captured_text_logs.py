"""What is decoded is what the brokers themselves logged in text (Kafka 0.8 to 2.4): the headers."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict, deque
from typing import Any

from kwire.protocol.frame_encoder import encode_result
from tests.capture.captured import CAPTURES, Exchange, ends_of, exchanges, log_of
from tests.capture.test_captured_logs import TEXT_RUNS
from tests.conftest import each_of


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
