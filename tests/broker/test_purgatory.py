"""Requests that wait: by what, until when, and forgotten."""

from __future__ import annotations

from kwire.broker.purgatory import Later, Parked, Purgatory


def test_the_first_answer_counts_and_nothing_is_kept() -> None:
    room, said = Purgatory(), ["early"]
    parked = Parked(lambda over: said[0] if said else None, ["a", "b"])
    room.park(parked, 5.0)
    room.changed("c")
    assert room.answered == []
    room.changed("b")
    room.changed("a")
    room.answer(parked, "late")
    room.tick(9.0)
    assert ([one.response for one in room.answered], room.next_deadline, room._by_key) == (["early"], None, {})


def test_who_is_gone_is_not_answered() -> None:
    room = Purgatory()
    parked = Parked(lambda over: "answer", ["a"])
    room.park(parked, 5.0)
    room.forget(parked)
    room.changed("a")
    room.tick(9.0)
    assert (room.answered, parked.response) == ([], None)


def test_the_forgotten_are_not_kept_until_their_time() -> None:
    room = Purgatory()
    last = Parked(lambda over: "answer" if over else None, ["a"])
    room.park(last, 2000.0)
    for number in range(10_000):
        parked = Parked(lambda over: "never" if over else None, ["b"])
        room.park(parked, 1000.0 + number % 7)
        room.forget(parked)
        room.forget(parked)
    assert len(room._deadlines) < 200
    room.tick(1999.0)
    assert room.answered == []
    room.tick(2000.0)
    assert ([one.response for one in room.answered], room.next_deadline, room.now) == (["answer"], None, 2000.0)


def test_a_response_that_is_made_when_it_is_taken() -> None:
    made: list[int] = []

    def make() -> str:
        made.append(1)
        return "late"

    room = Purgatory()
    parked: Parked[str] = Parked(lambda over: Later(make), ["key"])
    room.park(parked, 1.0)
    room.changed("key")
    assert (parked.is_answered, made, room.answered) == (True, [], [parked])
    assert (parked.response, parked.response, made) == ("late", "late", [1])
