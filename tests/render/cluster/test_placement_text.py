"""What a placement's report says, in lines of 80 columns and as JSON."""

from __future__ import annotations

from kwire.cluster import Broker
from kwire.cluster.placement.rack_tree import RackTree
from kwire.cluster.plan.replica_plan import ReplicaPlan
from kwire.render.cluster.placement_json import comparison_json, report_json
from kwire.render.cluster.placement_text import assignment_lines, report_lines
from kwire.render.cluster.plan_text import comparison_lines, plan_lines, plan_summary
from kwire.render.colours import Style

TREE = RackTree([Broker(id, rack=f"/{'ab'[id // 3]}/{id % 2}") for id in range(4)])
PLACED = {("t", 0): [3, 0], ("t", 1): [0, 1], ("t", 2): [1, 3], ("t", 3): [2]}


def test_a_line_a_partition() -> None:
    assert list(assignment_lines(TREE, PLACED)) == [
        "partition  replicas  racks",
        "0          3,0       /b/1 /a/0",
        "1          0,1       /a/0 /a/1",
        "2          1,3       /a/1 /b/1",
        "3          2         /a/0",
    ]
    assert list(assignment_lines(RackTree([Broker(1)], strict=False), {("t", 0): [1], ("u", 0): []})) == [
        "partition  replicas",
        "t-0        1",
        "u-0        -",
    ]


def test_the_report() -> None:
    assert list(report_lines(TREE, PLACED)) == [
        "",
        "level 1  brokers  replicas  leaders",
        "/a             3         5        3",
        "/b             1         2        1",
        "not spread as evenly as possible: 1 partition: 1",
        "",
        "level 2  brokers  replicas  leaders",
        "/a/0           2         3        2",
        "/a/1           1         2        1",
        "/b/1           1         2        1",
        "each partition is spread as evenly as possible over this level",
        "",
        "broker  rack  replicas  leaders",
        "0       /a/0         2        1",
        "1       /a/1         2        1",
        "2       /a/0         1        1",
        "3       /b/1         2        1",
        "",
        "warning: level 1 is uneven: /a has 3 brokers, /b has 1; brokers in smaller ones",
        "  hold more replicas",
        "warning: level 2 is uneven: /a/0 has 2 brokers, /a/1 has 1; brokers in smaller",
        "  ones hold more replicas",
        "",
        "without /a no replica of 2 partitions: 1, 3; no majority of 2 partitions: 0, 2",
        "without /b no majority of 2 partitions: 0, 2",
        "without /a/0 no replica of 1 partition: 3; no majority of 2 partitions: 0-1",
        "without /a/1 no majority of 2 partitions: 1-2",
        "without /b/1 no majority of 2 partitions: 0, 2",
        "without broker 0 no majority of 2 partitions: 0-1",
        "without broker 1 no majority of 2 partitions: 1-2",
        "without broker 2 no replica of 1 partition: 3",
        "without broker 3 no majority of 2 partitions: 0, 2",
    ]


def test_brokers_that_hold_much_more_than_others() -> None:
    tree = RackTree([Broker(id) for id in range(3)], strict=False)
    lines = list(report_lines(tree, {("t", index): [0, index % 2] for index in range(1, 9, 2)} | {("u", 0): [2]}))
    assert "warning: broker 0 holds 4 replicas, broker 2 1, 4.0 times as many" in lines
    assert "without broker 1 no majority of 4 partitions: t-1, t-3, t-5, t-7" in lines
    lines = list(report_lines(tree, {("t", 0): [0, 1], ("t", 1): [0, 1]}))
    assert "warning: broker 0 holds 2 replicas, broker 2 0" in lines


def test_nothing_to_warn_of() -> None:
    tree = RackTree([Broker(id, rack="abc"[id]) for id in range(3)], strict=False)
    lines = list(report_lines(tree, {("t", 0): [0, 1, 2]}, Style(colour=True)))
    assert lines[-2:] == ["", "no single failure leaves a partition without a majority"]
    assert not any("warning" in line for line in lines)


def test_long_lists_are_wrapped_and_names_cannot_fool_a_terminal() -> None:
    tree = RackTree([Broker(0, rack="/\x1b[31m"), Broker(1, rack="/b")])
    lines = list(report_lines(tree, {("t", index): [0] for index in range(0, 400, 2)}))
    assert max(map(len, lines)) <= 80
    assert not any("\x1b" in line for line in lines)


def test_json() -> None:
    report = report_json(TREE, PLACED)
    assert report["levels"][0] == {
        "level": 1,
        "nodes": [
            {"path": "/a", "brokers": 3, "replicas": 5, "leaders": 3},
            {"path": "/b", "brokers": 1, "replicas": 2, "leaders": 1},
        ],
        "uneven": [{"topic": "t", "partition": 1}],
    }
    assert report["levels"][2]["nodes"][2] == {"broker": 2, "path": "/a/0", "brokers": 1, "replicas": 1, "leaders": 1}
    assert report["lost"][-2] == {
        "broker": 2,
        "path": "/a/0",
        "majority": [],
        "everything": [{"topic": "t", "partition": 3}],
    }


def test_a_plan_before_and_after() -> None:
    tree = RackTree([Broker(id, rack=f"/{'ab'[id // 2]}") for id in range(4)])
    left = RackTree([Broker(id, rack=f"/{'ab'[id // 2]}") for id in range(3)])
    before = {("t", 0): [0, 1], ("t", 1): [3, 1], ("u", 0): [0, 2], ("u", 1): [9]}
    plan = ReplicaPlan(before, before | {("t", 0): [0, 2], ("t", 1): [1, 2]}, {("t", 0): 2048, ("t", 1): 1024})
    assert list(plan_lines(plan)) == [
        "partition  replicas  become  move",
        "t-0        0,1       0,2     1 -> 2",
        "t-1        3,1       1,2     3 -> 2",
    ]
    assert plan_summary(plan) == "2 of 4 partitions change: 2 replicas move, 3.0 KiB; 1 other preferred leader"
    assert list(comparison_lines((tree, left), plan)) == [
        "",
        "level 1  brokers  replicas  leaders",
        "/a             2    4 -> 3   2 -> 3",
        "/b             2    2 -> 3   1 -> 0",
        "each partition is spread as evenly as possible over this level (1 was not)",
        "",
        "broker  rack  replicas  leaders",
        "0       /a           2        2",
        "1       /a      2 -> 1   0 -> 1",
        "2       /b      1 -> 3        0",
        "3       /b      1 -> 0   1 -> 0",
        "",
        "without   no replica of  no majority of",
        "/a               1 -> 0          2 -> 3",
        "/b                    0          2 -> 3",
        "broker 0              0               2",
        "broker 1              0          2 -> 1",
        "broker 2              0          1 -> 3",
        "broker 3              0          1 -> 0",
    ]
    found = comparison_json((tree, left), plan)
    assert (found["changed"], found["replicasMoved"], found["bytesMoved"], found["newPreferredLeaders"]) == (
        2,
        2,
        3072,
        1,
    )
    assert [len(found[when]["levels"][1]["nodes"]) for when in ("before", "after")] == [4, 3]
