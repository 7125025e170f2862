"""TCP streams to frames: who is the broker, what is not Kafka, and T14: captures that were damaged on their way."""

from __future__ import annotations

import gzip
import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.packets.packet import Packet
from kwire.capture.packets.pcap import PcapReader
from kwire.capture.packets.tcp_segment import Segment
from kwire.errors import DumpError
from kwire.protocol.frames.stream_faults import (
    BareToken,
    BegunBefore,
    CutRecord,
    CutShort,
    Encrypted,
    Fragment,
    Gap,
    LostPackets,
    NotKafka,
    PassedOver,
)
from tests.capture import building
from tests.capture.building import (
    Conversation,
    M,
    capture,
    changed,
    frames_of,
    packet_of,
    request,
    response,
    unaccounted,
)


def conversation(count: int = 6, size: int = 1460, **options: Any) -> Conversation:
    conversation = Conversation(**options).open()
    for number in range(1, count + 1):
        conversation.ask(number, size)
    return conversation.close()


def messages(frames: Sequence[kwire.Frame]) -> list[tuple[str | None, bytes]]:
    return [(frame.source.direction, frame.data) for frame in frames if frame.fault is None]


def faults(frames: Sequence[kwire.Frame]) -> list[Any]:
    return [frame.fault for frame in frames if frame.fault is not None]


def expected_messages(count: int = 6) -> list[tuple[str, bytes]]:
    return [
        pair
        for number in range(1, count + 1)
        for pair in (("request", request(number)), ("response", response(number)))
    ]


def test_a_conversation_becomes_frames_with_their_sources() -> None:
    frames = frames_of(conversation(2).segments)
    assert messages(frames) == expected_messages(2)
    source = frames[1].source
    assert (source.file, source.frame, source.offset) == ("x", 1, 0)
    assert (source.client, source.broker) == ("10.0.0.1:50000", "10.0.0.2:9092")
    assert (source.connection, source.direction, source.time) == (0, "response", 1_700_000_000.005)
    assert [frame.source.offset for frame in frames[2:]] == [len(request(1)), len(response(1))]


def test_ipv6_ends_stand_in_brackets() -> None:
    data = request(1)
    syn = building.ipv6(building.tcp(sequence=1, flags=2))
    packets = [Packet(1, 101, syn, len(syn))]
    packets += [Packet(2, 101, both, len(both)) for both in [building.ipv6(building.tcp(data, 2))]]
    (frame,) = FrameExtractor("x").frames(packets)
    assert (frame.source.client, frame.source.broker, frame.data) == ("[::1]:50000", "[::2]:9092", data)


def test_the_first_frame_comes_before_the_input_ends() -> None:
    data = capture(conversation(2).segments)

    def portions() -> Any:
        yield data[:-500]
        raise AssertionError("not needed yet")

    assert next(FrameExtractor("x").frames(PcapReader(portions()))).data == request(1)


@pytest.mark.parametrize("size", [7, 40, 1460])
def test_more_packets_may_follow_later(size: int) -> None:
    """Nothing is given up before the end, and nothing said twice."""
    segments = conversation(size=size).segments
    streams, said = FrameExtractor("x"), []
    for segment in segments[:-3]:
        said += [one for batch in streams.receive(PcapReader(iter([capture([segment])]))) for one in batch]
    assert [one[4] for one in said if isinstance(one, tuple)] == [data for _, data in expected_messages()]
    *_, last = streams.receive(PcapReader(iter([capture(segments[-3:])[:-1]])))
    assert isinstance(last[-1], tuple)
    assert isinstance(last[-1][5], CutRecord)
    assert streams.broken is None


@pytest.mark.parametrize("ports", [(9092, 50000), (50000, 9092), (1, 1)])
def test_the_broker_is_who_answers_whatever_the_ports(ports: tuple[int, int]) -> None:
    for segments in (conversation(ports=ports).segments, conversation(ports=ports).segments[3:]):
        frames = [frame for frame in frames_of(segments) if frame.fault is None]
        assert {(frame.source.client, frame.source.broker) for frame in frames} == {
            (f"10.0.0.1:{ports[0]}", f"10.0.0.2:{ports[1]}")
        }


