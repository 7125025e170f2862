"""All groups: who coordinates, what is kept when a broker is at its end, what is forgotten."""

from __future__ import annotations

from typing import Any

from kwire.broker import codes
from kwire.broker.internal_topics import coordinator_of
from tests.broker.groups.driving import Mate, World


def test_the_next_broker_goes_on_where_one_ended() -> None:
    world = World(count=2)
    world.cluster.controller.create("both", {0: [1, 2]})
    group = next(name for name in "abcdef" if coordinator_of(name, world.cluster.controller) == 1)
    mate = Mate(world, group)
    assert (mate.join().error_code, mate.sync({}).error_code) == (0, 0)
    assert mate.commit(5, topic="both") == 0
    beat: dict[str, Any] = {"group_id": group, "member_id": mate.member_id, "generation_id": mate.generation}
    assert world.ask("Heartbeat", 4, 2, **beat).error_code == codes.NOT_COORDINATOR
    world.cluster.fail(*world.cluster.controller.nodes[1].log_dirs)
    assert world.ask("Heartbeat", 4, 2, **beat).error_code == 0
    (found,) = world.ask("OffsetFetch", 7, 2, group_id=group, topics=None).topics
    assert (found.name, found.partitions[0].committed_offset) == ("both", 5)


def test_a_deleted_group_is_looked_after_no_more() -> None:
    world = World()
    (mate,) = world.mates(1)
    mate.leave()
    assert Mate(world).request().error_code == codes.MEMBER_ID_REQUIRED
    assert world.cluster.next_deadline is not None
    world.ask("DeleteGroups", 2, groups_names=("g",))
    assert world.cluster.next_deadline is None
    assert (world.cluster.groups.held.size, world.cluster.groups.all()) == (0, [])
