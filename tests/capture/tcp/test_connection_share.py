"""Shares of a capture: each connection is read in one of them, and reads as it does among all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pytest

import kwire
from kwire.capture import frame_extractor as streams
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.open_capture import open_packets
from kwire.capture.packets.pcap import PcapReader
from kwire.capture.tcp.connection_share import ALL, ConnectionShare
from tests.capture.building import Conversation, capture
from tests.conftest import SHARED, each_of

CAPTURES = sorted((SHARED / "captures").glob("*.clients.pcap"))


def many(count: int = 60) -> bytes:
    """So many connections at once, some of which lose packets; every other one speaks HTTP."""
    segments = []
    for port in range(count):
        conversation = Conversation(ports=(20000 + 2 * port, 9092), now=10**18 + port).open()
        for number in range(port % 7 + 1):
            conversation.ask(number, 20 + port)
        if port % 2:
            conversation = (
                Conversation(ports=conversation.ports, now=10**18 + port)
                .open()
                .say(0, b"GET / HTTP/1.1\r\n\r\n")
                .say(1, bytes(9))
            )
        conversation.close()
        del conversation.segments[port % 5 + 9 : port % 5 + 9 + port % 3]
        segments += conversation.segments
    return capture(sorted(segments, key=lambda segment: segment.nanoseconds or 0))


def outcomes(frames: Iterator[kwire.Frame]) -> list[tuple[object, ...]]:
    """What frames say, without numbers of frames and connections, which each share counts itself."""
    return sorted(
        (s.client or "", s.broker or "", s.direction or "", s.offset or 0, s.time or 0, frame.data, str(frame.fault))
        for frame in frames
        for s in [frame.source]
    )


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("parts", [2, 3])
def test_shares_together_say_what_all_say(in_order: bool, parts: int) -> None:
    def read(share: ConnectionShare) -> list[tuple[object, ...]]:
        reader = PcapReader(iter([many()]))
        return outcomes(FrameExtractor("x", share=share).frames(reader if in_order else (packet for packet in reader)))

    shares = [read(ConnectionShare(part, parts)) for part in range(parts)]
    assert sorted(chain(*shares)) == read(ALL)
    assert min(map(len, shares)) > len(read(ALL)) // 10


@each_of("path", CAPTURES, most=12, ids=[path.name for path in CAPTURES])
def test_shares_of_captures(path: object) -> None:
    def read(share: ConnectionShare) -> list[tuple[object, ...]]:
        with open_packets(str(path)) as packets:
            return outcomes(FrameExtractor("x", share=share).frames(packets))

    assert sorted(read(ConnectionShare(0, 2)) + read(ConnectionShare(1, 2))) == read(ALL)


def test_keys_of_other_shares_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_OTHERS", 3)
    shares = [FrameExtractor("x", share=ConnectionShare(part, 2)) for part in (0, 1)]
    frames = [outcomes(share.frames(PcapReader(iter([many()])))) for share in shares]
    assert all(0 < len(share.others) <= 3 for share in shares)
    assert sorted(chain(*frames)) == outcomes(FrameExtractor("x").frames(PcapReader(iter([many()]))))
