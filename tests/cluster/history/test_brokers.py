"""Lists of live brokers, one after another, are lives of brokers."""

from __future__ import annotations

from typing import Any

from kwire.cluster.events.listed_brokers import Listed
from kwire.cluster.history.broker_lives import Absence, Brokers
from kwire.cluster.history.partition_timeline import Moment


def listed(*lists: tuple[str, list[int | Listed]], is_view: bool = False) -> Brokers:
    brokers = Brokers()
    for order, (reporter, nodes) in enumerate(lists):
        rows = [one if isinstance(one, Listed) else Listed(one, "r", (f"L://b{one}:9",)) for one in nodes]
        brokers.observe(reporter, rows, Moment(order, float(order)), "M", is_view)
    return brokers


def lives(brokers: Brokers) -> list[tuple[int, int, Any]]:
    return [(one.broker.node_id, one.since.order, one.until and one.until.order) for one in brokers.lives]


def test_a_broker_comes_goes_and_comes_back() -> None:
    brokers = listed(("a", [1]), ("a", [1, 2]), ("a", [1]), ("b", [1]), ("a", [1, 2]))
    assert lives(brokers) == [(1, 0, None), (2, 1, 2), (2, 4, None)]
    assert brokers.absences() == {2: [Absence(Moment(0, 0.0), Moment(1, 1.0)), Absence(Moment(2, 2.0), Moment(4, 4.0))]}
    assert brokers.at("b2:9") == 2
    assert brokers.at("b3:9") is None


def test_a_late_report_changes_nothing() -> None:
    brokers = listed(("a", [1, 2]), ("b", [1, 2]), ("a", [1]), ("b", [1, 2]), ("b", [1]))
    assert lives(brokers) == [(1, 0, None), (2, 0, 2)]


def test_a_new_connection_of_a_controller_counts_for_all() -> None:
    assert lives(listed(("a", [1, 2]), ("b", [2]))) == [(1, 0, 1), (2, 0, None)]


def test_a_view_counts_for_its_own_listener() -> None:
    assert lives(listed(("a", [1, 2]), ("b", [2]), ("a", [1, 2]), is_view=True)) == [(1, 0, None), (2, 0, None)]
    assert lives(listed(("a", [1, 2]), ("b", [1, 2]), ("b", [2]), is_view=True)) == [(1, 0, 2), (2, 0, None)]
    two = listed(("a", [Listed(1, "r", ("x:1",))]), ("b", [Listed(1, None, ("y:2",))]), is_view=True)
    assert [life.broker for life in two.lives] == [Listed(1, "r", ("x:1", "y:2"))]


def test_views_are_silent_once_a_controller_lists() -> None:
    brokers = listed(("a", [1]))
    brokers.observe("v", [Listed(5, None, ("x:1",))], Moment(9), "M", is_view=True)
    brokers.observe("a", [], Moment(10), "M")
    assert lives(brokers) == [(1, 0, None)]


def test_a_changed_rack_is_another_life_and_lasts_beyond_it() -> None:
    brokers = listed(("a", [1]), ("a", [Listed(1, "s", ("L://b1:9",))]), ("a", [2]))
    assert lives(brokers) == [(1, 0, 1), (1, 1, 2), (2, 2, None)]
    assert [racks for _, racks in brokers.racks] == [{1: "r"}, {1: "s"}, {1: "s", 2: "r"}]
