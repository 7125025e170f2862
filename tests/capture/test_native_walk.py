"""The fast path of packets gives what the general path gives: on all captures, on damaged ones, on any conversation."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

import kwire
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.kafka.captured_frames import build_frames
from kwire.capture.open_capture import open_packets
from kwire.capture.packets.header_layouts import link_layout
from kwire.capture.packets.packet import Interface
from kwire.capture.packets.pcap import PcapReader
from kwire.capture.packets.pcapng import MAGIC, PcapngReader
from kwire.capture.packets.tcp_segment import Segment
from kwire.capture.tcp import connection as tcp_connection
from kwire.capture.tcp import connection_table, stream_reassembly
from kwire.capture.tcp.connection import Ended, Event
from kwire.capture.tcp.connection_table import EVERY, ReassemblyLimits
from kwire.codecs.native import ENGINE
from kwire.errors import DumpError
from kwire.protocol.frames.captured_frame import CapturedBatch
from kwire.statistics.traffic import COLUMNS, Traffic
from tests.capture import building
from tests.capture.building import (
    ACK,
    FIN,
    RST,
    SYN,
    Conversation,
    changed,
    enhanced,
    interface,
    packet_of,
    pcap,
    section,
)
from tests.capture.damaged_packets import damaged_capture
from tests.conftest import ROOT, SHARED, each_of, spread
from tests.seeds import TRIES, seeded

CAPTURES = sorted((SHARED / "captures").glob("*.pcap*"))


def outcomes(frames: Iterator[kwire.Frame]) -> list[object]:
    """All that frames say, in a form that can be compared: errors are equal only to themselves."""
    return [(frame.data, frame.source, type(frame.fault), str(frame.fault), frame.closed) for frame in frames]


def portions(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def reader_of(portions: Iterator[bytes], data: bytes, *, looks_ahead: bool = False) -> PcapReader | PcapngReader:
    return (PcapngReader if data.startswith(MAGIC) else PcapReader)(portions, "x", looks_ahead=looks_ahead)


def generally(data: bytes) -> list[object]:
    """What the reference says."""
    return outcomes(FrameExtractor("x", engine="python").frames(reader_of(iter([data]), data)))


def same(data: bytes, size: int = 1 << 16) -> list[object]:
    found = outcomes(FrameExtractor("x").frames(reader_of(portions(data, size), data)))
    assert found == generally(data)
    assert found == outcomes(FrameExtractor("x").frames(packet for packet in reader_of(iter([data]), data)))
    assert found == outcomes(FrameExtractor("x").frames(reader_of(portions(data, size), data, looks_ahead=True)))
    return found


def file_of(segments: list[Segment], **options: object) -> bytes:
    return pcap([(segment.nanoseconds or 0, packet_of(segment)) for segment in segments], **options)  # type: ignore[arg-type]


@each_of("path", CAPTURES, most=24, ids=[path.name for path in CAPTURES])
def test_captures_read_the_same_either_way(path: Path) -> None:
    with kwire.open_dump(path) as dump, open_packets(path) as packets:
        expected = FrameExtractor(str(path), engine="python").frames(packets)
        assert outcomes(dump.frames) == outcomes(expected)


@each_of("path", CAPTURES, most=24, ids=[path.name for path in CAPTURES])
def test_captures_are_counted_the_same_either_way(path: Path) -> None:
    columns = [column for column in COLUMNS if column not in ("topic", "error")]  # which take bodies
    quick, slow = Traffic(columns), Traffic(columns)
    with kwire.open_dump(path) as dump:
        assert dump.captured is not None
        for batch in dump.captured:
            quick.add_batch(batch)
    for frame in kwire.read_dump(path):
        slow.add(frame)
    assert (quick.frames, quick.bytes, quick.unread, quick.used) == (slow.frames, slow.bytes, slow.unread, slow.used)
    assert len(quick.rows()) == len(slow.rows())
    for one, other in zip(quick.rows(), slow.rows(), strict=True):
        assert one.key == other.key
        assert (one.count.requests, one.count.request_bytes) == (other.count.requests, other.count.request_bytes)
        assert (one.count.responses, one.count.response_bytes) == (other.count.responses, other.count.response_bytes)
        assert one.count.answered == other.count.answered
        # Frames have times as floats, which are exact to some hundred nanoseconds.
        assert one.count.time == pytest.approx(other.count.time, abs=1000 * (1 + one.count.answered))
        assert one.count.longest == pytest.approx(other.count.longest, abs=1e-6)


def conversation(count: int, size: int, port: int = 50_000) -> list[Segment]:
    conversation = Conversation(ports=(port, 9092)).open()
    for number in range(count):
        conversation.ask(number, size)
    return conversation.close().segments


@pytest.fixture
def fed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The packets and the data of streams that take the general path from now on."""
    if ENGINE != "native":
        pytest.skip("the native engine does not run")
    noted, feed, take = list[object](), FrameExtractor.feed, FrameExtractor.take

    def note_segment(streams: FrameExtractor, segment: Segment, out: CapturedBatch) -> None:
        noted.append(segment)
        feed(streams, segment, out)

    def note_event(streams: FrameExtractor, event: Event, out: CapturedBatch) -> None:
        if not isinstance(event, Ended):  # of each connection, at the end
            noted.append(event)
        take(streams, event, out)

    monkeypatch.setattr(FrameExtractor, "feed", note_segment)
    monkeypatch.setattr(FrameExtractor, "take", note_event)
    return noted


