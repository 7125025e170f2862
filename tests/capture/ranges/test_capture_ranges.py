"""Ranges of a capture, each decoded alone from the states where it starts, give the frames of the whole capture."""

from __future__ import annotations

import pickle
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.kafka.captured_frames import build_frames
from kwire.capture.ranges.boundary_states import dump_state, load_state
from kwire.capture.ranges.capture_ranges import CaptureRange, capture_class, find_ranges, open_range
from kwire.capture.ranges.frame_consumer import FrameConsumer
from kwire.codecs.native import ENGINE
from kwire.errors import DumpError
from kwire.protocol.connections.decoded_connection import DecodedConnection
from kwire.protocol.frames.captured_frame import CapturedBatch, CapturedFrame, NamedEnds, first_numbers
from kwire.protocol.headers.apis import Apis
from kwire.schema.catalog import catalog_for
from tests.arrow.pieces import cut_at_packets
from tests.capture.building import Conversation, interface, packet_of, section
from tests.capture.building import enhanced as packet_block
from tests.capture.damaged_packets import damaged_capture
from tests.conftest import ROOT, SHARED, each_of
from tests.seeds import TRIES, named, seeded

CAPTURES = sorted((SHARED / "captures").glob("*.pcap*"))
ENGINES = ["python"] if ENGINE != "native" else ["native", "python"]


class Counter(FrameConsumer):
    """Counts frames."""

    def __init__(self) -> None:
        self.count = 0

    @property
    def apis(self) -> Apis:
        return Apis(catalog_for())

    @property
    def state(self) -> Any:
        return self.count

    def go_on(self, state: Any) -> None:
        self.count = state

    def pass_over(self, batch: CapturedBatch) -> None:
        self.count += len(batch)


def outcomes(batches: list[CapturedBatch]) -> list[object]:
    """All that frames say, in a form that can be compared: errors are equal only to themselves."""
    frames = build_frames(batches, "x")
    return [(frame.data, frame.source, type(frame.fault), str(frame.fault), frame.closed) for frame in frames]


def read_whole(path: Path, engine: str) -> tuple[list[object], list[str]]:
    data = path.read_bytes()
    reader = capture_class(data)
    assert reader is not None
    extractor = FrameExtractor(str(path), engine=engine)
    found = outcomes(list(extractor.batches(reader(iter([data]), str(path), looks_ahead=True))))
    return found, extractor.remarks


def read_in_ranges(path: Path, size: int, engine: str) -> tuple[list[object], list[str], list[CaptureRange]]:
    first = FrameExtractor(str(path), engine=engine)
    parts = list(find_ranges([str(path)], first, Counter(), size))
    batches = list[CapturedBatch]()
    for part in map(pickle.loads, map(pickle.dumps, parts)):  # as another process gets them
        counter = Counter()
        count = sum(map(len, batches))
        with open_range(part, FrameExtractor(str(path), engine=engine), counter) as found:
            assert counter.count == count
            batches += found
    return outcomes(batches), first.remarks, parts


