"""The engine finds the frames after a gap that the reference finds, with the same faults and budgets."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

import kwire
from kwire.capture.kafka import connection_frames, frame_recognition, frame_search, frame_splitter
from kwire.capture.kafka.connection_frames import KafkaConnection
from kwire.capture.kafka.frame_recognition import FrameRecogniser
from kwire.capture.tcp.connection import Portion, StreamGap, Unseen
from kwire.codecs import native
from kwire.protocol.frames.captured_frame import CapturedFrame
from tests.conftest import ROOT
from tests.seeds import TRIES, seeded

DUMPS = ROOT / "fixtures/dumps"
HEAD = bytes.fromhex("0003 000c 00000001")
KEY = bytes(8) + b"\xc0\x02\x23\x84"

pytestmark = pytest.mark.skipif(native.ENGINE != "native", reason="the native engine does not run")


def sent(rng: Random) -> list[tuple[bool, bytes]]:
    """The frames of all connections of a capture, in order, some of them changed."""
    frames = [
        (frame.source.direction == "request", frame.data) for frame in kwire.read_dump(DUMPS / "kafka-3.9-zk.pcap")
    ]
    start = rng.randrange(len(frames))
    return [(is_request, altered(data, rng)) for is_request, data in frames[start : start + 150]]


def altered(data: bytes, rng: Random) -> bytes:
    """The frame; or with other bytes, as another frame's end, with a size that is impossible, or no frame."""
    way = rng.random()
    if way < 0.9:
        return data
    at = rng.randrange(len(data))
    if way < 0.93:
        return data[:at] + rng.randbytes(rng.choice((0, 1, 4))) + data[at + 1 :]
    if way < 0.95:
        return rng.choice((b"\xff", b"\0\0\0\2", b"\x06\x90\0\0", bytes(4))) + data[4:]
    if way < 0.97:
        return rng.randbytes(rng.choice((1, 7, 30, 2000)))
    return bytes(rng.choice((4, 12, 100)))


def events(connection: Any, rng: Random) -> Iterator[Portion | StreamGap | Unseen]:
    """Portions of both streams, of which some are missing."""
    offsets, now = [0, 0], 1_700_000_000_000_000_000
    share = rng.choice((0.0, 0.05, 0.3))
    for is_request, data in sent(rng):
        side = 0 if is_request else 1
        size = rng.choice((1448, 1448, 100, 13))
        for start in range(0, len(data), size):
            part, now = data[start : start + size], now + 1000
            if rng.random() < share:
                count = rng.choice((len(part), len(part), None))
                yield StreamGap(connection, side, offsets[side], now, count)
                offsets[side] += len(part) if count else 0
            elif rng.random() < share / 10:
                yield Unseen(connection, side, offsets[side], now)
            else:
                yield Portion(connection, side, offsets[side], now, part)
                offsets[side] += len(part)


def what(captured: list[CapturedFrame]) -> list[object]:
    return [(*frame[1:5], type(frame.fault), str(frame.fault), *frame[6:]) for frame in captured]


def state_of(connection: KafkaConnection) -> list[object]:
    recogniser = connection.recogniser
    return [
        connection.buffered,
        connection.is_at_frames,
        connection.expected(1000),
        connection.newest,
        connection.answered,
        recogniser.proofs,
        max(recogniser.looks, 0),
    ]


def continued(connection: KafkaConnection) -> KafkaConnection:
    """The connection as another process has it."""
    recogniser, shared = connection.recogniser, connection.connection
    connection.recogniser = connection.connection = None  # type: ignore[assignment]
    copy = pickle.loads(pickle.dumps(connection))
    for each in (connection, copy):
        each.recogniser, each.connection = recogniser, shared
    assert isinstance(copy, KafkaConnection)
    return copy


def compare(rng: Random) -> set[type]:
    """Ask that the engine and the reference find the same in a connection; return the kinds of its faults."""
    faults = set[type]()
    tcp: Any = SimpleNamespace(number=0, key=KEY)
    ours, reference = (
        KafkaConnection(FrameRecogniser(is_native=is_native), tcp, 0, HEAD) for is_native in (True, False)
    )
    if rng.random() < 0.2:
        for connection in (ours, reference):
            connection.begin_late(0, 0)
    for event in events(tcp, rng):
        found, wanted = ours.feed(event), reference.feed(event)
        assert what(found) == what(wanted)
        assert state_of(ours) == state_of(reference)
        faults |= {type(frame.fault) for frame in found}
        if rng.random() < 0.01:
            assert what(ours.stop(None, "why")) == what(reference.stop(None, "why"))
        if rng.random() < 0.02:
            ours = continued(ours)
    assert what(ours.stop(None, "why")) == what(reference.stop(None, "why"))
    assert state_of(ours) == state_of(reference)
    return faults


def test_frames_after_gaps_are_those_of_the_reference() -> None:
    rng = seeded("gaps")
    faults = set[type]()
    for _ in range(60 * TRIES):
        faults |= compare(rng)
    assert len(faults) >= 6


def test_the_engine_has_the_constants_of_the_reference() -> None:
    folder = ROOT / "kwire/codecs/native"
    source = "".join((folder / f"{name}.pxi").read_text("utf-8") for name in ("frame_search", "gap_splitter"))
    rules: dict[str, Any] = {}
    for module in (connection_frames, frame_search, frame_splitter, frame_recognition):
        rules |= vars(module)
    names = {
        "NO_HEADER": "NO",
        "SHORT_HEADER": "SHORT",
        "WEAK_HEADER": "WEAK",
        "FAIR_HEADER": "FAIR",
        "STRONG_HEADER": "STRONG",
        "BYTES_PER_PROOF": "_BYTES_PER_PROOF",
        "BYTES_PER_LOOK": "_BYTES_PER_LOOK",
        "MOST_CANDIDATES": "AT_MOST",
        "MOST_PACKETS": "PACKETS",
    }
    own = {"UNKNOWN_HEADER", "LEAST_SIZE", "MOST_BUDGET"}
    found = re.findall(r"^    ([A-Z_]+) = (-?\d+)(?: << (\d+))?", source, re.MULTILINE)
    compared = [(name, int(number) << int(shift or 0)) for name, number, shift in found if name not in own]
    assert len(compared) == 17
    for name, value in compared:
        assert rules[names.get(name, name)] == value, name
