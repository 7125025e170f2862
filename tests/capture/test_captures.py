"""Captures of real brokers: as many requests as were sent, every byte accounted for, and every frame encoded again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import Request, Response, Undecodable
from kwire.capture.open_capture import open_packets
from kwire.capture.packets.packet_headers import parse_segment
from kwire.capture.packets.tcp_segment import Segment
from kwire.protocol import Token
from kwire.protocol.frames.stream_faults import BareToken, BegunBefore, CutShort, Fragment, NoFrame, NotKafka
from tests.capture.building import unaccounted
from tests.conftest import SHARED, each_of

CAPTURES = SHARED / "captures"
SUMMARIES = sorted(CAPTURES.glob("*.summary.json"))
FILES = [
    (name, summary) for path in SUMMARIES for name, summary in json.loads(path.read_text("utf-8"))["files"].items()
]


def test_there_are_captures(shared: Path) -> None:
    assert len(FILES) > 50


def encoded(result: Request | Response) -> bytes:
    header: Any = result.header
    if isinstance(result, Response):
        return kwire.encode_response(
            result.message, result.codec.version, correlation_id=header.correlation_id, header_tags=header.unknown_tags
        )
    return kwire.encode_request(
        result.message,
        result.api_version,
        correlation_id=header.correlation_id,
        client_id=header.client_id,
        header_tags=header.unknown_tags,
    )


def stream_bytes(path: Path) -> int:
    """The bytes of all streams: of each direction of each connection, those with different sequence numbers."""
    seen: dict[tuple[bytes, int], set[tuple[int, int]]] = {}
    begun: Counter[bytes] = Counter()
    with open_packets(path) as packets:
        for packet in packets:
            segment = parse_segment(packet)
            assert isinstance(segment, Segment)
            if segment.flags & 2:
                begun[segment.key] += 1
            if segment.payload:
                place = segment.key, begun[segment.key]
                seen.setdefault(place, set()).add((segment.sequence, len(segment.payload)))
    return sum(_union(pieces) for pieces in seen.values())


def _union(pieces: set[tuple[int, int]]) -> int:
    """The length of intervals together; no stream here is as long as half the numbers there are."""
    first = min(pieces)[0] if max(pieces)[0] - min(pieces)[0] < 2**31 else min(p for p in pieces if p[0] >= 2**31)[0]
    total, stop = 0, 0
    for start, length in sorted(((sequence - first) % 2**32, length) for sequence, length in pieces):
        total += max(0, start + length - max(start, stop))
        stop = max(stop, start + length)
    return total


@each_of("name, summary", FILES, most=12, ids=[name for name, _ in FILES])
def test_requests_are_as_many_as_were_sent_and_come_back_byte_for_byte(name: str, summary: dict[str, Any]) -> None:
    path = CAPTURES / name
    counted: Counter[str] = Counter()
    responses = tokens = size = 0
    frames = []
    for result in kwire.decode_frames(kwire.read_dump(path)):
        frame = result.frame
        frames.append(frame)
        fault = frame.fault
        size += fault.count or 0 if isinstance(fault, NoFrame) else len(frame.data)
        if isinstance(result, Undecodable):
            # What is cut short because a side went away, and ZooKeeper's streams.
            whole = len(frame.data) == 4 + int.from_bytes(frame.data[:4], "big")
            assert isinstance(fault, NotKafka) or not whole
            continue
        if isinstance(result, Token):
            assert isinstance(fault, BareToken)
            assert result.content.mechanism is not None
            tokens += not result.from_client
            continue
        assert encoded(result) == frame.data
        assert result.faults == ()
        counted[f"{result.api_key}/{result.api_version}"] += isinstance(result, Request)
        responses += isinstance(result, Response)
    assert {key: count for key, count in counted.items() if count} == summary.get("by_api_and_version", {})
    assert responses + tokens == summary.get("responses", 0)
    assert unaccounted(frames) == []
    assert size == stream_bytes(path)


@pytest.mark.parametrize("run", ["kafka-3.9-zk.begun-in-the-middle.pcapng", "kafka-4.4-kraft.begun-in-the-middle.pcap"])
def test_captures_that_begin_in_the_middle_lose_no_message(shared: Path, run: str) -> None:
    path = shared / "captures" / run
    results = list(kwire.decode_frames(kwire.read_dump(path)))
    faults = [result.frame.fault for result in results if result.frame.fault is not None]
    assert {type(fault) for fault in faults} <= {BegunBefore, CutShort, Fragment}
    assert unaccounted([result.frame for result in results]) == []
    size = sum(len(result.frame.data) for result in results)
    assert size == stream_bytes(path)
    passed = sum(fault.count or 0 for fault in faults if isinstance(fault, Fragment))
    assert passed < size // 100
    decoded = [result for result in results if isinstance(result, Request | Response)]
    assert all(encoded(result) == result.frame.data for result in decoded)
    assert len(decoded) > 0.9 * len(results)
