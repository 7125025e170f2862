"""Inputs of each form in the shape that costs most per byte, in any size; `test_linear_time` reads them."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain
from random import Random

import kwire
from kwire.capture.packets.tcp_segment import Segment
from tests.capture.building import (
    SYN,
    Conversation,
    block,
    capture,
    changed,
    enhanced,
    ethernet,
    interface,
    ipv4,
    packet_of,
    pcap,
    request,
    response,
    section,
)

M = kwire.messages
START = 1_700_000_000_000_000_000
SMALL = kwire.build_batch([kwire.Record(0, 1, b"k", b"v")])


def connections(count: int) -> Iterable[Conversation]:
    """Yield conversations of their own ports, one millisecond after the other."""
    return (
        Conversation(ports=(1024 + number % 60_000, 9092 + number // 60_000), now=START + number * 10**7)
        for number in range(count)
    )


def conversations(count: int, say: Callable[[Conversation], Conversation]) -> bytes:
    """Return a capture of many short connections."""
    return capture([segment for conversation in connections(count) for segment in say(conversation).segments])


def one_conversation(count: int, say: Callable[[Conversation, int], object]) -> list[Segment]:
    """Return the segments of one long connection."""
    conversation = Conversation().open()
    for number in range(count):
        say(conversation, number)
    return conversation.segments


def in_flight(count: int, order: Callable[[list[int]], list[int]], answered: bool = True) -> bytes:
    """Return a capture in which all requests are sent before the first response."""
    conversation = Conversation().open()
    for number in range(count):
        conversation.say(0, request(number))
    for number in order(list(range(count))) if answered else []:
        conversation.say(1, response(number))
    return capture(conversation.segments)


def long_conversation(count: int) -> list[Segment]:
    """Return a conversation of requests and responses."""
    return one_conversation(count, lambda conversation, number: conversation.ask(number))


def pcapng(*groups: Iterable[bytes]) -> bytes:
    """Return a section with these blocks."""
    return b"".join(chain([section()], *groups))


@cache
def packets() -> tuple[bytes, ...]:
    """Return the packets of a short conversation."""
    return tuple(packet_of(segment) for segment in long_conversation(2))


def blocks(count: int, number: Callable[[int], int] = lambda number: 0) -> list[bytes]:
    """Return packet blocks."""
    some = packets()
    return [enhanced(some[index % len(some)], START // 1000 + index, number(index)) for index in range(count)]


def shuffled(segments: list[Segment]) -> list[Segment]:
    """Return segments with neighbours in another order."""
    groups = [segments[start : start + 8] for start in range(3, len(segments), 8)]
    for group in groups:
        Random(len(group)).shuffle(group)
    return segments[:3] + [segment for group in groups for segment in group]


def json_lines(count: int) -> str:
    """Return lines as kwire and Kafka's brokers write them."""
    header = {"requestApiKey": 18, "requestApiVersion": 0, "correlationId": 1, "clientId": "c"}
    members = {"isForwarded": False, "requestHeader": header, "request": {}, "connection": "10.0.0.2:9092-10.0.0.1:5"}
    return f"[2026-01-01 00:00:00,000] DEBUG Completed request:{json.dumps(members)}\n" * count


def frames(count: int) -> bytes:
    """Return raw frames."""
    return b"".join(request(number) + response(number) for number in range(count))


def rows(data: bytes, row: Callable[[int, bytes], str], width: int = 16) -> str:
    """Return the rows of a hexdump."""
    return "".join(row(start, data[start : start + width]) for start in range(0, len(data), width))


def tcpdump(count: int) -> str:
    """Return packets as tcpdump -X prints them."""
    text = []
    for number in range(count):
        packet = packets()[number % len(packets())][14:]
        text.append("12:00:00.000000 IP 10.0.0.1.50000 > 10.0.0.2.9092: Flags [.]\n")
        text.append(rows(packet, lambda start, data: f"\t0x{start:04x}:  {data.hex(' ', 2)}\n"))
    return "".join(text)


