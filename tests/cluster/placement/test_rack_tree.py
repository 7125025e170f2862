"""Racks as paths, and the tree of them."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.cluster import Broker
from kwire.cluster.placement.rack_tree import RackNode, RackTree, rack_path
from kwire.errors.refused import BrokerNotAvailable, InvalidRack, InvalidReplicaAssignment
from tests.cluster.vectors import brokers_of, cases, check, reason_of


def nested(node: RackNode) -> dict[str, Any]:
    inner = [nested(child) for child in node.children if child.broker is None]
    return {"path": node.path, "children": inner, "brokers": [leaf.broker for leaf in node.children[len(inner) :]]}


def test_vectors_of_racks() -> None:
    check(cases("kip879", kind="parse"), lambda case: reason_of(lambda: rack_path(case["rack"])))
    check(cases("kip879", kind="tree"), lambda case: reason_of(lambda: nested(RackTree(brokers_of(case)).root)))


def test_children_are_ordered_by_utf16_units_and_then_brokers_by_id() -> None:
    racks = ["/\uff5e", "/\U0001f600", "/z", "/", "/z/a", "/", "/z"]
    tree = RackTree([Broker(id, rack=rack) for id, rack in reversed(list(enumerate(racks)))])
    assert [(child.name, child.broker) for child in tree.root.children] == [
        ("/z", None),
        ("/\U0001f600", None),
        ("/\uff5e", None),
        ("", 3),
        ("", 5),
    ]
    assert [(node.path, node.size, node.depth) for node in tree.nodes] == [
        ("/", 7, 0),
        ("/z", 3, 1),
        ("/\U0001f600", 1, 1),
        ("/\uff5e", 1, 1),
        ("/z/a", 1, 2),
    ]
    assert repr(tree.brokers[6]) == "<Node broker 6>"
    assert [leaf.path for leaf in tree.leaves([4, 3])] == ["/z/a", "/"]


def test_what_is_no_path_is_refused_unless_it_need_not_be_one() -> None:
    brokers = [Broker(0, rack="a"), Broker(1), Broker(2, rack="/b/c"), Broker(3, rack="b//c"), Broker(4, rack="")]
    with pytest.raises(InvalidRack, match=r"brokers \[1\] have no rack"):
        RackTree(brokers)
    with pytest.raises(InvalidRack, match="the rack 'a' is not a path: it does not start with /"):
        RackTree(brokers[:1])
    tree = RackTree(brokers, strict=False)
    assert [node.path for node in tree.nodes] == ["/", "/", "/b", "a", "b//c", "/b/c"]
    assert [leaf.broker for leaf in tree.root.children if leaf.broker is not None] == [1]


def test_brokers_that_are_not_there_or_twice() -> None:
    with pytest.raises(InvalidReplicaAssignment, match="broker 1 occurs twice"):
        RackTree([Broker(1, rack="/a"), Broker(1, rack="/b")])
    with pytest.raises(BrokerNotAvailable, match=r"there are no brokers \[3, 4\]"):
        RackTree([Broker(1, rack="/a")]).leaves([3, 1, 4])


def test_a_path_from_the_wire_cannot_be_as_deep_as_it_likes() -> None:
    assert len(RackTree([Broker(1, rack="/a" * 100)]).nodes) == 101
    with pytest.raises(InvalidRack, match="has 16383 levels; have at most 100"):
        RackTree([Broker(1, rack="/a" * 16_383)])