@pytest.mark.parametrize("blocks", [False, True])
def test_most_packets_take_the_fast_path(blocks: bool, fed: list[object]) -> None:
    segments = conversation(1000, 1460)
    data = pcapng(segments) if blocks else file_of(segments)
    list(FrameExtractor("x").frames(reader_of(iter([data]), data)))
    assert len(fed) < len(segments) // 30


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("cut", [0, 1, 3, 4, 5, 8, 12, -1])
def test_a_frame_in_two_segments_takes_the_fast_path(cut: int, before: int, fed: list[object]) -> None:
    """Its size may be cut, and another frame may precede it in the first segment."""
    conversation = Conversation().open()
    for number in range(10):
        conversation.ask(number)
    frames = [building.request(number) for number in range(10, 11 + before)]
    stop = len(b"".join(frames[:-1])) + cut % len(frames[-1])
    for part in (b"".join(frames)[:stop], b"".join(frames)[stop:]):
        if part:
            conversation.say(0, part)
    for number in range(10, 11 + before):
        conversation.say(1, building.response(number))
    data = file_of([*conversation.segments, *Conversation(ports=(2, 9092)).open().segments])
    assert len(same(data)) == 20 + 2 * len(frames)
    fed.clear()
    list(FrameExtractor("x").frames(reader_of(iter([data]), data)))
    assert len(fed) == 2  # the first packet and the last


def test_resets_and_repeated_segments_take_the_fast_path(fed: list[object]) -> None:
    """Of a FIN that was sent again, a RST behind it, and a request that was sent again."""
    segments = list[Segment]()
    for port in range(1, 40):
        captured = Conversation(ports=(port, 9092)).open().ask(1, 50).ask(2, 50).close().segments
        request = next(segment for segment in captured if segment.payload)
        fin = next(segment for segment in captured if segment.flags & FIN)
        reset = changed(fin, sequence=fin.sequence + 1, acknowledgement=0, flags=RST)
        segments += [*captured[: captured.index(fin)], request, fin, fin, reset]
    data = file_of(segments)
    found = outcomes(FrameExtractor("x").frames(reader_of(iter([data]), data)))
    assert len(fed) <= 2  # the first packet, and the last
    assert len(found) == 39 * 4
    assert found == generally(data)


def test_packets_at_the_ends_of_portions_take_the_fast_path_of_files(fed: list[object]) -> None:
    data = file_of(conversation(100, 1460))
    list(FrameExtractor("x").frames(reader_of(portions(data, 4000), data, looks_ahead=True)))
    assert len(fed) <= 2


LINKS = {  # link type -> what stands in front of IPv4
    1: bytes(12) + b"\x08\x00",
    113: bytes(14) + b"\x08\x00",
    276: b"\x08\x00" + bytes(18),
    101: b"",
    0: b"\x02\0\0\0",
}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_all_link_types_and_byte_orders(link: int, order: str, nanoseconds: bool) -> None:
    packets = [(s.nanoseconds or 0, LINKS[link] + packet_of(s)[14:]) for s in conversation(20, 30)]
    found = same(pcap(packets, link=link, order=order, nanoseconds=nanoseconds))
    assert len(found) == 40
    assert link_layout(Interface(link, 1000))


def six(segment: Segment) -> bytes:
    """The segment over IPv6."""
    body = packet_of(segment)[34:]
    ends = b"".join(bytes(12) + segment.key[start : start + 4] for start in (0, 4))
    return building.ethernet(building.ipv6(body)[:8] + ends + body, b"\x86\xdd")


