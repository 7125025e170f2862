"""T14: captures of real brokers, damaged in many ways. What no lost byte touches is found, nothing is made up, and
every gap is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

import kwire
from kwire.capture.open_capture import open_packets
from kwire.capture.packets.packet_headers import parse_segment
from kwire.capture.packets.tcp_segment import ACK, FIN, RST, SYN, Segment, format_endpoint, reverse_key
from kwire.protocol import Result, Token
from kwire.protocol.frames.stream_faults import BareToken, CutShort, Gap, NoFrame, NotKafka, RequestNotCaptured
from tests.capture.building import Conversation, changed, frames_of, unaccounted
from tests.conftest import ROOT, SHARED, spread
from tests.seeds import TRIES, seeded

TIMES = 2 * TRIES
NAMES = ["3.9-ibp-2.2.clients", "3.9-ibp-0.8.2.controller", "3.9-ibp-1.0.replication"]
NAMES += ["0.8.2.clients", "0.8.2.controller"]
# The controller of 0.8.2 uses each correlation id up to three times.
CAPTURES = [ROOT / "fixtures" / "dumps" / "kafka-3.9-zk.pcap"]
CAPTURES += [path for name in NAMES for path in [SHARED / "captures" / f"kafka-{name}.pcap"] if path.exists()]

Damage = Callable[[list[Segment], Random], list[Segment]]
Found = tuple[str, str, bytes]  # sender, receiver, frame


class Whole(NamedTuple):
    """A capture to which nothing has happened: its segments, what each side sent from which sequence number on, and
    its frames, by size fields alone."""

    segments: list[Segment]
    streams: dict[bytes, tuple[int, bytes]]
    frames: list[tuple[bytes, int, Found]]


def whole(path: Path) -> Whole:
    with open_packets(path) as packets:
        segments = [segment for packet in packets if isinstance(segment := parse_segment(packet), Segment)]
    begins = Counter(segment.key for segment in segments if segment.flags & SYN)
    once = {key for key in begins if begins[key] == 1 == begins[reverse_key(key)]}
    segments = [segment for segment in segments if segment.key in once]
    streams: dict[bytes, tuple[int, bytes]] = {}
    for segment in segments:
        first, sent = streams.get(segment.key, (segment.sequence + 1, b""))
        start = (segment.sequence - first) % 2**32
        streams[segment.key] = (
            first,
            sent if segment.flags & SYN else sent[:start] + segment.payload + sent[start + len(segment.payload) :],
        )
    return Whole(segments, streams, [frame for key in streams for frame in _cut(key, streams[key][1])])


def _cut(key: bytes, sent: bytes) -> list[tuple[bytes, int, Found]]:
    frames, start = [], 0
    while start + 4 <= len(sent) and (stop := start + 4 + int.from_bytes(sent[start : start + 4], "big")) <= len(sent):
        frames.append((key, start, (format_endpoint(key, 0), format_endpoint(key, 1), sent[start:stop])))
        start = stop
    return frames


def drop(segments: list[Segment], chance: Random) -> list[Segment]:
    rate = chance.choice([0.002, 0.02, 0.2])
    return [segment for segment in segments if chance.random() > rate]


def drop_rows(segments: list[Segment], chance: Random) -> list[Segment]:
    for _ in range(3):
        start = chance.randrange(len(segments) or 1)
        segments = segments[:start] + segments[start + chance.choice([2, 10, 50]) :]
    return segments


def swap(segments: list[Segment], chance: Random) -> list[Segment]:
    out, far = list(segments), chance.choice([1, 2, 8, 20])
    for index in range(0, len(out) - far, far + chance.choice([1, 3])):
        out[index], out[index + far] = out[index + far], out[index]
    return out


def duplicate(segments: list[Segment], chance: Random) -> list[Segment]:
    out = list(segments)
    for index in sorted(chance.sample(range(len(out)), len(out) // 5), reverse=True):
        if not out[index].flags & SYN:
            out.insert(index + chance.randrange(1, 12), out[index])
    return out


def twice(segments: list[Segment], chance: Random) -> list[Segment]:
    return [each for segment in segments for each in (segment, segment)]


def overlap(segments: list[Segment], chance: Random) -> list[Segment]:
    return [
        each
        for segment in segments
        for each in (segment, changed(segment, payload=chance.randbytes(len(segment.payload))))
        if each is segment or segment.payload
    ]


def cut(segments: list[Segment], chance: Random) -> list[Segment]:
    most = chance.choice([14, 42, 100, 1000])
    return [changed(each, payload=each.payload[:most], missing=len(each.payload[most:])) for each in segments]


def cut_silently(segments: list[Segment], chance: Random) -> list[Segment]:
    """Cut packets, in a capture that does not say how long they were: acknowledgements tell what is missing."""
    return [changed(each, missing=0) for each in cut(segments, chance)]


def begin_late(segments: list[Segment], chance: Random) -> list[Segment]:
    return segments[int(len(segments) * chance.random() * 0.7) :]


def end_early(segments: list[Segment], chance: Random) -> list[Segment]:
    return segments[: int(len(segments) * (0.3 + chance.random() * 0.7))]


def small(segments: list[Segment], chance: Random) -> list[Segment]:
    size = chance.choice([1, 2, 3, 100])
    return [
        changed(
            each,
            payload=each.payload[start : start + size],
            sequence=(each.sequence + start) % 2**32,
            flags=each.flags if start + size >= len(each.payload) else each.flags & ~FIN,
        )
        for each in segments
        for start in range(0, len(each.payload) or 1, size)
    ]


def wrap(segments: list[Segment], chance: Random) -> list[Segment]:
    key_of = {segment.key: 2**32 - segment.sequence - chance.randrange(2, 300) for segment in reversed(segments)}
    return [
        changed(
            each,
            sequence=(each.sequence + key_of[each.key]) % 2**32,
            acknowledgement=(each.acknowledgement + key_of.get(reverse_key(each.key), 0)) % 2**32,
        )
        for each in segments
    ]


def no_acknowledgements(segments: list[Segment], chance: Random) -> list[Segment]:
    return [segment for segment in segments if segment.payload or segment.flags & (SYN | FIN | RST)]


def no_ends(segments: list[Segment], chance: Random) -> list[Segment]:
    lost = chance.choice([SYN, FIN | RST, SYN | FIN | RST])
    return [segment for segment in segments if segment.payload or not segment.flags & lost]


HARMLESS: list[tuple[Damage, ...]] = [
    (swap,),
    (duplicate,),
    (twice,),
    (overlap,),
    (small,),
    (wrap,),
    (wrap, swap),
    (no_acknowledgements,),
    (twice, swap),
]
LOSSES: list[tuple[Damage, ...]] = [
    (drop,),
    (drop_rows,),
    (cut,),
    (cut_silently,),
    (end_early,),
    (wrap, drop),
    (twice, drop),
    (drop, overlap),
    (no_acknowledgements, drop),
]
LATE: list[tuple[Damage, ...]] = [
    (begin_late,),
    (begin_late, drop),
    (begin_late, swap),
    (begin_late, no_acknowledgements),
    (no_ends,),
    (begin_late, drop_rows),
]


def names(cases: Sequence[tuple[Damage, ...]]) -> list[str]:
    return ["+".join(one.__name__ for one in case) for case in cases]


def seen(segments: Sequence[Segment], told: Whole, moved: dict[bytes, int]) -> dict[bytes, bytearray]:
    """Which bytes of each stream are in some segment."""
    bytes_of = {key: bytearray(len(sent)) for key, (_, sent) in told.streams.items()}
    for segment in segments:
        start = (
            segment.sequence + bool(segment.flags & SYN) - told.streams[segment.key][0] - moved.get(segment.key, 0)
        ) % 2**32
        bytes_of[segment.key][start : start + len(segment.payload)] = b"\1" * len(segment.payload)
    return bytes_of


def damaged(told: Whole, case: tuple[Damage, ...], seed: str) -> tuple[list[Segment], dict[bytes, bytearray]]:
    chance, segments, moved = seeded(seed), told.segments, dict[bytes, int]()
    for one in case:
        before, segments = segments, one(segments, chance)
        if one is wrap:
            moved = {old.key: new.sequence - old.sequence for old, new in zip(before, segments, strict=True)}
    return segments, seen(segments, told, moved)


def check(frames: Sequence[kwire.Frame], told: Whole, bytes_of: dict[bytes, bytearray]) -> list[Found]:
    """Check what must hold whatever was lost; returns the frames that should have been found and were not."""
    assert unaccounted(frames) == []
    given = [frame for frame in frames if frame.fault is None or isinstance(frame.fault, BareToken | CutShort)]
    found = Counter(map(_found, given))
    true = {one for _, _, one in told.frames}
    for one in found:
        whole_frame = len(one[2]) == 4 + int.from_bytes(one[2][:4], "big")
        assert one in true or (not whole_frame and _is_head(one, told)), f"made up: {one}"
    captured = sum(side.count(1) for side in bytes_of.values())
    faults = [frame.fault for frame in frames if frame.fault is not None and frame not in given]
    others = sum(fault.count or 0 for fault in faults if isinstance(fault, NoFrame) and not isinstance(fault, Gap))
    assert sum(len(frame.data) for frame in given) + others == captured
    untouched = Counter(one for key, start, one in told.frames if 0 not in bytes_of[key][start : start + len(one[2])])
    return list((untouched - found).elements())


def _found(frame: kwire.Frame) -> Found:
    ends = str(frame.source.client), str(frame.source.broker)
    sender, receiver = ends if frame.source.direction == "request" else ends[::-1]
    return sender, receiver, frame.data


def _is_head(one: Found, told: Whole) -> bool:
    """Whether these bytes are the head of what one side sent from some place on."""
    return any(
        (format_endpoint(key, 0), format_endpoint(key, 1)) == one[:2] and one[2] in sent
        for key, (_, sent) in told.streams.items()
    )


def gaps(frames: Sequence[kwire.Frame]) -> int:
    """All bytes that were said to be missing."""
    faults = [frame.fault for frame in frames]
    return sum(fault.count or 0 for fault in faults if isinstance(fault, Gap)) + sum(
        fault.missing for fault in faults if isinstance(fault, NotKafka)
    )


def lost_inside(segments: Sequence[Segment], bytes_of: dict[bytes, bytearray]) -> int:
    """How many bytes are missing between others, or between the begin of a stream, if a SYN tells it, and others."""
    opened = {segment.key for segment in segments if segment.flags & SYN}
    opened |= {reverse_key(segment.key) for segment in segments if segment.flags & SYN and segment.flags & ACK}
    firsts = {key: 0 if key in opened else side.find(1) for key, side in bytes_of.items()}
    return sum(side[firsts[key] : side.rfind(1) + 1].count(0) for key, side in bytes_of.items())


@pytest.mark.fuzz
@pytest.mark.parametrize("path", spread(CAPTURES, 2), ids=lambda path: path.stem)
@pytest.mark.parametrize("case", HARMLESS, ids=names(HARMLESS))
def test_where_nothing_is_lost_every_message_is_found(case: tuple[Damage, ...], path: Path) -> None:
    told = whole(path)
    for time in range(TIMES):
        segments, bytes_of = damaged(told, case, f"{path.stem} {time}")
        frames = frames_of(segments)
        assert check(frames, told, bytes_of) == []
        assert gaps(frames) == 0


@pytest.mark.fuzz
@pytest.mark.parametrize("path", spread(CAPTURES, 2), ids=lambda path: path.stem)
@pytest.mark.parametrize("case", LOSSES, ids=names(LOSSES))
def test_losses_touch_their_own_frames_alone_and_each_is_told(case: tuple[Damage, ...], path: Path) -> None:
    told = whole(path)
    for time in range(TIMES):
        segments, bytes_of = damaged(told, case, f"{path.stem} {time}")
        frames = frames_of(segments)
        assert check(frames, told, bytes_of) == []
        lost = sum(side.count(0) for side in bytes_of.values())
        # Behind the last byte that was captured, a FIN or nothing may tell of more.
        assert lost_inside(segments, bytes_of) <= gaps(frames) <= lost + len(bytes_of)


@pytest.mark.fuzz
@pytest.mark.parametrize("path", spread(CAPTURES, 2), ids=lambda path: path.stem)
@pytest.mark.parametrize("case", LATE, ids=names(LATE))
def test_where_begins_are_lost_the_rest_is_found(case: tuple[Damage, ...], path: Path) -> None:
    told = whole(path)
    for time in range(TIMES):
        segments, bytes_of = damaged(told, case, f"{path.stem} {time}")
        assert check(frames_of(segments), told, bytes_of) == []


@pytest.mark.fuzz
@pytest.mark.parametrize("path", spread(CAPTURES, 2), ids=lambda path: path.stem)
@pytest.mark.parametrize("case", spread(LOSSES + LATE, 8), ids=names(LOSSES + LATE))
def test_every_message_says_what_it_said_before_or_whom_it_lacks(case: tuple[Damage, ...], path: Path) -> None:
    """An answer whose request was lost is named as such, and never read as something else."""
    told = whole(path)
    before = {_found(one.frame): one for one in kwire.decode_frames(frames_of(told.segments))}
    for time in range(TIMES):
        segments, _ = damaged(told, case, f"{path.stem} {time} said")
        headers = kwire.HeaderReader()
        for after in kwire.decode_frames(frames_of(segments)):
            same, header = before.get(_found(after.frame)), headers.read(after.frame)
            if isinstance(after, kwire.Undecodable):
                assert header.is_request is None or after.frame.fault is not None
                continue
            assert isinstance(same, type(after))
            assert _said(after) == _said(same)
            assert isinstance(after, Token) or header.api_key == after.api_key


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
@pytest.mark.parametrize("lost", [0, SYN])
def test_of_the_brokers_side_alone_no_response_is_a_failure(lost: int, path: Path) -> None:
    segments = whole(path).segments
    opened = {segment.key for segment in segments if segment.flags & SYN and not segment.flags & ACK}
    answered = [segment for segment in segments if segment.key not in opened and not segment.flags & lost]
    faults = [one.error for one in kwire.decode_frames(frames_of(answered)) if isinstance(one, kwire.Undecodable)]
    assert [str(fault) for fault in faults if fault.is_failure] == []
    assert any(isinstance(fault, RequestNotCaptured) for fault in faults)


@pytest.mark.parametrize("lost", ["00110000", "000000010000000000030005504c41494e", "all but 00110000", "cut"])
def test_where_a_handshake_of_sasl_is_lost_nothing_is_a_failure_or_made_a_token(lost: str) -> None:
    """Lost are all SaslHandshakes v0, their responses, all requests behind them, or what is behind 14 bytes."""
    path = SHARED / "captures" / "kafka-3.9-sasl.clients.pcap"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    segments, tokens = whole(path).segments, dict[Found, bool]()
    for one in kwire.decode_frames(frames_of(segments)):
        tokens[_found(one.frame)] = isinstance(one, Token)
    left = [changed(each, payload=each.payload[:14], missing=len(each.payload[14:])) for each in segments]
    if lost.startswith("all but"):
        asking = {each.key for each in segments if each.payload[4:8] == b"\x00\x11\x00\x00"}
        left = [each for each in segments if each.key not in asking or each.payload[4:8] in (b"", b"\x00\x11\x00\x00")]
    elif lost != "cut":
        left = [each for each in segments if not each.payload[4:].startswith(bytes.fromhex(lost))]
        assert len(left) < len(segments)
    results = list(kwire.decode_frames(frames_of(left)))
    assert [str(one.error) for one in results if isinstance(one, kwire.Undecodable) and one.error.is_failure] == []
    assert all(tokens[_found(one.frame)] for one in results if isinstance(one, Token))
    if lost.startswith("00000001"):
        assert sum(isinstance(one, Token) for one in results) == sum(tokens.values())


def test_a_response_of_zeros_alone_is_no_produce_request() -> None:
    """InitProducerIdResponse, all that was captured of its connection, reads as a Produce request of no topic."""
    message = kwire.messages.InitProducerIdResponse(producer_id=0, producer_epoch=0)
    conversation = Conversation().open().say(1, kwire.encode_response(message, 1, correlation_id=3))
    (answer,) = [one for one in kwire.decode_frames(frames_of(conversation.segments[3:])) if one.frame.data]
    assert isinstance(answer, kwire.Undecodable)
    assert isinstance(answer.error, RequestNotCaptured)


def _said(result: Result) -> object:
    assert not isinstance(result, kwire.Undecodable)
    return result.content if isinstance(result, Token) else (result.codec, result.message)
