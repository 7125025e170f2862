"""Dead letters of share groups (KIP-1191): when they wait, are written again, are split, or are not written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import kwire
from kwire.broker.groups.record_states import AcknowledgeType
from kwire.broker.share_groups.dead_letter_queue import BACKOFFS, COPIES_RECORDS, TAKES_LETTERS, TOPIC_NAME
from tests.broker.driving import World
from tests.broker.share_groups.test_share_groups import Sharer, partition, send, share_world
from tests.broker.stored import StoredDisk

REJECT = AcknowledgeType.REJECT
LETTERS = "dlq.letters"


def letter_world(of_topic: Mapping[str, str] = {}, *, disks: Any = (), nodes: tuple[int, ...] = (1,)) -> World:
    """Return a cluster with a group whose dead letters have copies, and their topic."""
    world = share_world(disks=disks, **{TOPIC_NAME: LETTERS, COPIES_RECORDS: "true"})
    world.cluster.controller.create(LETTERS, {0: list(nodes)}, {TAKES_LETTERS: "true", **of_topic})
    return world


def batches(world: World) -> list[list[kwire.Record]]:
    log = world.cluster.controller.topics[LETTERS].partitions[0].log_at(1)
    assert not isinstance(log, int)
    return [list(batch.records()) for batch in kwire.parse_records(log.read(0, 1 << 20))]


def offsets(world: World) -> list[str]:
    """Return the original offsets of the dead letters."""
    headers = [dict(record.headers) for rows in batches(world) for record in rows]
    return [(row["__dlq.errors.offset"] or b"").decode() for row in headers]


def test_letters_wait_until_their_partition_has_a_leader() -> None:
    world = letter_world(disks=[StoredDisk("a"), StoredDisk("b")], nodes=(2,))
    member = Sharer(world, "a")
    send(world, 3)
    assert member.fetch() == [(0, 2, 1)]
    world.cluster.stop(2)
    assert member.fetch((0, 1, REJECT)) == []
    assert partition(world).start == 0  # they are not archived yet
    world.cluster.start(2)
    world.wait(BACKOFFS[0])
    assert partition(world).start == 2
    log = world.cluster.controller.topics[LETTERS].partitions[0].log_at(2)
    assert not isinstance(log, int)
    assert log.end == 2


def test_letters_are_given_up_after_some_attempts() -> None:
    world = letter_world(disks=[StoredDisk("a"), StoredDisk("b")], nodes=(2,))
    member = Sharer(world, "a")
    send(world, 3)
    member.fetch()
    world.cluster.stop(2)
    world.cluster.tick(world.now)  # as servers do before requests
    member.fetch((0, 1, REJECT))
    world.wait(sum(BACKOFFS) - 0.1)
    assert partition(world).start == 0
    world.wait(0.1)
    assert partition(world).start == 2


def test_letters_that_were_not_written_before_a_restart_are_written_then() -> None:
    disks = [StoredDisk("a"), StoredDisk("b")]
    world = letter_world(disks=disks, nodes=(2,))
    member = Sharer(world, "a")
    send(world, 3)
    member.fetch()
    world.cluster.stop(2)
    member.fetch((0, 1, REJECT))
    again = World(disks=disks)
    assert partition(again).start == 0
    Sharer(again, "b", fetches=False).fetch()
    assert partition(again).start == 2
    log = again.cluster.controller.topics[LETTERS].partitions[0].log_at(2)
    assert not isinstance(log, int)
    assert log.end == 2


def test_without_the_feature_there_are_none() -> None:
    world = letter_world()
    world.cluster.feature_levels["share.version"] = 1
    member = Sharer(world, "a")
    send(world, 2)
    member.fetch()
    member.fetch((0, 1, REJECT))
    assert (offsets(world), partition(world).start) == ([], 2)


@pytest.mark.parametrize(("limit", "sizes"), [("1000", [5, 5]), ("100", [])])
def test_batches_are_not_larger_than_the_topic_allows(limit: str, sizes: list[int]) -> None:
    world = letter_world({"max.message.bytes": limit})
    member = Sharer(world, "a")
    send(world, 10)
    member.fetch()
    member.fetch((0, 9, REJECT))
    assert [len(rows) for rows in batches(world)] == sizes
    assert offsets(world) == [str(offset) for offset in range(sum(sizes))]
    assert partition(world).start == 10


def test_a_compacted_topic_takes_no_letters_without_keys() -> None:
    world = letter_world({"cleanup.policy": "compact"})
    member = Sharer(world, "a")
    send(world, 2)
    member.fetch()
    member.fetch((0, 1, REJECT))
    assert (offsets(world), partition(world).start) == ([], 2)
