"""SyncGroup and Heartbeat: who is given what, who is told to join again, who is not known."""

from __future__ import annotations

import pytest

from kwire.broker import codes
from kwire.broker.groups.group import GroupState
from tests.broker.groups.driving import Mate, World


@pytest.mark.parametrize("version", range(6))
def test_every_version(version: int) -> None:
    world = World(SyncGroup=version, Heartbeat=min(version, 4))
    first, second = world.mates(2)
    again = second.sync()
    assert (again.assignment, again.protocol_name) == (b"1", "range" if version >= 5 else None)
    assert (first.beat(), second.beat(generation_id=7)) == (0, codes.ILLEGAL_GENERATION)
    refused = second.sync(group_id="")
    assert (refused.error_code, refused.assignment) == (codes.INVALID_GROUP_ID, b"")


def test_who_is_assigned_nothing_gets_nothing() -> None:
    world = World()
    first = Mate(world)
    first.join()
    answer = first.sync({"somebody else": b"x"})
    assert (answer.error_code, answer.assignment, world.group().state) == (0, b"", GroupState.STABLE)


def test_who_may_not_sync() -> None:
    world = World()
    first, second = world.mates(2)
    assert first.sync(generation_id=1).error_code == codes.ILLEGAL_GENERATION
    assert first.sync(member_id="x").error_code == codes.UNKNOWN_MEMBER_ID
    assert first.sync(group_id="x").error_code == codes.UNKNOWN_MEMBER_ID
    for fields in ({"protocol_name": "sticky"}, {"protocol_type": "connect"}, {"protocol_name": None}):
        assert first.sync(**fields).error_code == codes.INCONSISTENT_GROUP_PROTOCOL
    first.join()
    assert second.sync().error_code == codes.REBALANCE_IN_PROGRESS


def test_hearts_beat() -> None:
    world = World()
    first, second = Mate(world), Mate(world, instance="i")
    assert first.beat() == codes.UNKNOWN_MEMBER_ID
    first.join()
    assert first.beat() == 0  # though its assignment is still to come
    first.sync()
    assert (first.beat(), first.beat(member_id="x"), first.beat(group_id="")) == (0, 25, 24)
    assert (first.beat(group_instance_id="i"), first.beat(generation_id=0)) == (25, 22)
    second.join()
    assert first.beat() == codes.REBALANCE_IN_PROGRESS
