"""ZooKeeper as a value: conditional writes, sequential and ephemeral nodes."""

from __future__ import annotations

from kwire.cluster.kip112 import Ensemble


def test_a_node_is_made_once() -> None:
    zk = Ensemble()
    assert zk.create("/a", b"1") == "/a"
    assert zk.create("/a", b"2") is None
    assert zk.nodes["/a"].data == b"1"


def test_a_write_over_another_version_is_refused() -> None:
    zk = Ensemble()
    zk.create("/a", b"1")
    assert zk.set("/a", b"2", 0) == 1
    assert zk.set("/a", b"3", 0) is None
    assert zk.set("/a", b"3") == 2
    assert zk.set("/b", b"3") is None
    assert zk.nodes["/a"].data == b"3"


def test_numbers_of_sequential_nodes_are_never_used_again() -> None:
    zk = Ensemble()
    assert zk.create("/n/e_", sequential=True) == "/n/e_0000000000"
    zk.delete("/n/e_0000000000")
    assert zk.create("/n/e_", sequential=True) == "/n/e_0000000001"


def test_a_session_takes_its_nodes_with_it() -> None:
    zk = Ensemble()
    zk.create("/ids/1", owner=1)
    zk.create("/ids/2", owner=2)
    zk.take_changes()
    zk.end_session(1)
    assert zk.children("/ids") == ["2"]
    assert zk.take_changes() == ["/ids/1"]
    assert zk.take_changes() == []


def test_deleting_takes_what_is_below() -> None:
    zk = Ensemble()
    for path in ("/t/a", "/t/a/b/c", "/t/ab"):
        zk.create(path)
    zk.delete("/t/a")
    assert list(zk.nodes) == ["/t/ab"]


def test_a_node_that_is_made_again_has_another_transaction() -> None:
    zk = Ensemble()
    zk.create("/a")
    first = zk.nodes["/a"].czxid
    zk.delete("/a")
    zk.create("/a")
    assert zk.nodes["/a"].czxid > first
