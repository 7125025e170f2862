"""Piles of partitions, and who has least."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.assignors.members import TopicPartition
from kwire.cluster.assignors.sticky.holdings import Holdings, Pile


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=40))
def test_a_pile_is_a_list(steps: list[tuple[bool, int]]) -> None:
    pile, plain = Pile(), []
    for adds, number in steps:
        one: TopicPartition = ("t", number)
        if adds:
            pile.append(one)
            plain.append(one)
        else:
            pile.remove(one)
            if one in plain:
                plain.remove(one)
        assert (list(pile), len(pile), one in pile, pile.count(one)) == (
            plain,
            len(plain),
            one in plain,
            plain.count(one),
        )


def holdings_of(racks: dict[str, str]) -> Holdings:
    piles = {"c2": Pile(), "c10": Pile(), "c1": Pile([("t", 0)])}
    return Holdings(piles, {("t", 0): "c1"}, {"t": ["c1", "c2"], "u": ["c10", "c1"]}, racks)


def test_the_least_loaded_holds_least_then_is_first_by_id() -> None:
    holdings = holdings_of({})
    assert (list(holdings), holdings.least, holdings.most) == (["c10", "c2", "c1"], 0, 1)
    assert (holdings.choose_subscriber("t"), holdings.choose_subscriber("u")) == ("c2", "c10")
    holdings.give(("u", 0), "c10")
    assert (holdings.choose_subscriber("u"), holdings.holder[("u", 0)]) == ("c1", "c10")
    holdings.move(("t", 0), "c1", "c2")
    assert (list(holdings), holdings.holder[("t", 0)]) == (["c1", "c10", "c2"], "c2")
    assert list(holdings.set_aside("c2")) == [("t", 0)]
    assert (list(holdings), holdings.choose_subscriber("t")) == (["c1", "c10"], "c1")


def test_in_a_rack_or_without_one() -> None:
    holdings = holdings_of({"c1": "a", "c2": "b"})
    assert holdings.choose_subscriber("t", frozenset("a")) == "c1"
    assert holdings.choose_subscriber("t", frozenset("x")) is None
    assert holdings.choose_subscriber("u", frozenset("x")) == "c10"
