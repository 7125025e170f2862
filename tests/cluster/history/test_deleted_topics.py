"""When topics were deleted, by whom that is told."""

from __future__ import annotations

from kwire.cluster.events.authority import Authority
from kwire.cluster.events.event import DELETED, ReportedState
from kwire.cluster.history.deleted_topics import find_deleted_topics
from kwire.cluster.history.partition_timeline import Moment, PartitionTimeline
from kwire.cluster.state import ClusterState, DeletedTopic, Partition
from kwire.render.cluster.cluster_differences import cluster_difference_lines
from kwire.render.cluster.cluster_json import cluster_json
from kwire.render.cluster.cluster_text import cluster_lines

LIVES = ReportedState(1, replicas=(1, 2), isr=(1, 2))


def timeline(*states: tuple[float, ReportedState], authority: Authority = Authority.RECORD) -> PartitionTimeline:
    found = PartitionTimeline()
    for order, (time, state) in enumerate(states):
        found.observe("reporter", state, Moment(order, time), "source", authority)
    return found


def test_the_last_partition_ends_a_topic() -> None:
    partitions = {
        ("doomed", 0): timeline((1.0, LIVES), (5.0, DELETED)),
        ("doomed", 1): timeline((1.0, LIVES), (7.0, DELETED)),
        ("doomed", 2): timeline((1.0, LIVES), (6.0, DELETED)),
        ("half", 0): timeline((1.0, LIVES), (5.0, DELETED)),
        ("half", 1): timeline((1.0, LIVES)),
        ("again", 0): timeline((1.0, LIVES), (5.0, DELETED), (6.0, LIVES)),
        ("empty", 0): PartitionTimeline(),
    }
    assert find_deleted_topics(partitions) == {"doomed": DeletedTopic(7.0, True)}


def test_a_broker_tells_only_that_a_topic_is_gone() -> None:
    partitions = {("doomed", 0): timeline((1.0, LIVES), (5.0, DELETED), authority=Authority.CLIENT)}
    assert find_deleted_topics(partitions) == {"doomed": DeletedTopic(5.0, False)}


def test_it_is_shown_as_text_and_as_json() -> None:
    before, after = ClusterState(), ClusterState()
    before.put(Partition("doomed", 0, leader=1, replicas=(1,), isr=(1,)))
    after.deleted_topics = {"doomed": DeletedTopic(1795243661.5, True), "old": DeletedTopic(None, True)}
    assert "deleted: doomed at 2026-11-21T06:47:41.500, old" in list(cluster_lines(after))
    expected = [
        {"topic": "doomed", "time": 1795243661.5, "isExact": True},
        {"topic": "old", "time": None, "isExact": True},
    ]
    assert cluster_json(after)["deletedTopics"] == expected
    assert list(cluster_difference_lines(before, after)) == [
        "partition doomed-0: gone, deleted at 2026-11-21T06:47:41.500"
    ]
    after.deleted_topics = {}
    assert list(cluster_difference_lines(before, after)) == ["partition doomed-0: gone"]
