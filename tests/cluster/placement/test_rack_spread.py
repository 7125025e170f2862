"""How even assignments are, and what is lost with what, against counting the simple way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster import Broker
from kwire.cluster.placement.rack_spread import is_even, losses_of, spread_of, uneven_nodes
from kwire.cluster.placement.rack_tree import RackNode, RackTree
from kwire.errors.refused import BrokerNotAvailable
from tests.cluster.vectors import brokers_of, cases, check

BROKERS = [Broker(id, rack=f"/{'ab'[id // 4]}/{id // 2}") for id in range(8)]  # two data centres of two racks of two
ASSIGNMENTS = st.dictionaries(st.text(max_size=2), st.lists(st.integers(0, 7), min_size=1, max_size=6, unique=True))


def test_vectors_of_even_spread() -> None:
    found = cases("kip879", kind="check_spread")
    check(found, lambda case: {"result": is_even(RackTree(brokers_of(case)), case["replicas"])})


def test_the_nodes_that_are_uneven() -> None:
    tree = RackTree(BROKERS)
    assert [node.path for node in uneven_nodes(tree, [0, 1, 4])] == ["/a"]
    assert [node.path for node in uneven_nodes(tree, [0, 1, 2])] == ["/"]
    assert [node.path for node in uneven_nodes(tree, [4, 5, 6, 7])] == ["/"]
    assert uneven_nodes(tree, []) == []
    levels = spread_of(tree, {"x": [0, 1, 4], "y": [0, 4], "z": [0, 1, 2]})
    assert [(level.number, level.is_of_brokers, level.uneven) for level in levels] == [
        (1, False, ["z"]),
        (2, False, ["x"]),
        (3, True, []),
    ]


def test_a_child_that_is_full_may_have_less() -> None:
    tree = RackTree([*BROKERS[:4], Broker(4, rack="/b"), Broker(5)], strict=False)
    assert is_even(tree, [0, 2, 4, 5, 1])
    assert not is_even(tree, [0, 2, 5, 1])


def name_of(node: RackNode) -> str:
    return node.path if node.broker is None else str(node.broker)


@given(ASSIGNMENTS)
def test_loads_and_losses_are_as_counted_one_by_one(assignment: dict[str, list[int]]) -> None:
    tree = RackTree(BROKERS)
    losses = {name_of(loss.node): (loss.majority, loss.everything) for loss in losses_of(tree, assignment)}
    for level in spread_of(tree, assignment):
        for load in level.loads:
            held = {broker.node_id for broker in BROKERS if load.node in tree.brokers[broker.node_id].upwards()}
            assert load.replicas == sum(id in held for replicas in assignment.values() for id in replicas)
            assert load.leaders == sum(replicas[0] in held for replicas in assignment.values())
            left = {name: len(set(replicas) - held) / len(replicas) for name, replicas in assignment.items()}
            everything = [name for name in left if left[name] == 0]
            majority = [name for name in left if 0 < left[name] <= 0.5]
            assert losses.pop(name_of(load.node), ([], [])) == (majority, everything)
    assert losses == {}


def test_a_broker_that_is_not_there() -> None:
    with pytest.raises(BrokerNotAvailable, match=r"no brokers \[9\]"):
        spread_of(RackTree(BROKERS), {0: [1, 9]})