def test_the_broker_is_who_answers_even_if_it_opened_the_connection() -> None:
    conversation = Conversation().open()
    for number in range(1, 4):
        conversation.say(1, request(number)).say(0, response(number))
    assert {frame.source.client for frame in frames_of(conversation.segments)} == {"10.0.0.2:9092"}


@pytest.mark.parametrize("client", [None, "", "ü-client", "x" * 300])
def test_clients_without_a_name_are_clients_too(client: str | None) -> None:
    conversation = Conversation().open()
    for number in range(3):
        conversation.say(0, request(number, client=client)).say(1, response(number))
    assert [direction for direction, _ in messages(frames_of(conversation.segments))] == ["request", "response"] * 3


@pytest.mark.parametrize("client", [None, ""])
@pytest.mark.parametrize("snap", [12, 14, 20])
@pytest.mark.parametrize("closes", [True, False])
def test_a_request_without_a_name_that_was_cut_is_believed_for_its_response(
    client: str | None, snap: int, closes: bool
) -> None:
    """Kafka 0.8's SimpleConsumer asks once on a connection, with correlation id 0 and without a client id."""
    asked = request(0, client=client)
    cut = Segment(Conversation().key(0), 1001, 5001, building.ACK, asked[:snap], len(asked) - snap, 0)
    answers = {response(0): [("response", response(0))], response(1): [], response(0)[:-1] + b"\1": []}
    for answer, found in answers.items():
        conversation = Conversation().open().say(0, asked).say(1, answer)
        segments = (conversation.close() if closes else conversation).segments
        segments[3] = changed(cut, nanoseconds=segments[3].nanoseconds)
        frames = frames_of(segments)
        assert messages(frames) == found
        assert unaccounted(frames) == []


def test_requests_without_a_name_in_front_of_a_gap_are_believed_where_no_syn_was_captured() -> None:
    """ControlledShutdown v0 of Kafka 0.8: 16 bytes without a client id."""
    conversation = Conversation()
    for number in range(2):
        asked = kwire.encode_request(M.ControlledShutdownRequest(broker_id=2), 0, correlation_id=number)
        answer = kwire.encode_response(M.ControlledShutdownResponse(), 0, correlation_id=number)
        conversation.say(0, asked).say(1, answer).say(0)
    conversation.say(0, b"lost").say(1)
    found = messages(frames_of([*conversation.segments[1:-2], conversation.segments[-1]]))
    assert [direction for direction, _ in found] == ["response", "request", "response"]


def test_responses_that_read_as_a_request_behind_others_are_none() -> None:
    answers = [response(number) for number in range(3)] + [bytes.fromhex("00000016 00000003") + bytes(18)]
    conversation = Conversation()
    for answer in answers:
        conversation.say(1, answer)
    assert not {direction for direction, _ in messages(frames_of(conversation.segments))} & {"request"}


def test_a_response_that_reads_as_a_produce_request_is_none() -> None:
    """Correlation id 0, one topic: api key 0, version 0, correlation id 1, client id "orders"."""
    answer = bytes.fromhex("00000000 00000001 0006") + b"orders" + bytes.fromhex("00000001") + bytes(18)
    answer = struct.pack(">i", len(answer)) + answer
    fetch = kwire.encode_request(M.FetchRequest(), 0, correlation_id=0, client_id="me")
    conversation = Conversation().open().say(0, fetch).say(1, answer)
    for number in range(1, 9):
        conversation.ask(number)
    for segments in (
        conversation.segments,
        conversation.segments[:3] + conversation.segments[4:],
        conversation.segments[4:],
    ):
        clients = {frame.source.client for frame in frames_of(segments) if frame.fault is None}
        assert clients == {"10.0.0.1:50000"}