@each_of("path", CAPTURES, most=4, ids=[path.name for path in CAPTURES])
def test_connections_continue_from_file_to_file(path: Path, tmp_path: Path) -> None:
    if path.suffix != ".pcap":
        pytest.skip("only pcap is cut at packets")
    data, names = path.read_bytes(), cut_at_packets(path, tmp_path, 5)
    paths = [str(name) for name in names]
    for engine in ENGINES:
        first = FrameExtractor("x", engine=engine)
        parts = list(find_ranges(paths, first, Counter(), len(data) // 17))
        assert [part.path for part in parts if part.ends_file] == paths
        assert len(parts) > 10
        batches = list[CapturedBatch]()
        for part in map(pickle.loads, map(pickle.dumps, parts)):
            with open_range(part, FrameExtractor("x", engine=engine), Counter()) as found:
                batches += found
        assert outcomes(batches) == read_whole(path, engine)[0]


def test_a_file_that_cannot_be_read_to_its_end_is_followed_by_the_next(tmp_path: Path) -> None:
    conversation = Conversation().open()
    for number in range(4):
        conversation.ask(number)
    blocks = [packet_block(packet_of(segment), ticks=tick) for tick, segment in enumerate(conversation.segments)]
    large = pack("<III", 0xBAD, 1 << 25, 0)  # a block that is longer than any packet, and ends here
    paths = [str(tmp_path / name) for name in ("1.pcapng", "2.pcapng")]
    for path, some, end in zip(paths, (blocks[:6], blocks[6:]), (large, b""), strict=True):
        Path(path).write_bytes(section() + interface() + b"".join(some) + end)
    for size in (100, 10_000):
        batches = list[CapturedBatch]()
        for part in find_ranges(paths, FrameExtractor("x"), Counter(), size):
            with open_range(part, FrameExtractor("x"), Counter()) as found:
                batches += found
        frames = list(build_frames(batches, "x"))
        faults = [frame.fault for frame in frames if frame.fault is not None]
        assert [type(fault).__name__ for fault in faults] == ["BrokenDump"]
        assert len(frames) == 1 + 2 * 4


def check(path: Path, size: int, engine: str = ENGINE) -> list[CaptureRange]:
    """Compare ranges of a size with the whole capture."""
    try:
        expected = read_whole(path, engine)
    except DumpError as error:
        with pytest.raises(DumpError) as raised:
            read_in_ranges(path, size, engine)
        assert str(raised.value) == str(error)
        return []
    *found, parts = read_in_ranges(path, size, engine)
    assert tuple(found) == expected
    assert [part.stop for part in parts[:-1]] == [part.start for part in parts[1:]]
    return parts


@each_of("path", CAPTURES, most=12, ids=[path.name for path in CAPTURES])
def test_ranges_of_captures_give_the_whole(path: Path) -> None:
    for engine in ENGINES:
        assert len(check(path, 1 + path.stat().st_size // 7, engine)) > 3


@given(size=st.integers(100, 30_000))
def test_a_capture_is_cut_anywhere(size: int) -> None:
    check(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap", size)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["packets", "file"])
def test_lossy_and_damaged_captures_are_cut_anywhere(tmp_path: Path, engine: str, kind: str) -> None:
    data = (ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").read_bytes()
    rng = seeded(f"ranges {engine} {kind}")
    for number in range(TRIES):
        path, size = tmp_path / f"{number}.pcap", rng.randrange(500, 20_000)
        path.write_bytes(damaged_capture(data, rng) if kind == "packets" else damaged_file(data, rng))
        with named((number, size)):
            check(path, size, engine)


def damaged_file(data: bytes, rng: Random) -> bytes:
    """Return a file some of whose bytes are others, and which may end too early."""
    damaged = bytearray(data[: rng.choice((len(data), len(data) - rng.randrange(1, 100)))])
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(24, len(damaged))
        damaged[at : at + 4] = rng.randbytes(4)
    return bytes(damaged)


@pytest.mark.parametrize("engine", ENGINES)
def test_other_protocols_and_sections_are_cut_anywhere(tmp_path: Path, engine: str) -> None:
    conversations = [Conversation(ports=(50_000 + number, 9092)).open() for number in range(3)]
    for number in range(40):
        conversations[0].ask(number, 900)
        conversations[1].say(number % 2, b"\x16\x03\x01" + bytes([number]) * 400)
        conversations[2].say(number % 2, b"GET / HTTP/1.1\r\n\r\n")
    segments = [segment for conversation in conversations for segment in conversation.segments]
    blocks = b"".join(packet_block(packet_of(segment), ticks=number) for number, segment in enumerate(segments))
    path = tmp_path / "sections.pcapng"
    path.write_bytes(section() + interface() + blocks + section() + interface() + interface() + blocks)
    for size in (700, 5000, 100_000):
        check(path, size, engine)


def test_a_state_keeps_what_a_connection_knows() -> None:
    apis = Apis(catalog_for())
    connection = DecodedConnection(apis)
    asked = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1, correlation_id=7, client_id="me")
    connection.receive(asked, from_client=True, time=5)
    connection.meet(3, "me")
    connection.authenticating = connection.lossy = True
    other: DecodedConnection = load_state(dump_state(connection, apis, ()), apis, ())
    assert [(one.correlation_id, one.time, one.client_id) for one in other.in_flight] == [(7, 5, "me")]
    assert (other.authenticating, other.lossy, other.client, other.apis is apis) == (
        True,
        True,
        connection.client,
        True,
    )
    answer = kwire.encode_response(kwire.messages.MetadataResponse(controller_id=5), 1, correlation_id=7)
    header = other.receive(answer, from_client=False)
    assert header.request is not None and header.request.client_id == "me"


def test_a_request_in_flight_takes_few_bytes() -> None:
    apis = Apis(catalog_for())
    connection = DecodedConnection(apis)
    sizes = []
    for number in range(200):
        message = kwire.messages.MetadataRequest(topics=None)
        request = kwire.encode_request(message, 1, correlation_id=number, client_id="me")
        time = 1_700_000_000_000_000_000 + number
        ends = NamedEnds("", "", 0)
        connection.pair(CapturedFrame(ends, True, 0, time, request, None, *first_numbers(request)))
        sizes.append(len(dump_state(connection, apis, ())))
    assert (sizes[-1] - sizes[99]) / 100 < 60
