"""Groups over a restart: generations and commits stay, members do not, and damage in one directory costs nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.broker import codes
from kwire.broker.groups import coordinator
from kwire.broker.groups.group import GroupState
from kwire.internal import decode_group_record
from tests.broker.groups.driving import Mate, World
from tests.broker.served import M
from tests.broker.stored import StoredDisk


def disks_of(count: int = 1) -> list[StoredDisk]:
    return [StoredDisk(f"/d{number}", 1 << 30) for number in range(count)]


def committed(world: World, group: str = "g", index: int = 0) -> tuple[int, str]:
    topic = M.OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=(index,))
    (row,) = world.ask("OffsetFetch", 5, group_id=group, topics=(topic,)).topics[0].partitions
    assert row.error_code == 0
    return row.committed_offset, row.metadata


def records_in(disk: StoredDisk) -> list[Any]:
    data = b"".join(bytes(file) for _, file in sorted(disk.journals["groups"].items()))
    return [
        decode_group_record(record.key or b"", record.value)
        for one in kwire.parse_records(data)
        for record in one.records()
    ]


def test_commits_and_generations_are_there_and_members_join_again() -> None:
    disks = disks_of()
    mates = World(disks=disks).mates(2)
    assert [mate.commit(5 + index, index, metadata="m") for index, mate in enumerate(mates)] == [0, 0]
    world = World(disks=disks)
    assert [committed(world, index=index) for index in (0, 1)] == [(5, "m"), (6, "m")]
    group = world.group()
    assert (group.state, group.generation, group.protocol_type) == (GroupState.EMPTY, 2, "consumer")
    mates[0].world = world
    assert mates[0].commit(7) == mates[0].beat() == codes.UNKNOWN_MEMBER_ID
    assert Mate(world).join().generation_id == 3
    assert World(disks=disks).group().generation == 3


def test_who_assigns_partitions_on_its_own_goes_on() -> None:
    disks = disks_of()
    assert Mate(World(disks=disks), "alone").commit(9) == 0
    world = World(disks=disks)
    assert committed(world, "alone") == (9, "")
    assert Mate(world, "alone").commit(10) == 0
    assert committed(World(disks=disks), "alone") == (10, "")


def test_deleted_groups_and_topics_are_forgotten() -> None:
    disks = disks_of()
    world = World(disks=disks)
    assert [Mate(world, name).commit(9) for name in ("a", "b")] == [0, 0]
    world.ask("DeleteGroups", 2, groups_names=("a",))
    assert [one.group_id for one in World(disks=disks).cluster.groups.all()] == ["b"]
    world = World(disks=disks)
    world.cluster.delete(world.cluster.controller.topics["t"])
    world = World(disks=disks)  # makes a topic of the same name
    assert committed(world, "b") == (-1, "")


def test_the_records_are_kafkas_and_few_after_a_start() -> None:
    disks = disks_of(2)
    world = World(disks=disks)
    (mate,) = world.mates(1)
    for offset in range(20):
        mate.commit(offset)
    assert [len(records_in(disk)) for disk in disks] == [22, 22]  # the first one says that there is no group
    World(disks=disks)
    for disk in disks:
        generation, commit = records_in(disk)
        assert (generation.value.name, generation.value.message.generation) == ("GroupMetadataValue", 1)
        assert (commit.key.message.group, commit.key.message.topic, commit.value.message.offset) == ("g", "t", 19)


def test_a_journal_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "MOST_JOURNAL", 1000)
    disks = disks_of()
    world = World(disks=disks)
    (mate,) = world.mates(1)
    for offset in range(100):
        mate.commit(offset)
        assert sum(map(len, disks[0].journals["groups"].values())) < 3000
    assert committed(World(disks=disks)) == (99, "")


def test_values_of_a_later_version_are_left_out() -> None:
    disks = disks_of()
    Mate(World(disks=disks), "alone").commit(9)
    (file,) = disks[0].journals["groups"].values()
    last = list(kwire.parse_records(bytes(file)))[-1]
    (record,) = last.records()
    value = b"\0\x63" + (record.value or b"")[2:]
    file += kwire.build_batch([kwire.Record(record.offset + 1, 0, record.key, value)])
    assert committed(World(disks=disks), "alone") == (9, "")


@given(st.data())
def test_damage_in_one_directory_loses_no_commit(data: Any) -> None:
    disks = disks_of(2)
    (mate,) = World(disks=disks).mates(1)
    for offset in range(4):
        assert mate.commit(offset, offset % 2) == 0
    damaged = data.draw(st.sampled_from(disks))
    file = damaged.journals["groups"][0]
    if data.draw(st.booleans()):
        file[data.draw(st.integers(0, len(file) - 1))] ^= data.draw(st.integers(1, 255))
    else:
        del file[data.draw(st.integers(0, len(file) - 1)) :]
    for _ in range(2):
        world = World(disks=disks)
        assert [committed(world, index=index)[0] for index in (0, 1)] == [2, 3]
        assert world.group().generation == 1
