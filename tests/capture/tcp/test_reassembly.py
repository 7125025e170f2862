"""TCP streams put together: order, overlap, wrap, gaps, and how much is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kwire.capture.packets.tcp_segment import Segment
from kwire.capture.tcp.connection import PATIENCE, PATIENCE_TIME, Ended, Event, Finished, Portion, StreamGap, Unseen
from kwire.capture.tcp.connection_table import EVERY, ConnectionTable, ReassemblyLimits
from kwire.capture.tcp.stream_reassembly import MASK, WINDOW, HalfConnection, StreamSegment, sequence_distance
from tests.capture.building import ACK, FIN, RST, SYN, Conversation, changed, frames_of


def events_of(segments: Sequence[Segment], limits: ReassemblyLimits | None = None) -> list[Event]:
    reassembler = ConnectionTable(limits)
    events = [event for segment in segments for event in reassembler.feed(segment)]
    return [*events, *reassembler.finish()]


def delivered(segments: Sequence[Segment], limits: ReassemblyLimits | None = None) -> list[tuple[Any, ...]]:
    """(side, offset, data) of portions and (side, offset, count) of gaps, in their order; side 0 is the client."""
    return [
        (
            event.side ^ (event.connection.key != Conversation().key(0)),
            event.offset,
            event.data if isinstance(event, Portion) else event.count,
        )
        for event in events_of(segments, limits)
        if not isinstance(event, Unseen | Finished | Ended)
    ]


def texts(segments: Sequence[Segment]) -> tuple[bytes, bytes]:
    """What each side said, with a ? for each byte that is missing."""
    sides = [b"", b""]
    for side, offset, what in delivered(segments):
        assert offset == len(sides[side])
        sides[side] += what if isinstance(what, bytes) else b"?" * (what or 0)
    return sides[0], sides[1]


def conversation(**options: Any) -> Conversation:
    """Segment 3 to 8: one, two, eins, drei, an acknowledgement, four."""
    conversation = Conversation(**options).open().say(0, b"one").say(0, b"two").say(1, b"eins").say(1, b"drei").say(0)
    return conversation.say(0, b"four")


@pytest.mark.parametrize("first", [0, 1000, 2**32 - 1, 2**32 - 2, 2**32 - 4, 2**32 - 8, 2**31 - 4])
def test_sequence_numbers_may_wrap_anywhere(first: int) -> None:
    assert texts(conversation(client_first=first, broker_first=first + 1).close().segments) == (
        b"onetwofour",
        b"einsdrei",
    )
    swapped = conversation(client_first=first).segments
    swapped[3], swapped[4] = swapped[4], swapped[3]
    assert texts(swapped) == (b"onetwofour", b"einsdrei")


def test_a_number_is_ahead_or_behind_by_the_shorter_way() -> None:
    assert (sequence_distance(5, 2**32 - 2), sequence_distance(2**32 - 2, 5), sequence_distance(5, 5)) == (7, -7, 0)


@pytest.mark.parametrize("index", range(8))
def test_any_two_neighbours_may_be_swapped(index: int) -> None:
    segments = conversation().segments
    segments[index], segments[index + 1] = segments[index + 1], segments[index]
    assert texts(segments) == (b"onetwofour", b"einsdrei")


@pytest.mark.parametrize("index", range(3, 9))
def test_a_segment_may_come_again_at_any_time(index: int) -> None:
    segments = conversation().segments
    for place in range(index + 1, 10):
        assert texts([*segments[:place], segments[index], *segments[place:]]) == (b"onetwofour", b"einsdrei")


def test_an_answer_does_not_come_before_its_question() -> None:
    segments = conversation().segments
    segments[4], segments[5] = segments[5], segments[4]  # eins, which acknowledges two, before two
    assert [item[2] for item in delivered(segments)] == [b"one", b"two", b"eins", b"drei", b"four"]


def test_what_came_first_wins() -> None:
    segments = conversation().segments
    again = changed(segments[3], payload=b"XXXXXXXX")
    assert texts([*segments[:4], again, *segments[4:]])[0].startswith(
        b"oneXXXXX"
    )  # two had not come: its bytes are new
    assert texts([*segments[:5], again, *segments[5:]])[0].startswith(b"onetwoXX")
    ahead_of_time = [*segments[:3], segments[4], changed(segments[3], payload=b"oneXX"), *segments[5:]]
    assert texts(ahead_of_time)[0] == b"onetwofour"


def test_a_keep_alive_says_nothing_new() -> None:
    segments = conversation().segments
    probe = changed(segments[8], sequence=segments[8].sequence - 1, payload=b"\0")
    assert texts([*segments[:8], probe, *segments[8:]]) == (b"onetwofour", b"einsdrei")


def test_a_lost_segment_is_a_gap_with_its_place_and_size() -> None:
    segments = conversation().segments
    del segments[4]
    assert [item for item in delivered(segments) if not isinstance(item[2], bytes)] == [(0, 3, 3)]
    assert texts(segments) == (b"one???four", b"einsdrei")


def test_a_lost_end_is_a_gap_because_the_other_side_has_it() -> None:
    conversation = Conversation().open().say(0, b"one").say(1, b"ok").say(0, b"two").say(1)
    assert delivered([*conversation.segments[:5], *conversation.segments[6:]])[-1] == (0, 3, 3)


def test_an_answer_comes_behind_the_gap_in_which_its_question_was_lost() -> None:
    captured = Conversation().open().say(0, b"one").say(1, b"eins")
    lost = [*captured.segments[:3], *captured.segments[4:]]
    assert delivered(lost) == [(0, 0, 3), (1, 0, b"eins")]
    later = [changed(segment, nanoseconds=captured.now + 11 * 10**9) for segment in conversation(ports=(1, 2)).segments]
    reassembler, events = ConnectionTable(), []
    for segment in [*lost, *later[:3], *later[3:4] * 2 * EVERY]:  # another connection goes on
        events += [event for event in reassembler.feed(segment) if event.connection.number == 0]
    assert [type(event) for event in events] == [StreamGap, Portion]


def test_a_lost_fin_is_no_gap() -> None:
    segments = conversation().close().segments
    assert texts([segment for segment in segments if not segment.flags & FIN]) == (b"onetwofour", b"einsdrei")


def test_a_hole_that_nobody_has_acknowledged_waits_for_the_bytes() -> None:
    conversation = Conversation().open().say(0, b"lost").say(0, b"x")
    lost = conversation.segments[3]
    for _ in range(100):
        conversation.say(0, b"x")
    late = [*conversation.segments[:3], *conversation.segments[4:], lost]
    assert texts(late)[0] == b"lost" + b"x" * 101


def test_an_acknowledged_hole_is_given_up_after_a_while_and_not_at_once() -> None:
    conversation = Conversation().open().say(0, b"lost").say(0, b"next").say(1)
    lost = conversation.segments[3]
    segments = [*conversation.segments[:3], *conversation.segments[4:]]
    for _ in range(2 * PATIENCE):
        conversation.say(1)
    reassembler, seen = ConnectionTable(), []
    for segment in [*segments, *conversation.segments[6:]]:
        seen.append(bool(reassembler.feed(segment)))
    assert PATIENCE / 16 < seen.index(True) < 2 * PATIENCE
    assert texts([*segments, lost]) == (b"lostnext", b"")


def test_a_hole_is_given_up_though_what_was_given_up_before_is_half_a_circle_behind() -> None:
    """Sequence numbers half of their circle apart are neither before nor after each other (RFC 9293, section 3.4)."""
    captured = Conversation().open().say(1, b"lost").say(1, b"x").say(0)
    far_behind = (captured.segments[4].acknowledgement - (1 << 31) + 10) & MASK
    captured.segments[4] = changed(captured.segments[4], acknowledgement=far_behind)
    other = Conversation(ports=(1, 2)).open()

    def wait() -> list[Segment]:
        start = len(other.segments)
        captured.now = other.now = max(captured.now, other.now) + PATIENCE_TIME
        for _ in range(2 * EVERY):
            other.say(0)
        return other.segments[start:]

    while_waiting = wait()
    captured.say(0, b"lost again, and longer").say(0, b"y").say(1)
    segments = captured.segments
    lost = [*segments[:3], *segments[4:6], *while_waiting, *segments[7:], *wait()]
    assert delivered(lost) == [(1, 0, 4), (1, 4, b"x"), (0, 0, 22), (0, 22, b"y")]
    assert [frame.source.offset for frame in frames_of(lost)] == [0, 0]


def test_what_the_snap_length_cut_off_is_a_gap() -> None:
    segments = conversation().segments
    segments[4] = changed(segments[4], payload=b"t", missing=2)
    assert texts(segments) == (b"onet??four", b"einsdrei")


def test_a_stream_without_its_begin_begins_with_an_unknown_gap() -> None:
    assert delivered(conversation().segments[4:]) == [
        (0, 0, None), (0, 0, b"two"), (1, 0, None), (1, 0, b"eins"), (1, 4, b"drei"), (0, 3, b"four"),
    ]  # fmt: skip


def test_without_its_begin_too_the_first_segments_may_be_swapped() -> None:
    segments = conversation().segments[3:]
    segments[0], segments[1] = segments[1], segments[0]
    assert [item[2] for item in delivered(segments)] == [None, b"one", b"two", None, b"eins", b"drei", b"four"]


def test_without_its_begin_segments_may_be_swapped_with_those_behind_a_long_pause() -> None:
    captured = conversation()
    for _ in range(8):
        captured.say(0, b"more")
    paused = [changed(one, nanoseconds=(one.nanoseconds or 0) + 17 * 10**9) for one in captured.segments[6:]]
    segments = [captured.segments[5], *paused[:6], captured.segments[4], *paused[6:]]
    assert b"".join(item[2] for item in delivered(segments) if item[2] and item[0] == 0) == b"twofour" + 8 * b"more"


@pytest.mark.parametrize("lost", [{0}, {1}, {0, 2}, {1, 2}])
def test_one_syn_tells_where_both_streams_begin(lost: set[int]) -> None:
    segments = [segment for index, segment in enumerate(conversation().segments) if index not in lost]
    assert None not in [item[2] for item in delivered(segments)]
    assert texts(segments) == (b"onetwofour", b"einsdrei")


def test_a_port_pair_that_is_used_again_is_another_connection() -> None:
    first, second = conversation().close(), conversation(client_first=2**31, broker_first=77)
    events = events_of([*first.segments, *second.segments])
    numbers = {event.connection.number for event in events}
    assert numbers == {0, 1}
    assert [event.connection.number for event in events if isinstance(event, Ended)] == [0, 1]
    assert b"".join(event.data for event in events if isinstance(event, Portion)) == b"onetwoeinsdreifour" * 2


def test_a_reset_ends_a_connection_but_not_what_was_captured_late() -> None:
    segments = [*conversation().segments, changed(conversation().say(1, flags=RST | ACK).segments[-1])]
    segments[-1], segments[-2] = segments[-2], segments[-1]
    events = events_of(segments)
    assert texts(segments) == (b"onetwofour", b"einsdrei")
    assert isinstance(events[-1], Ended)
    assert events[-1].connection.closed


def test_closed_connections_are_dropped_soon() -> None:
    reassembler = ConnectionTable()
    ended = 0
    for port in range(20000):
        conversation = (
            Conversation(ports=(port + 1, 9092), now=1_700_000_000_000_000_000 + port * 10_000_000).open().close()
        )
        ended += sum(
            isinstance(event, Ended) for segment in conversation.segments for event in reassembler.feed(segment)
        )
        assert port - ended < 500
    assert len(list(reassembler.finish())) < 500


def test_no_more_connections_are_kept_than_allowed() -> None:
    reassembler = ConnectionTable(ReassemblyLimits(connections=10))
    numbers = []
    for port in range(30):
        for segment in Conversation(ports=(port + 1, 9092), now=1_700_000_000_000_000_000 + port).open().segments:
            numbers += [event.connection.number for event in reassembler.feed(segment) if isinstance(event, Ended)]
    assert numbers == sorted(numbers)
    assert len(numbers) + sum(isinstance(event, Ended) for event in reassembler.finish()) == 30


def test_no_more_bytes_wait_than_allowed() -> None:
    conversation = Conversation().open().say(0, b"lost")
    for _ in range(1000):
        conversation.say(0, bytes(1000))
    segments = [*conversation.segments[:3], *conversation.segments[4:]]
    reassembler, most = ConnectionTable(ReassemblyLimits(waiting=50_000)), 0
    events: list[Event] = []
    for segment in segments:
        events += reassembler.feed(segment)
        most = max(
            most, 1000 * (segments.index(segment) - 2) - sum(len(getattr(event, "data", b"")) for event in events)
        )
    assert most <= 50_000
    assert events[0] == StreamGap(events[0].connection, 0, 0, events[0].nanoseconds, 4)  # type: ignore[union-attr]


def test_one_side_alone_is_enough() -> None:
    segments = [segment for segment in conversation().close().segments if segment.key == conversation().key(0)]
    assert texts(segments)[0] == b"onetwofour"


def test_data_in_a_syn_comes_first() -> None:
    """TCP Fast Open: the first byte has the sequence number behind that of the SYN."""
    conversation = Conversation().open().say(0, b"one").say(0, b"two")
    first = changed(conversation.segments[0], payload=b"early")
    later = [changed(one, sequence=one.sequence + 5 * (one.key == first.key)) for one in conversation.segments[1:]]
    assert delivered([first, *later])[:3] == [(0, 0, b"early"), (0, 5, b"one"), (0, 8, b"two")]
    assert first.flags & SYN


def test_acknowledgements_are_believed_however_long_the_stream_is() -> None:
    """Also past 512 MiB, half of what a receiver may allow ahead."""
    half = HalfConnection(0)
    half.begin(1000)
    for count in (3 << 28, WINDOW, WINDOW, 1 << 29):
        half.advance(count)
        half.acknowledge(ahead_of(half, 5))
        assert (half.acked, half.owed()) == (ahead_of(half, 5), 5)
    acked = half.acked
    half.acknowledge(ahead_of(half, WINDOW + 1))  # no receiver has as much
    assert half.acked == acked


def ahead_of(half: HalfConnection, count: int) -> int:
    assert half.sequence is not None
    return half.sequence + count & 0xFFFFFFFF


def test_a_fin_counts_once() -> None:
    half = HalfConnection(0)
    half.begin(1000)
    half.put(StreamSegment(0, 3, b"abc", None, None, 1), 0)
    half.end = 3
    half.release()
    assert (half.finished, half.sequence) == (True, 1004)
    half.advance(0)
    assert half.sequence == 1004