@pytest.mark.parametrize(
    ("first", "answer", "name", "kind"),
    [
        (bytes.fromhex("16030100c8010000c40303"), bytes.fromhex("160303007a02000076"), "TLS", Encrypted),
        (b"GET /metrics HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", "HTTP", NotKafka),
        (b"ruok", b"imok", "ZooKeeper's four-letter words", NotKafka),
        (
            bytes.fromhex("0000002d") + bytes(24) + b"\0\0\0\x10" + bytes(17),
            b"\0\0\0\x25" + bytes(37),
            "ZooKeeper",
            NotKafka,
        ),
        (b"\xff" * 50, b"\xfe" * 60, "an unknown protocol", NotKafka),
    ],
    ids=["tls", "http", "words", "zookeeper", "unknown"],
)
def test_other_protocols_are_named_once_a_stream(first: bytes, answer: bytes, name: str, kind: type) -> None:
    conversation = Conversation().open().say(0, first).say(1, answer)
    for _ in range(1000):
        conversation.say(0, bytes(100)).say(1, bytes(200))
    found = faults(frames_of(conversation.close().segments))
    assert [(type(fault), fault.found, fault.count) for fault in found] == [
        (kind, name, len(first) + 100_000),
        (kind, name, len(answer) + 200_000),
    ]


def test_tls_says_what_to_do() -> None:
    conversation = Conversation().open().say(0, bytes.fromhex("16030100c8010000c40303"))
    (fault,) = faults(frames_of(conversation.segments))
    assert "PLAINTEXT" in fault.hint
    assert "11 bytes of TLS" in str(fault)


def test_kafka_behind_the_words_of_a_proxy_is_found() -> None:
    conversation = Conversation().open().say(0, b"PROXY TCP4 1.2.3.4 5.6.7.8 50000 9092\r\n").say(1, b"fine, go on")
    for number in range(1, 5):
        conversation.ask(number)
    frames = frames_of(conversation.close().segments)
    assert messages(frames) == expected_messages(4)
    assert [fault.count for fault in faults(frames)] == [39, 11]


def test_bare_tokens_of_sasl_are_named() -> None:
    handshake = kwire.encode_request(M.SaslHandshakeRequest(mechanism="PLAIN"), 0, correlation_id=1, client_id="me")
    done = kwire.encode_response(M.SaslHandshakeResponse(), 0, correlation_id=1)
    conversation = Conversation().open().say(0, handshake).say(1, done)
    conversation.say(0, b"\0\0\0\x0b\0alice\0pass").say(1, bytes(4))
    for number in range(2, 5):
        conversation.ask(number)
    frames = frames_of(conversation.segments)
    assert [(type(fault), fault.count) for fault in faults(frames)] == [(BareToken, 15), (BareToken, 4)]
    assert len(messages(frames)) == 8
    assert unaccounted(frames) == []


def test_a_broken_capture_gives_what_comes_before_and_says_so_last() -> None:
    data = capture(conversation(2).segments)
    frames = list(FrameExtractor("x").frames(PcapReader(iter([data[:-30]]))))
    assert messages(frames) == expected_messages(2)
    (fault,) = faults(frames)
    assert isinstance(fault, CutRecord)
    assert fault.offset == len(data) - len(packet_of(conversation(2).segments[-1])) - 16


def test_a_capture_of_which_nothing_can_be_read_is_an_error() -> None:
    with pytest.raises(DumpError, match="link type 105"):
        list(FrameExtractor("x").frames([Packet(1, 105, b"beacon", 6)]))
    with pytest.raises(DumpError, match="link type 105"):
        next(FrameExtractor("x").frames(Packet(1, 105, b"beacon", 6) for _ in iter(int, 1)))
    with pytest.raises(DumpError, match="24"):
        list(FrameExtractor("x").frames(PcapReader(iter([b"\xd4\xc3\xb2\xa1"]))))


def test_packets_that_cannot_be_read_are_counted_and_named() -> None:
    fragment = building.ethernet(building.ipv4(building.tcp(b"x" * 50), fragment=0x2000))
    segments = conversation(2).segments
    packets = [Packet(1, 1, fragment, len(fragment))] * 3
    packets += [Packet(segment.nanoseconds, 1, packet_of(segment), 0) for segment in segments]
    packets += [Packet(1, 1, building.ethernet(b"arp", b"\x08\x06"), 17)]
    frames = list(FrameExtractor("x").frames(packets))
    assert messages(frames) == expected_messages(2)
    assert [(type(fault), fault.count, str(fault)[:38]) for fault in faults(frames)] == [
        (LostPackets, 3, "3 packets are a fragment of an IP pack")
    ]