def test_ipv6_and_both_versions_in_turn() -> None:
    segments = conversation(300, 50)
    assert len(same(pcap([(s.nanoseconds or 0, six(s)) for s in segments]))) == 600
    assert len(same(pcap([(s.nanoseconds or 0, six(s)[14:]) for s in segments], link=101))) == 600
    both = [(s.nanoseconds or 0, packet) for s in segments for packet in (packet_of(s), six(s))]
    assert len(same(pcap(both))) == 1200


RESOLUTIONS = {  # if_tsresol -> ticks in a second
    b"": 10**6,
    b"\x03": 10**3,
    b"\x06": 10**6,
    b"\x09": 10**9,
    b"\x0c": 10**12,
    b"\x94": 1 << 20,
    b"\xbf": 1 << 63,
}


def pcapng(segments: list[Segment], order: str = "<", resolution: bytes = b"", link: int = 1, offset: int = 0) -> bytes:
    """The segments in a pcapng file, with what other blocks there are in between."""
    ticks = RESOLUTIONS[resolution]
    options = struct.pack(order + "HHqHHB3x", 14, 8, offset, 9, 1, resolution[0]) if resolution else b""
    out = section(order) + interface(105, order) + interface(link, order, options)
    for number, segment in enumerate(segments):
        time = ((segment.nanoseconds or 0) - offset * 10**9) * ticks // 10**9
        out += enhanced(LINKS[link] + packet_of(segment)[14:], time & (1 << 64) - 1, 1, order)
        if number % 40 == 30:
            out += building.block(5, bytes(8), order)
    return out


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("resolution", RESOLUTIONS)
@pytest.mark.parametrize("offset", spread([3600, 0, -3600], 1))
def test_pcapng_of_both_orders_and_all_resolutions(order: str, resolution: bytes, offset: int) -> None:
    segments = conversation(60, 30)
    data = pcapng(segments, order, resolution, offset=offset if resolution else 0)
    assert len(same(data)) == 120
    assert same(data + pcapng(segments, "<" if order == ">" else ">")) == same(data + pcapng(segments, order))


@pytest.mark.parametrize("link", LINKS)
def test_pcapng_of_all_link_types(link: int) -> None:
    assert len(same(pcapng(conversation(20, 30), link=link), 999)) == 40


def test_damaged_pcapng_reads_the_same() -> None:
    whole = pcapng(interleaved(700))
    rng = seeded("damaged pcapng")
    for _ in range(60 * TRIES):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(100, len(data))
            data[place : place + rng.choice((0, 1, 4))] = rng.randbytes(rng.choice((0, 1, 4)))
        same(bytes(data))


def test_a_vlan_tag_and_unknown_links_go_the_general_way() -> None:
    packets = [(s.nanoseconds or 0, b"\0" * 12 + b"\x81\0\0\x05" + packet_of(s)[12:]) for s in conversation(20, 40)]
    assert len(same(pcap(packets))) == 40
    assert link_layout(Interface(105, 1000)) is None


@pytest.mark.parametrize("size", [1, 13, 100, 5000])
def test_files_come_in_portions_of_any_size(size: int) -> None:
    same(file_of(conversation(30, 70)), size)


def test_what_is_said_is_given_out_before_more_is_read() -> None:
    data = file_of(conversation(3, 1460))
    read = []

    def slowly() -> Iterator[bytes]:
        for portion in portions(data, 300):
            read.append(portion)
            yield portion

    batches = FrameExtractor("x").batches(PcapReader(slowly()))
    next(batches)
    assert len(b"".join(read)) < 900


def test_bytes_behind_a_packet_are_not_its_own() -> None:
    """Ethernet fills up short packets."""
    packets = [(s.nanoseconds or 0, packet_of(s).ljust(60, b"\xee")) for s in conversation(20, 1460)]
    assert same(pcap(packets)) == generally(file_of(conversation(20, 1460), nanoseconds=False))


def shifted(value: int, number: int) -> int:
    return (value + number - 128) & 0xFFFFFFFF


def parts(segment: Segment, at: int) -> list[Segment]:
    first, second = segment.payload[:at], segment.payload[at:]
    later = (segment.sequence + len(first)) & 0xFFFFFFFF
    return [changed(segment, payload=first), changed(segment, payload=second, sequence=later)]


