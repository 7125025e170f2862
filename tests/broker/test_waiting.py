"""Requests that wait: by what, until when, and forgotten."""

from __future__ import annotations

from kwire.broker.waiting import Parked, WaitingRoom


def test_the_first_answer_counts_and_nothing_is_kept() -> None:
    room, said = WaitingRoom(), ["early"]
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
    room = WaitingRoom()
    parked = Parked(lambda over: "answer", ["a"])
    room.park(parked, 5.0)
    room.forget(parked)
    room.changed("a")
    room.tick(9.0)
    assert (room.answered, parked.response) == ([], None)
