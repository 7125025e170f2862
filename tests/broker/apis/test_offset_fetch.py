"""OffsetFetch: what was committed, of topics that still are."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker import codes
from kwire.broker.internal_topics import coordinator_of
from tests.broker.groups.driving import Mate, World
from tests.broker.served import M


def fetched(world: World, version: int, topics: Any = (("t", (0, 1)),), group: str = "g", node: int = 1) -> Any:
    """Return the error code of the group, and the offset, metadata and error code by topic and partition."""
    request = M.OffsetFetchRequest
    kind: Any = request.OffsetFetchRequestTopic if version < 8 else request.OffsetFetchRequestTopics
    rows = None if topics is None else tuple(kind(**_named(name), partition_indexes=parts) for name, parts in topics)
    if version < 8:
        found = world.ask("OffsetFetch", version, node, group_id=group, topics=rows)
    else:
        wanted = (request.OffsetFetchRequestGroup(group_id=group, topics=rows),)
        (found,) = world.ask("OffsetFetch", version, node, groups=wanted).groups
    return found.error_code, {
        (topic.name or topic.topic_id, one.partition_index): (one.committed_offset, one.metadata, one.error_code)
        for topic in found.topics
        for one in topic.partitions
    }


def _named(name: str | bytes) -> dict[str, Any]:
    return {"topic_id": name} if isinstance(name, bytes) else {"name": name}


@pytest.mark.parametrize("version", range(11))
def test_every_version(version: int) -> None:
    world = World(count=2)
    topic: Any = world.cluster.controller.topics["t"].topic_id if version == 10 else "t"
    other: Any = b"x" * 16 if version == 10 else "x"
    (mate,) = world.mates(1)
    node = coordinator_of("g", world.cluster.controller) or 0
    assert mate.commit(5, 1, metadata="m") == 0
    nothing, unknown = (-1, "", 0), (-1, "", codes.UNKNOWN_TOPIC_ID if version == 10 else 0)
    code, found = fetched(world, version, [(topic, (0, 1, 1)), (topic, (1,)), (other, (0,))], node=node)
    assert (code, found) == (0, {(topic, 0): nothing, (topic, 1): (5, "m", 0), (other, 0): unknown})
    if version >= 2:
        assert fetched(world, version, None, node=node) == (0, {(topic, 1): (5, "m", 0)})
    code, found = fetched(world, version, [(topic, (0,))], node=3 - node)
    if version < 2:
        assert found == {(topic, 0): (-1, "", codes.NOT_COORDINATOR)}
    else:
        assert (code, found) == (codes.NOT_COORDINATOR, {})


def test_groups_that_are_not_there_have_nothing() -> None:
    world = World()
    assert fetched(world, 9, group="none") == (0, {("t", 0): (-1, "", 0), ("t", 1): (-1, "", 0)})
    assert fetched(world, 9, None, group="none") == (0, {})


def test_several_groups_at_once() -> None:
    world = World()
    for name in "ab":
        assert Mate(world, name).commit(5) == 0
    row = M.OffsetFetchRequest.OffsetFetchRequestGroup
    groups = [row(group_id=name, topics=None) for name in "aabx"]
    found = world.ask("OffsetFetch", 9, groups=groups).groups
    assert [(one.group_id, len(one.topics)) for one in found] == [("a", 1), ("b", 1), ("x", 0)]


def test_commits_go_with_their_topic() -> None:
    world = World()
    assert Mate(world).commit(5) == 0
    controller = world.cluster.controller
    controller.delete(controller.topics["t"])
    assert fetched(world, 9, None) == (0, {})
    controller.create("t", {0: [1]})
    assert fetched(world, 9, [("t", (0,))]) == (0, {("t", 0): (-1, "", 0)})
    assert Mate(world).commit(7) == 0
    assert fetched(world, 9, None) == (0, {("t", 0): (7, "", 0)})