# What may happen to two segments in a row.
DAMAGES: dict[str, Callable[[Segment, Segment, int], list[Segment]]] = {
    "drop": lambda one, two, number: [two],
    "again": lambda one, two, number: [one, two, one],
    "swap": lambda one, two, number: [two, one],
    "cut": lambda one, two, number: [
        changed(one, payload=one.payload[:number], missing=len(one.payload[number:])),
        two,
    ],
    "flags": lambda one, two, number: [changed(one, flags=number), two],
    "content": lambda one, two, number: [changed(one, payload=bytes([number]) * len(one.payload)), two],
    "sequence": lambda one, two, number: [changed(one, sequence=shifted(one.sequence, number)), two],
    "acknowledge": lambda one, two, number: [
        changed(one, acknowledgement=shifted(one.acknowledgement, number)),
        two,
    ],
    "parts": lambda one, two, number: [*parts(one, number), two],
    "together": lambda one, two, number: [changed(one, payload=one.payload + two.payload), two],
}
changes = st.sampled_from(sorted(DAMAGES))


@given(
    st.integers(1, 300),
    st.lists(st.tuples(changes, st.integers(0, 400), st.integers(0, 255)), max_size=12),
    st.integers(0, 12),
)
def test_damaged_conversations_read_the_same(size: int, damage: list[tuple[str, int, int]], start: int) -> None:
    segments = interleaved(size)
    for kind, place, number in damage:
        index = place % (len(segments) - 1)
        segments[index : index + 2] = DAMAGES[kind](segments[index], segments[index + 1], number)
    same(file_of(segments[start:], nanoseconds=True), 1000)


def interleaved(size: int) -> list[Segment]:
    """Three conversations at once, one of them near the end of the sequence numbers, one that is not Kafka's."""
    conversations = [
        Conversation(ports=(1, 9092), client_first=2**32 - 300),
        Conversation(ports=(2, 9092)),
        Conversation(ports=(3, 9092)),
    ]
    for said in conversations:
        said.open()
    for number in range(12):
        conversations[0].ask(number, size)
        conversations[1].ask(number, 1460)
        conversations[2].say(0, b"GET / HTTP/1.1\r\n\r\n").say(1, b"HTTP/1.1 200 OK\r\n\r\n")
    for said in conversations:
        said.close()
    segments = [segment for said in conversations for segment in said.segments]
    assert segments[0].flags == SYN
    return sorted(segments, key=lambda segment: segment.nanoseconds or 0)


HALF = ("acked", "begun", "end", "excused", "finished", "first", "held", "late", "opened", "sent", "side")


def state_of(streams: FrameExtractor) -> list[object]:
    """All that is known of connections, in a form that can be compared."""
    reassembler: Any = streams.reassembler
    found: list[object] = [reassembler.count, reassembler.packets, reassembler.read, list(reassembler.stuck)]
    found.append([(number, *rest) for number, (_, *rest) in reassembler.closing.items()])
    for key, half in sorted(reassembler.known.items()):
        one = half.connection
        found += [key, one.number, one.opener, one.calm, one.closed, one.last, one.newest, one.packets]
        pieces = [one if isinstance(one, tuple) else astuple(one) for one in half.pieces]
        found += [half.position, half.sequence, pieces, *(getattr(half, name) for name in HALF)]
    return found


def both_states(
    segments: list[Segment], packets: int = 0, limits: ReassemblyLimits | None = None
) -> list[FrameExtractor]:
    """Read packets both ways, and compare what is known behind the last of them."""
    data, found = file_of(segments, nanoseconds=True), []
    for engine in ("native", "python"):
        reader, streams = PcapReader(iter([data])), FrameExtractor("x", limits=limits, engine=engine)
        streams.reassembler.packets = packets
        list(streams.receive(reader))
        found.append(streams)
    assert state_of(found[0]) == state_of(found[1])
    return found


def test_handshakes_and_closes_leave_the_same_state() -> None:
    segments = Conversation(client_first=2**32 - 1, broker_first=2**32 - 1).open().ask(1).close().segments
    for stop in range(len(segments) + 1):
        both_states(segments[:stop])


def test_no_more_connections_are_opened_than_may_be() -> None:
    segments = [segment for port in range(5) for segment in Conversation(ports=(port, 9092)).open().segments]
    fast, _ = both_states(segments, limits=ReassemblyLimits(connections=2))
    assert len(fast.reassembler.known) == 4


FLAGS = st.sampled_from([SYN, SYN | ACK, FIN | ACK, FIN, RST, RST | ACK, ACK, SYN | FIN, SYN | RST, 0])


