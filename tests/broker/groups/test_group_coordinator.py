"""All groups, and their records in `__consumer_offsets`."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.broker.controller.topic_names import TRANSACTIONS
from kwire.broker.groups.modern_group import GroupState
from kwire.broker.internal_topics import coordinator_of
from kwire.cluster.java.hash_order import string_hash
from kwire.protocol.nested import decode_group_record
from kwire.testing.simulation.disk import SimulatedDisk
from kwire.values import ErrorCode
from tests.broker.driving import SESSION, Mate, World
from tests.broker.served import M, batch, fetch, produce
from tests.broker.stored import StoredDisk


def test_the_next_broker_goes_on_where_one_ended() -> None:
    world = World(count=2)
    world.cluster.controller.create("both", {0: [1, 2]})
    group = next(name for name in "abcdef" if coordinator_of(name, world.cluster.controller) == 1)
    mate = Mate(world, group)
    assert (mate.join().error_code, mate.sync({}).error_code) == (0, 0)
    assert mate.commit(5, topic="both") == 0
    beat: dict[str, Any] = {"group_id": group, "member_id": mate.member_id, "generation_id": mate.generation}
    assert world.ask("Heartbeat", 4, 2, **beat).error_code == ErrorCode.NOT_COORDINATOR
    world.cluster.fail(*world.cluster.controller.nodes[1].log_dirs)
    assert world.ask("Heartbeat", 4, 2, **beat).error_code == 0
    (found,) = world.ask("OffsetFetch", 7, 2, group_id=group, topics=None).topics
    assert (found.name, found.partitions[0].committed_offset) == ("both", 5)


def test_what_could_not_be_read_at_the_start_is_restored_when_its_directory_is_repaired() -> None:
    """The only in-sync replica is in a directory that does not work when the brokers start."""
    disks = [SimulatedDisk("/1"), SimulatedDisk("/2")]
    world = World(disks=disks)
    mate = Mate(world)
    assert (mate.join().error_code, mate.sync({}).error_code) == (0, 0)
    begin = {"transactional_id": "x", "transaction_timeout_ms": 60_000}
    assert world.ask("InitProducerId", 4, coordinator_of("x", world.cluster.controller, TRANSACTIONS), **begin)
    world.cluster.stop(1)
    assert mate.commit(7) == 0
    disks[1].is_broken = True
    again = World(disks=disks)
    assert coordinator_of("g", again.cluster.controller) is None
    assert again.cluster.groups.find("g") is None
    disks[1].is_broken = False
    again.cluster.heal(again.cluster.controller.nodes[2].log_dirs[0])
    mate.world = again
    assert mate.beat() == 0
    assert again.group().commits.get("t", 0, again.cluster.controller.topics["t"].topic_id) is not None
    assert again.cluster.transactions.find("x") is not None


def test_a_deleted_group_is_looked_after_no_more() -> None:
    world = World()
    (mate,) = world.mates(1)
    mate.leave()
    assert Mate(world).request().error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert world.cluster.next_deadline is not None
    world.ask("DeleteGroups", 2, groups_names=("g",))
    assert world.cluster.next_deadline is None
    assert (world.cluster.groups.held.size, world.cluster.groups.all()) == (0, [])


def disks_of(count: int = 1) -> list[StoredDisk]:
    return [StoredDisk(f"/d{number}", 1 << 30) for number in range(count)]


def committed(world: World, group: str = "g", index: int = 0) -> tuple[int, str]:
    topic = M.OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=(index,))
    (row,) = world.ask("OffsetFetch", 5, group_id=group, topics=(topic,)).topics[0].partitions
    assert row.error_code == 0
    return row.committed_offset, row.metadata


def log_of(disk: StoredDisk, group: str = "g") -> bytearray:
    """The only segment of the partition of `__consumer_offsets` that has a group."""
    (file,) = disk.logs["__consumer_offsets", abs(string_hash(group)) % 50].values()
    return file


def records_in(disk: StoredDisk) -> list[Any]:
    data = bytes(log_of(disk))
    return [
        decode_group_record(record.key or b"", record.value)
        for one in kwire.parse_records(data)
        for record in one.records()
    ]


def test_commits_and_members_are_there_and_members_go_on() -> None:
    disks = disks_of()
    mates = World(disks=disks).mates(2)
    assert [mate.commit(5 + index, index, metadata="m") for index, mate in enumerate(mates)] == [0, 0]
    world = World(disks=disks)
    assert [committed(world, index=index) for index in (0, 1)] == [(5, "m"), (6, "m")]
    group = world.group()
    assert (group.state, group.generation, group.protocol_type) == (GroupState.STABLE, 2, "consumer")
    assert (group.protocol, group.leader, len(group.members)) == ("range", mates[0].member_id, 2)
    for mate in mates:
        mate.world = world
    assert (mates[0].commit(7), mates[1].beat(), mates[1].sync().assignment) == (0, 0, b"1")
    world.wait(SESSION + 1)
    assert (group.state, group.members) == (GroupState.EMPTY, {})
    again = World(disks=disks)
    assert (again.group().state, again.group().generation) == (GroupState.EMPTY, group.generation)
    assert Mate(again).join().generation_id == group.generation + 1


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


def test_the_records_are_kafkas() -> None:
    disks = disks_of(2)
    (mate,) = World(disks=disks).mates(1)
    assert mate.commit(19, metadata="m") == 0
    for disk in disks:
        generation, commit = records_in(disk)
        group = generation.value.message
        assert (generation.value.name, group.generation, group.protocol, group.leader) == (
            "GroupMetadataValue",
            1,
            "range",
            mate.member_id,
        )
        (member,) = group.members
        assert (member.member_id, member.subscription, member.assignment) == (mate.member_id, b"range", b"0")
        assert (member.session_timeout, member.rebalance_timeout, member.client_id) == (10_000, 60_000, "c")
        assert (commit.key.message.group, commit.key.message.topic, commit.value.message.offset) == ("g", "t", 19)


def test_clients_read_them_and_cannot_write_or_delete_them() -> None:
    world = World()
    (mate,) = world.mates(1)
    assert mate.commit(19) == 0
    index = abs(string_hash("g")) % 50
    row = fetch(world.cluster, topic="__consumer_offsets", index=index)
    (batch_of_group, batch_of_commit) = kwire.parse_records(row.records)
    (record,) = batch_of_commit.records()
    assert decode_group_record(record.key or b"", record.value).key.message.topic == "t"
    assert batch_of_group.last_offset == 0
    refused = produce(world.cluster, batch(b"x"), topic="__consumer_offsets", index=index)
    assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    deleted = world.ask("DeleteTopics", 5, topic_names=("__consumer_offsets",)).responses[0]
    assert deleted.error_code == ErrorCode.INVALID_REQUEST


def test_records_of_unknown_types_and_versions_are_left_out() -> None:
    disks = disks_of()
    Mate(World(disks=disks), "alone").commit(9)
    file = log_of(disks[0], "alone")
    (record,) = list(kwire.parse_records(bytes(file)))[-1].records()
    key, value = record.key or b"", record.value or b""
    rows = [(b"\0\x63" + key[2:], value), (key + b"x", value), (key[:-1] + b"\1", b"\0\x63" + value[2:]), (b"", b"")]
    records = [kwire.Record(record.offset + place, 0, *row) for place, row in enumerate(rows, 1)]
    file += kwire.build_batch(records, base_offset=record.offset + 1)
    assert committed(World(disks=disks), "alone") == (9, "")


@given(st.data())
def test_damage_in_one_directory_loses_no_commit(data: Any) -> None:
    disks = disks_of(2)
    (mate,) = World(disks=disks).mates(1)
    for offset in range(4):
        assert mate.commit(offset, offset % 2) == 0
    damaged = data.draw(st.sampled_from(disks))
    file = log_of(damaged)
    if data.draw(st.booleans()):
        file[data.draw(st.integers(0, len(file) - 1))] ^= data.draw(st.integers(1, 255))
    else:
        del file[data.draw(st.integers(0, len(file) - 1)) :]
    for _ in range(2):
        world = World(disks=disks)
        assert [committed(world, index=index)[0] for index in (0, 1)] == [2, 3]
        assert world.group().generation == 1
