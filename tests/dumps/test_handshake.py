"""What is expected leaves the very state that the general way leaves, whatever comes before and after."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire.dumps.connections import EVERY, Limits, Reassembler
from kwire.dumps.halves import Half
from kwire.dumps.handshake import take_expected
from kwire.dumps.link import Segment
from tests.dumps.building import ACK, FIN, RST, SYN, Talk
from tests.dumps.test_in_order import DAMAGES


def half_state(half: Half) -> list[object]:
    return [getattr(half, name) for name in (*Half.__slots__, "position", "sequence") if name != "pieces"]


def state_of(reassembler: Reassembler) -> list[object]:
    """All that a reassembler knows, in a form that can be compared."""
    found: list[object] = [reassembler.count, reassembler.packets, list(reassembler.stuck)]
    found.append([(number, *rest) for number, (_, *rest) in reassembler.closing.items()])
    for key, half in sorted(reassembler.known.items()):
        one = half.connection
        found += [key, one.number, one.opener, one.calm, one.closed, one.last, one.newest, one.packets]
        found += [*half_state(half), half.pieces]
    return found


def quickly(reassembler: Reassembler, segment: Segment) -> bool:
    """Whether a segment was expected; it is taken either way."""
    half = reassembler.known.get(segment.key)
    due = (reassembler.packets + 1) % EVERY == 0
    if not due and not segment.payload and not segment.missing and take_expected(reassembler, half, segment):
        return True
    reassembler.feed(segment)
    return False


def test_handshake_and_close_are_expected() -> None:
    one, other = Reassembler(), Reassembler()
    taken = []
    for segment in Talk(client_first=2**32 - 1, broker_first=2**32 - 1).open().ask(1).close().segments:
        taken.append(quickly(one, segment))
        other.feed(segment)
        assert state_of(one) == state_of(other)
    assert taken == [True, True, False, False, False, False, True, True, False]


def test_no_more_connections_are_opened_than_may_be() -> None:
    reassembler = Reassembler(Limits(connections=2))
    opening = [Talk(ports=(port, 9092)).open().segments[0] for port in range(3)]
    assert [quickly(reassembler, segment) for segment in opening] == [True, True, False]
    assert len(reassembler.known) == 4


FLAGS = st.sampled_from([SYN, SYN | ACK, FIN | ACK, FIN, RST, RST | ACK, ACK, SYN | FIN, SYN | RST, 0])


@given(
    st.lists(st.tuples(st.sampled_from(sorted(DAMAGES)), st.integers(0, 30), st.integers(0, 255)), max_size=8),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 1), FLAGS, st.integers(-2, 2)), max_size=8),
    st.integers(EVERY - 30, EVERY),
)
def test_whatever_happens_the_state_is_the_same(
    damage: list[tuple[str, int, int]], strange: list[tuple[int, int, int, int]], packets: int
) -> None:
    segments = Talk().open().ask(1, 20).close().open().ask(2).close().segments
    for kind, place, number in damage:
        index = place % (len(segments) - 1)
        segments[index : index + 2] = DAMAGES[kind](segments[index], segments[index + 1], number)
    for place, side, flags, step in strange:
        near = segments[place % len(segments)]
        key = Talk().key(side)
        numbers = (near.sequence, near.acknowledgement) if key == near.key else (near.acknowledgement, near.sequence)
        sequence, acknowledged = (number + step & 0xFFFFFFFF for number in numbers)
        segments.insert(place % len(segments), Segment(key, sequence, acknowledged, flags, b"", 0, near.nanoseconds))
    one, other = Reassembler(), Reassembler()
    one.packets = other.packets = packets
    for segment in segments:
        quickly(one, segment)
        other.feed(segment)
        assert state_of(one) == state_of(other)