@given(
    st.lists(st.tuples(changes, st.integers(0, 30), st.integers(0, 255)), max_size=8),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 1), FLAGS, st.integers(-2, 2)), max_size=8),
    st.integers(EVERY - 30, EVERY),
    st.integers(0, 40),
)
def test_whatever_happens_the_state_is_the_same(
    damage: list[tuple[str, int, int]], strange: list[tuple[int, int, int, int]], packets: int, stop: int
) -> None:
    segments = Conversation().open().ask(1, 20).close().open().ask(2).close().segments
    for kind, place, number in damage:
        index = place % (len(segments) - 1)
        segments[index : index + 2] = DAMAGES[kind](segments[index], segments[index + 1], number)
    for place, side, flags, step in strange:
        near = segments[place % len(segments)]
        key = Conversation().key(side)
        numbers = (near.sequence, near.acknowledgement) if key == near.key else (near.acknowledgement, near.sequence)
        sequence, acknowledged = (number + step & 0xFFFFFFFF for number in numbers)
        segments.insert(place % len(segments), Segment(key, sequence, acknowledged, flags, b"", 0, near.nanoseconds))
    both_states(segments, packets)
    both_states(segments[:stop], packets)


def test_damaged_captures_read_the_same_either_way() -> None:
    """A byte too many shifts all headers behind it: lengths alone do not show that, times do."""
    whole = (ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").read_bytes()
    rng = seeded("damaged captures")
    for _ in range(60 * TRIES):
        data = bytearray(whole[: rng.randrange(15_000, 30_000)])
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(24, len(data))
            data[place : place + rng.choice((0, 1, 4))] = rng.randbytes(rng.choice((0, 1, 4)))
        same(bytes(data))


SMALL = ReassemblyLimits(waiting=3000, all_waiting=20_000, connections=4)


def read_all(data: bytes, engine: str, limits: ReassemblyLimits | None) -> list[object]:
    """All frames of a capture, and what is known of connections before its end."""
    streams, state = FrameExtractor("x", engine=engine, limits=limits), list[object]()

    def batches() -> Iterator[CapturedBatch]:
        yield from streams.receive(PcapReader(iter([data]), "x"))
        state.extend([state_of(streams), streams.weight])
        yield streams.finish()

    try:
        return [*outcomes(build_frames(batches(), "x")), *state]
    except DumpError as error:
        return [str(error)]


def long_capture() -> bytes:
    """Connections so long that the waiting for lost packets ends before they do."""
    segments = [segment for port in range(3) for segment in conversation(700, 50 + port, port)]
    return file_of(sorted(segments, key=lambda segment: segment.nanoseconds or 0), nanoseconds=True)


@pytest.mark.parametrize("limits", [None, SMALL], ids=["usual", "small"])
@pytest.mark.parametrize("is_long", [False, True], ids=["real", "long"])
def test_lost_late_repeated_and_overlapping_packets_read_the_same(
    is_long: bool, limits: ReassemblyLimits | None
) -> None:
    data = long_capture() if is_long else (ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").read_bytes()
    rng = seeded("lossy captures")
    for _ in range((5 if is_long else 20) * TRIES):
        damaged = damaged_capture(data, rng)
        assert read_all(damaged, "native", limits) == read_all(damaged, "python", limits)


def test_the_engine_has_the_constants_of_the_reference() -> None:
    source = (ROOT / "kwire/codecs/native/tcp_table.pxi").read_text("utf-8")
    rules = {**vars(tcp_connection), **vars(connection_table), **vars(stream_reassembly)}
    rules["PATIENCE_LATE"] = rules["PATIENCE"] * rules["WITH_TIME"]
    rules["LINGER_PACKETS_LATE"] = rules["LINGER_PACKETS"] * rules["WITH_TIME"]
    found = re.findall(r"^(?:    |cdef int64_t )([A-Z_]+) = (\d+)(?: (<<|\*) (\w+))?", source, re.MULTILINE)
    assert len(found) == 15
    for name, number, operation, factor in found:
        value = int(number) << int(factor) if operation == "<<" else int(number) * (10**9 if operation else 1)
        assert value == rules[name], name


def test_a_capture_whose_compression_is_damaged_gives_each_frame_once() -> None:
    data = file_of(conversation(30, 1460))

    def damaged() -> Iterator[bytes]:
        yield from portions(data[:30_000], 4000)
        raise DumpError("damaged gzip data")

    found = outcomes(FrameExtractor("x").frames(PcapReader(damaged(), "x", looks_ahead=True)))
    assert found == outcomes(
        FrameExtractor("x").frames(packet for packet in PcapReader(damaged(), "x", looks_ahead=True))
    )
    assert "damaged gzip data" in str(found[-1])
