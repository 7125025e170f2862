"""A cluster moves step by step, in whichever order."""

from __future__ import annotations

import pytest

from kwire.cluster.kip112 import JbodCluster
from tests.cluster.kip112.playing import fail, isr, started

T = ("orders", 0)


@pytest.mark.parametrize("last", [True, False])
def test_the_order_of_what_is_under_way_does_not_matter_in_the_end(last: bool) -> None:
    cluster = started()
    cluster.create_topic("orders", [(2, 3, 1)])
    cluster.run()
    fail(cluster, 2, T)
    while steps := list(cluster.steps()):
        cluster.take(steps[-1 if last else 0])
    assert isr(cluster, T) == (3, (3, 1))


def test_a_quiet_cluster_has_no_steps() -> None:
    cluster = started()
    assert list(cluster.steps()) == []


def test_a_connection_that_drops_at_every_answer_still_gets_there() -> None:
    cluster = started()
    cluster.create_topic("orders", [(2, 3, 1)])
    dropped = set()
    while steps := list(cluster.steps()):
        kind, which = steps[0]
        if kind == "answer" and not isinstance(which, int) and which not in dropped:
            dropped.add(which)
            cluster.drop(which)
        else:
            cluster.take(steps[0])
    assert len(dropped) == 3
    assert isr(cluster, T) == (2, (2, 3, 1))


def test_the_journal_has_what_was_delivered_in_its_order() -> None:
    cluster = JbodCluster({1: ["/a"]})
    cluster.start(1)
    cluster.elect(1)
    assert cluster.journal == []
    cluster.run()
    assert [(one.broker_id, one.controller_epoch, one.response.error_code) for one in cluster.journal] == [(1, 1, 0)]
