"""What packets show of connections: who opened, closed and reset them, what was sent again, when a window was zero."""

from __future__ import annotations

from kwire.capture.packets.tcp_segment import Segment
from kwire.capture.tcp.connection_trouble import ConnectionTrouble
from kwire.capture.tcp.tcp_observer import MASK, TcpObserver

FIN, SYN, RST, ACK = 1, 2, 4, 16
THERE = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + (5000).to_bytes(2, "big") + (9092).to_bytes(2, "big")
BACK = bytes([10, 0, 0, 2, 10, 0, 0, 1]) + (9092).to_bytes(2, "big") + (5000).to_bytes(2, "big")
MS = 1_000_000


def observe(*segments: tuple[int, bytes, int, int, int, int | None]) -> TcpObserver:
    """Feed segments: milliseconds, direction, sequence number, flags, size of the payload, window."""
    observer = TcpObserver()
    for time, key, sequence, flags, size, window in segments:
        observer.feed(Segment(key, sequence & MASK, 0, flags, bytes(size), 0, time * MS, window), time * MS)
    return observer


def incidents(observer: TcpObserver) -> list[tuple[str, float, str]]:
    return [(one.kind, one.nanoseconds / MS, one.sender) for link in observer.connections for one in link.incidents]


def test_the_life_of_a_connection() -> None:
    observer = observe(
        (0, THERE, 9, SYN, 0, 100),
        (3, BACK, 19, SYN | ACK, 0, 100),
        (5, THERE, 10, ACK, 0, 100),
        (6, THERE, 10, ACK, 50, 100),
        (9, BACK, 20, ACK | FIN, 0, 100),
        (10, THERE, 60, ACK | FIN, 0, 100),
        (20, THERE, 70, SYN, 0, 100),
        (21, BACK, 0, RST | ACK, 0, 0),
    )
    first, second = "10.0.0.1:5000", "10.0.0.2:9092"
    assert incidents(observer) == [
        ("opened", 0, first),
        ("closed", 9, second),
        ("opened", 20, first),
        ("reset", 21, second),
    ]
    assert [link.round_trip for link in observer.connections] == [5 * MS, None]


def test_what_is_sent_again_is_told_from_order_and_keep_alives() -> None:
    observer = observe(
        (0, THERE, -10, ACK, 20, 100),  # the numbers wrap
        (2, THERE, 30, ACK, 20, 100),
        (3, THERE, 10, ACK, 20, 100),  # overtaken by the one before
        (200, THERE, 30, ACK, 20, 100),
        (300, THERE, 49, ACK, 1, 100),  # a keep-alive
    )
    assert incidents(observer) == [("retransmission", 200, "10.0.0.1:5000")]
    trouble = ConnectionTrouble(None, observer.connections[0].incidents)
    assert (trouble.overlap(100 * MS, 250 * MS), trouble.overlap(0, 100 * MS)) == ((1, 0), (0, 0))


def test_a_zero_window_lasts_until_there_is_room() -> None:
    observer = observe(
        (0, THERE, 1, ACK, 10, 100), (10, BACK, 1, ACK, 0, 0), (15, BACK, 1, ACK, 0, 0), (40, BACK, 1, ACK, 0, 9)
    )
    (link,) = observer.connections
    assert [(one.kind, one.nanoseconds, one.until) for one in link.incidents] == [("zero window", 10 * MS, 40 * MS)]
    assert ConnectionTrouble(None, link.incidents).overlap(20 * MS, 30 * MS) == (0, 10 * MS)