# name -> the file of a size
FILES: dict[str, Callable[[int], bytes]] = {
    "one long connection": lambda n: capture(long_conversation(n)),
    "connections of one frame": lambda n: conversations(n, lambda conversation: conversation.open().ask(1).close()),
    "connections without an end": lambda n: conversations(n, lambda conversation: conversation.open().ask(1)),
    "connections that only open": lambda n: capture(
        [conversation.say(0, flags=SYN).segments[0] for conversation in connections(n)]
    ),
    "one port used again": lambda n: capture(
        [
            segment
            for number in range(n)
            for segment in Conversation(number * 999_983, now=START + number * 10**9).open().ask(1).close().segments
        ]
    ),
    "segments of one byte": lambda n: capture(
        one_conversation(n // 40 + 1, lambda conversation, number: conversation.ask(number, size=1))
    ),
    "responses in reverse order": lambda n: in_flight(n, lambda numbers: numbers[::-1]),
    "the same correlation id": lambda n: capture(
        one_conversation(n, lambda conversation, _: conversation.say(0, request(7)))
    ),
    "requests without a response": lambda n: in_flight(n, list, answered=False),
    "gaps": lambda n: capture([one for number, one in enumerate(long_conversation(n)) if number % 5 != 3]),
    "gaps on one side": lambda n: capture(
        one_conversation(n, lambda conversation, number: conversation.ask(number))[::2]
    ),
    "retransmissions": lambda n: capture([segment for segment in long_conversation(n) for _ in range(3)]),
    "overlapping segments": lambda n: capture(
        [
            changed(segment, sequence=segment.sequence - 3, payload=b"abc" + segment.payload)
            for segment in long_conversation(n)
        ]
    ),
    "shuffled segments": lambda n: capture(shuffled(long_conversation(n))),
    "segments in reverse order": lambda n: capture(long_conversation(n)[:3] + long_conversation(n)[:2:-1]),
    "streams of another protocol": lambda n: conversations(
        n, lambda conversation: conversation.open().say(0, b"GET / HTTP/1.1\r\n" * 9).close()
    ),
    "streams of random bytes": lambda n: conversations(
        n, lambda conversation: conversation.open().say(0, Random(conversation.now).randbytes(200))
    ),
    "frames of an impossible size": lambda n: capture(
        one_conversation(n, lambda conversation, _: conversation.say(0, b"\xff" * 100))
    ),
    "tiny frames": lambda n: capture(
        one_conversation(n // 20 + 1, lambda conversation, _: conversation.say(1, b"\0\0\0\4abcd" * 20))
    ),
    "packets without TCP": lambda n: (
        pcap([(START + number, ethernet(ipv4(bytes(30), protocol=17))) for number in range(n)])
        + capture(long_conversation(1))[24:]
    ),
    "damaged records of pcap": lambda n: (
        capture(long_conversation(3)) + (b"\xff" * 50 + capture(long_conversation(1))[24:]) * (n // 5)
    ),
    "records of pcap with impossible lengths": lambda n: (
        capture(long_conversation(3)) + struct.pack("<IIII", 1, 1, 99, 98) * n
    ),
    "zeros in pcap": lambda n: capture(long_conversation(3)) + bytes(16 * n),
    "interfaces of pcapng": lambda n: pcapng([interface()] * 8 * n, blocks(9)),
    "packets with an interface each": lambda n: pcapng(
        chain.from_iterable((interface(), one) for one in blocks(n, lambda number: number))
    ),
    "sections of pcapng": lambda n: (section() + interface() + b"".join(blocks(1))) * n,
    "other blocks of pcapng": lambda n: pcapng([interface()], [block(5, bytes(8))] * n, blocks(9)),
    "damaged blocks of pcapng": lambda n: pcapng(
        [interface()], [enhanced(b"x", number=9), b"\xff" * 20] * n, blocks(9)
    ),
    "options of an interface": lambda n: pcapng([interface(options=struct.pack("<HH", 2, 0) * n)], blocks(9)),
    "raw frames": frames,
    "raw frames without sense": lambda n: frames(1) + b"\xff\xff\xff\xff" * n,
    "members of gzip": lambda n: b"".join(gzip.compress(frames(1)) for _ in range(n)),
    "zeros in gzip": lambda n: gzip.compress(frames(1) + bytes(1000 * n)),
    "batches of a log": lambda n: SMALL * n,
    "damaged batches of a log": lambda n: (SMALL + b"\xff" * 30) * n,
    "cut batches of a log": lambda n: SMALL[:-9] * n,
    "zeros in a log": lambda n: (SMALL + bytes(99)) * n,
    "lines of a request log": lambda n: json_lines(n).encode(),
    "other lines of a log": lambda n: (json_lines(1) + "[2026-01-01] INFO something else\n" * n).encode(),
    "broken lines of a log": lambda n: (json_lines(1) + json_lines(1)[:-9] + "\n" * n).encode(),
    "plain hex": lambda n: frames(n).hex(" ").encode(),
    "hex on one line": lambda n: frames(n).hex().encode(),
    "hexdump -C": lambda n: rows(frames(n), lambda start, data: f"{start:08x}  {data.hex(' ')}\n").encode(),
    "xxd": lambda n: rows(frames(n), lambda start, data: f"{start:08x}: {data.hex(' ', 2)}  ....\n").encode(),
    "tcpdump -X": lambda n: tcpdump(n).encode(),
    "escapes": lambda n: repr(frames(n)).encode(),
    "numbers": lambda n: str(list(frames(n))).encode(),
    "comments in hex": lambda n: ("# a comment\n" * n + frames(1).hex(" ")).encode(),
}