def test_state_of_ended_connections_is_dropped() -> None:
    segments = [
        segment
        for port in range(50)
        for segment in Conversation(ports=(port + 1, 9092), now=10**18 + port * 10**10)
        .open()
        .say(0, request(1))
        .close()
        .segments
    ] * 1
    decoder = kwire.FrameDecoder()
    for frame in frames_of(segments):
        decoder.decode(frame)
        assert len(decoder.connections._connections) <= 45
    closed = [number for frame in frames_of(segments) for number in frame.closed]
    assert closed == sorted(set(closed))


def test_a_dump_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "named.txt"
    path.write_bytes(gzip.compress(capture(conversation(2).segments)))
    with kwire.open_dump(path) as dump:
        assert dump.kind == "gzip around pcap"
        assert messages(list(dump.frames)) == expected_messages(2)


# T14: any conversation, damaged in any of these ways. What no gap touches is found; every gap is named.


def covered(segments: Sequence[Segment], whole: Conversation) -> dict[str, list[bool]]:
    """Which bytes of each stream are in some packet."""
    sizes = [whole.next[0] - whole.client_first - 2, whole.next[1] - whole.broker_first - 2]
    seen = {"request": [False] * sizes[0], "response": [False] * sizes[1]}
    for segment in segments:
        asked = segment.key == whole.key(0)
        start = (segment.sequence - (whole.client_first if asked else whole.broker_first) - 1) & 0xFFFFFFFF
        for offset in range(start, start + len(segment.payload)):
            seen["request" if asked else "response"][offset] = True
    return seen


def untouched(segments: Sequence[Segment], whole: Conversation, count: int) -> Counter[tuple[str | None, bytes]]:
    seen, at, left = covered(segments, whole), {"request": 0, "response": 0}, Counter[tuple[str | None, bytes]]()
    for direction, data in expected_messages(count):
        stop = at[direction] + len(data)
        if all(seen[direction][at[direction] : stop]):
            left[direction, data] += 1
        at[direction] = stop
    return left


def check(segments: Sequence[Segment], whole: Conversation, count: int) -> list[kwire.Frame]:
    frames = frames_of(segments)
    found = Counter(messages(frames))
    assert untouched(segments, whole, count) <= found
    assert unaccounted(frames) == []
    kinds = {type(fault) for fault in faults(frames)}
    assert kinds <= {BegunBefore, CutShort, Fragment, Gap, PassedOver, NotKafka}
    lost = sum(not byte for side in covered(segments, whole).values() for byte in side)
    told = sum(fault.count or 0 for fault in faults(frames) if isinstance(fault, Gap))
    if not any(isinstance(fault, BegunBefore) for fault in faults(frames)) and any(
        segment.flags & building.SYN for segment in segments
    ):
        # Lost behind the last byte that was captured, a FIN cannot be told from a byte.
        fins = 2 - len({segment.key for segment in segments if segment.flags & building.FIN})
        assert lost <= told + sum(getattr(fault, "missing", 0) for fault in faults(frames)) <= lost + fins
    return frames


COUNT = 12
sizes = st.sampled_from([1, 7, 20, 1460])
firsts = st.sampled_from([1000, 2**32 - 1, 2**32 - 100, 2**32 - 300])


@given(sizes, firsts, firsts)
def test_segments_of_any_size_and_numbers_that_wrap(size: int, client: int, broker: int) -> None:
    whole = conversation(COUNT, size, client_first=client, broker_first=broker)
    assert messages(check(whole.segments, whole, COUNT)) == expected_messages(COUNT)


@given(sizes, st.data())
def test_dropped(size: int, data: st.DataObject) -> None:
    whole = conversation(COUNT, size, client_first=2**32 - 200)
    # The last three tell how much was said.
    places = data.draw(st.sets(st.integers(3, len(whole.segments) - 4), min_size=1, max_size=12))
    check([segment for index, segment in enumerate(whole.segments) if index not in places], whole, COUNT)


@given(sizes, st.integers(0, 3), st.integers(2, 5))
def test_swapped(size: int, start: int, step: int) -> None:
    whole = conversation(COUNT, size)
    segments = list(whole.segments)
    for index in range(start, len(segments) - 1, step):
        segments[index], segments[index + 1] = segments[index + 1], segments[index]
    assert Counter(messages(check(segments, whole, COUNT))) == Counter(expected_messages(COUNT))


