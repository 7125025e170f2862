"""Captures that are written decode to the frames of those that were read, one by one, in the same order."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import kwire
from kwire import Frame
from kwire.capture.capture_writer import CaptureWriter
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.kafka.captured_frames import build_timed_frames
from kwire.capture.packets.pcap import PcapReader
from kwire.capture.pcap_writer import PcapWriter, TcpWriter
from kwire.protocol import FrameDecoder, Request, Response, Source, Token, Undecodable
from kwire.protocol.frames.stream_faults import BegunBefore, CutShort, Gap, NotKafka
from kwire.redact.redactor import Redactor
from tests.capture.building import Conversation, capture, request, response
from tests.capture.test_damaged_captures import HARMLESS, LATE, LOSSES
from tests.conftest import ROOT, SHARED

CAPTURES = [
    *(SHARED / "captures").glob("*.pcap"),
    *(SHARED / "captures").glob("*.pcapng"),
    ROOT / "fixtures/dumps/kafka-3.9-zk.pcap",
]
QUICK = ("kafka-3.9-zk.pcap", "kafka-3.9-zk.begun-in-the-middle.pcapng", "kafka-3.9-sasl.clients.pcap")
PATHS = [
    pytest.param(path, id=path.name, marks=() if path.name in QUICK else pytest.mark.ci) for path in sorted(CAPTURES)
]
Timed = list[tuple[Frame, int | None]]


def read(path: Path) -> Timed:
    with kwire.open_dump(path) as dump:
        assert dump.captured is not None
        return list(build_timed_frames(dump.captured, ""))


def read_bytes(data: bytes) -> Timed:
    return list(build_timed_frames(FrameExtractor().batches(PcapReader(iter([data]))), ""))


def written(frames: Timed, redact: Callable[[Frame], bytes] | None = None) -> tuple[bytes, CaptureWriter]:
    stream = io.BytesIO()
    writer = CaptureWriter(stream)
    for frame, nanoseconds in frames:
        writer.write(frame, redact and redact(frame), nanoseconds)
    writer.close()
    return stream.getvalue(), writer


def facts(frames: Timed) -> list[tuple[object, ...]]:
    """What must stay of each frame: what it is, its size, its connection, direction and time."""
    decoder = FrameDecoder()
    found: list[tuple[object, ...]] = []
    for frame, nanoseconds in frames:
        if isinstance(frame.fault, NotKafka):
            continue
        result = decoder.decode(frame)
        version = result.api_version if isinstance(result, Request | Response) else None
        error = type(result.error).__name__ if isinstance(result, Undecodable) else None
        source, name = frame.source, result.codec.name if result.codec is not None else None
        ends = source.client, source.broker, source.direction
        found.append((type(result), name, version, error, *ends, nanoseconds, len(frame.data)))
    return found


@pytest.mark.parametrize("path", PATHS)
def test_captures_stay_the_same_frame_by_frame(path: Path) -> None:
    before = read(path)
    data, writer = written(before)
    after = read_bytes(data)
    assert facts(after) == facts(before)
    kept = [frame.data for frame, _ in before if not isinstance(frame.fault, NotKafka)]
    assert [frame.data for frame, _ in after] == kept
    assert all(what.startswith("bytes of ") for what in writer.left_out)


@pytest.mark.parametrize("path", PATHS)
def test_redacted_captures_stay_the_same_frame_by_frame(path: Path) -> None:
    before = read(path)
    assert facts(read_bytes(written(before, Redactor().redact)[0])) == facts(before)


DAMAGES = [*HARMLESS, *LOSSES, *LATE]


@pytest.mark.parametrize("case", DAMAGES, ids=lambda case: "+".join(damage.__name__ for damage in case))
def test_damaged_captures_keep_every_whole_frame(case: tuple[Callable[..., object], ...]) -> None:
    conversations = [Conversation(ports=(50000 + number, 9092)) for number in range(3)]
    for number in range(60):
        conversation = conversations[number % 3]
        (conversation if number >= 3 else conversation.open()).ask(number, size=70)
    segments = sorted(
        (one for conversation in conversations for one in conversation.close().segments),
        key=lambda one: one.nanoseconds or 0,
    )
    for damage in case:
        segments = damage(segments, Random("capture writer"))  # type: ignore[assignment]
    before = read_bytes(capture(segments))
    after = read_bytes(written(before)[0])
    whole, again = ([one.data for one, _ in frames if is_frame(one)] for frames in (before, after))
    assert again == whole
    assert len(whole) > 20
    redacted = read_bytes(written(before, Redactor().redact)[0])
    kinds = [[fact[:3] for fact in facts(frames) if fact[0] is not Undecodable] for frames in (before, redacted)]
    assert kinds[0] == kinds[1]


def is_frame(frame: Frame) -> bool:
    return frame.fault is None or isinstance(frame.fault, CutShort)


def test_a_cut_frame_is_given_out_where_the_connection_ends() -> None:
    first, second = Conversation().open(), Conversation(ports=(50001, 9092)).open()
    first.ask(1).say(0, request(2)).say(1, response(2)[:-5]).close()
    second.now = first.now
    second.ask(3).ask(4)
    before = read_bytes(capture([*first.segments, *second.segments]))
    assert [len(frame.data) for frame, _ in before][3] == len(response(2)) - 5
    assert facts(read_bytes(written(before)[0])) == facts(before)


def test_gaps_stay_of_any_size() -> None:
    source = Source(client="[::1]:5000", broker="[::1]:9092", direction="request", connection=0)
    for count in (1, 70_000, 3 << 20):
        frames: Timed = [(Frame(request(1), source), 1), (Frame(b"", source, fault=Gap(count)), 2)]
        frames.append((Frame(request(2), source), 3))
        after = [frame for frame, _ in read_bytes(written(frames)[0])]
        assert [frame.data for frame in after] == [request(1), b"", request(2)]
        assert (type(after[1].fault), after[1].fault.count) == (Gap, count)  # type: ignore[union-attr]


@pytest.mark.parametrize("first", [0, 2**31 - 70_000, 2**32 - 2, 2**32 - 1, 2**32 - 100_000])
def test_large_frames_over_the_end_of_sequence_numbers(first: int) -> None:
    produce = kwire.messages.ProduceRequest
    topic = produce.TopicProduceData(partition_data=(produce.PartitionProduceData(records=bytes(300_000)),))
    data = kwire.encode_request(produce(acks=1, topic_data=(topic,)), 3, client_id="me")
    stream = io.BytesIO()
    connection = TcpWriter(PcapWriter(stream), ("10.0.0.1", 5000), ("10.0.0.2", 9092), 7, first=first)
    for now in (8, 9):
        connection.send(now, data, by_client=True)
        connection.skip(now, 100_000, by_client=False)
    connection.close()
    after = read_bytes(stream.getvalue())
    assert [(len(frame.data), now) for frame, now in after] == [(len(data), 8), (0, 8), (len(data), 9), (0, 9)]
    assert after[0][0].data == after[2][0].data == data


def test_ports_that_are_used_again_are_another_connection() -> None:
    def source(number: int, direction: str) -> Source:
        return Source(connection=number, client="10.0.0.1:5000", broker="10.0.0.2:9092", direction=direction)

    frames: Timed = []
    for number in range(3):
        frames += [
            (Frame(request(7), source(number, "request")), 5),
            (Frame(response(7), source(number, "response")), 6),
        ]
    after = read_bytes(written(frames)[0])
    assert [frame.source.connection for frame, _ in after] == [0, 0, 1, 1, 2, 2]
    assert all(
        isinstance(result, Request | Response) for result in map(FrameDecoder().decode, (one for one, _ in after))
    )


def test_what_cannot_be_kept_is_counted() -> None:
    source = Source(client="10.0.0.1:5000", broker="10.0.0.2:9092", direction="request")
    frames: Timed = [
        (Frame(request(1)), None),
        (Frame(request(1), Source(client="a.host:5000", broker="10.0.0.2:9092", direction="request")), None),
        (Frame(b"GET", source, fault=NotKafka(300, found="HTTP")), None),
        (Frame(request(1), source), None),
        (Frame(b"", source, fault=BegunBefore()), None),
        (Frame(b"", source, fault=Gap(1 << 40)), None),
        (Frame(request(2), replace(source, direction="up")), None),
    ]
    _, writer = written(frames)
    assert writer.connections == 1
    assert dict(writer.left_out) == {
        "frames that name no connection (--raw writes them)": 3,
        "gaps of more than 1 GiB": 1,
        "bytes of HTTP": 300,
        "streams that begin in the middle of a connection": 1,
    }


def test_times_keep_their_nanoseconds_and_floats_their_microseconds() -> None:
    source = Source(client="10.0.0.1:5000", broker="10.0.0.2:9092", direction="request", time=1700000000.123457)
    frames: Timed = [(Frame(request(1), source), None), (Frame(request(2), source), 1700000000123456789)]
    assert [now for _, now in read_bytes(written(frames)[0])] == [1700000000123457000, 1700000000123456789]


@pytest.mark.parametrize("time", [-1.0, 2.0**32, 1e300, float("nan"), float("inf"), -float("inf")])
def test_times_that_pcap_cannot_hold_are_counted(time: float) -> None:
    sources = [
        Source(client="10.0.0.1:5000", broker="10.0.0.2:9092", direction="request", time=each)
        for each in (7.5, time, 2.0**32 - 1)
    ]
    data, writer = written([(Frame(request(number), source), None) for number, source in enumerate(sources)])
    assert [now for _, now in read_bytes(data)] == [7_500_000_000, 7_500_000_000, (2**32 - 1) * 10**9]
    assert dict(writer.left_out) == {"times before 1970 or after 2106": 1}


@pytest.mark.parametrize(
    "end",
    ["", "10.0.0.1", "10.0.0.1:", "10.0.0.1:65536", "10.0.0.1:-1", "a.host:1", ":5", "10.0.0.1:x", "::1"],
)
def test_ends_that_are_no_address_are_counted(end: str) -> None:
    source = Source(client=end, broker="10.0.0.2:9092", direction="request")
    assert written([(Frame(request(1), source), None)])[1].left_out.total() == 1


def test_tokens_stay_tokens() -> None:
    frames = read(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")
    assert not any(fact[0] is Token for fact in facts(frames))
    sasl = SHARED / "captures/kafka-3.9-sasl.clients.pcap"
    if sasl.exists():
        assert sum(fact[0] is Token for fact in facts(read_bytes(written(read(sasl), Redactor().redact)[0]))) == 14