@given(sizes, st.lists(st.tuples(st.integers(0, 60), st.integers(1, 15)), max_size=20))
def test_duplicated(size: int, again: list[tuple[int, int]]) -> None:
    whole = conversation(COUNT, size)
    segments = list(whole.segments)
    for index, later in again:
        if index < len(segments) and not segments[index].flags & building.SYN:
            segments.insert(min(index + later, len(segments)), segments[index])
    assert messages(check(segments, whole, COUNT)) == expected_messages(COUNT)


@given(sizes, st.sets(st.integers(0, 60)))
def test_overlapped_with_other_content(size: int, places: set[int]) -> None:
    whole = conversation(COUNT, size)
    segments = []
    for index, segment in enumerate(whole.segments):
        segments.append(segment)
        if index in places and segment.payload:
            segments.append(changed(segment, payload=b"\xee" * len(segment.payload)))
    assert messages(check(segments, whole, COUNT)) == expected_messages(COUNT)


@given(st.integers(0, 70))
def test_cut_by_the_snap_length(snap: int) -> None:
    whole = conversation(COUNT)
    segments = [
        changed(segment, payload=segment.payload[:snap], missing=len(segment.payload[snap:]))
        for segment in whole.segments
    ]
    check(segments, whole, COUNT)


@given(sizes, st.data())
def test_begun_late(size: int, data: st.DataObject) -> None:
    whole = conversation(COUNT, size)
    start = data.draw(st.integers(3, len(whole.segments) * 2 // 3))  # so that a whole request is left
    check(whole.segments[start:], whole, COUNT)


@given(sizes, st.data())
def test_begun_late_swapped_and_dropped(size: int, data: st.DataObject) -> None:
    whole = conversation(COUNT, size)
    start = data.draw(st.integers(0, len(whole.segments) // 2))
    places = data.draw(st.sets(st.integers(start, len(whole.segments) - 4), max_size=6))
    segments = [s for index, s in enumerate(whole.segments) if index >= start and index not in places]
    for index in range(data.draw(st.integers(0, 1)), len(segments) - 1, 2):
        segments[index], segments[index + 1] = segments[index + 1], segments[index]
    check(segments, whole, COUNT)


def test_api_versions_of_librdkafka_is_found_in_streams_that_began_before() -> None:
    """It writes an empty array behind the header of ApiVersions v0."""
    asked = bytes.fromhex("0000001500120000 00000005 0007 72646b61666b61 00000000")
    answer = kwire.encode_response(M.ApiVersionsResponse(), 0, correlation_id=5)
    for first in (b"", response(4), request(4)[5:]):
        conversation = Conversation()
        if first:
            conversation.say(1 if first == response(4) else 0, first)
        conversation.say(0, asked).say(1, answer).say(0)
        frames = frames_of(conversation.segments)
        found = {(frame.source.direction, frame.data) for frame in frames if frame.fault is None}
        assert {("request", asked), ("response", answer)} <= found
        assert {frame.source.client for frame in frames} == {"10.0.0.1:50000"}
    other = bytearray(asked)
    other[-1] = 7  # not what it writes
    frames = frames_of(Conversation().say(0, bytes(other)).say(1, answer).segments)
    assert not any(frame.fault is None for frame in frames)


@pytest.mark.parametrize("pause", [0, 11_000_000_000])
@pytest.mark.parametrize("others", range(236, 256))
def test_a_packet_captured_again_behind_the_end_is_the_same_connection(others: int, pause: int) -> None:
    """Also where no packet came for a while, and wherever all connections are looked through."""
    first = Conversation().open().ask(1).close()
    again = next(segment for segment in first.segments if segment.payload and segment.key == first.key(1))
    next_one = Conversation(ports=(building.CLIENT_PORT + 1, building.BROKER_PORT), now=first.now + pause).open()
    before = Conversation(ports=(building.CLIENT_PORT + 2, building.BROKER_PORT)).open()
    for _ in range(others):
        before.say(0)
    frames = frames_of([*before.segments, *first.segments, *next_one.segments, again])
    assert [frame.data for frame in frames] == [request(1), response(1)]
