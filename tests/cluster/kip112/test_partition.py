"""Leaders and followers: what is committed, who may be in sync, and how a log is cut to its leader's."""

from __future__ import annotations

from kwire.cluster.kip112 import Fetched, LeaderAndIsr, Partition, PartitionLog

REPLICAS = (1, 2, 3)


def replica(
    broker_id: int, state: LeaderAndIsr, records: list[tuple[int, object]] | None = None, hw: int = 0
) -> Partition:
    made = Partition(broker_id, PartitionLog(records or [], hw))
    made.become(state, REPLICAS)
    return made


def fetch(follower: Partition, leader: Partition) -> None:
    asked = follower.fetch()
    told = leader.answer(asked)
    assert told is not None
    assert follower.follow(asked, told)


def test_a_record_is_committed_when_all_in_sync_have_it() -> None:
    state = LeaderAndIsr(1, (1, 2))
    leader, follower = replica(1, state), replica(2, state)
    assert leader.append(["a", "b"]) == 0
    assert leader.log is not None
    fetch(follower, leader)
    assert leader.log.high_watermark == 0  # the follower has them, the leader does not know
    fetch(follower, leader)
    assert leader.log.high_watermark == 2
    assert follower.log is not None
    assert follower.log.high_watermark == 2


def test_alone_in_sync_a_leader_commits_at_once() -> None:
    leader = replica(1, LeaderAndIsr(1, (1,)))
    leader.append(["a"])
    assert leader.log is not None
    assert leader.log.high_watermark == 1


def test_a_shrunk_isr_commits_what_waited() -> None:
    leader = replica(1, LeaderAndIsr(1, (1, 2)))
    leader.append(["a"])
    leader.adopt_isr(leader.with_isr((1,)))
    assert leader.log is not None
    assert leader.log.high_watermark == 1


def test_a_follower_cuts_off_what_its_leader_never_had() -> None:
    state = LeaderAndIsr(1, (1,), 5)
    leader = replica(1, state, [(0, "a"), (5, "b")])
    follower = replica(2, state, [(0, "a"), (3, "x"), (3, "y")])
    for _ in range(3):
        fetch(follower, leader)
    assert follower.log is not None
    assert follower.log.records == [(0, "a"), (5, "b")]


def test_a_follower_with_another_epoch_is_not_answered() -> None:
    leader, follower = replica(1, LeaderAndIsr(1, (1, 2), 5)), replica(2, LeaderAndIsr(1, (1, 2), 4))
    assert leader.answer(follower.fetch()) is None
    assert follower.answer(leader.fetch()) is None


def test_an_answer_that_comes_too_late_is_not_taken() -> None:
    state = LeaderAndIsr(1, (1, 2))
    leader, follower = replica(1, state), replica(2, state)
    leader.append(["a"])
    asked = follower.fetch()
    told = leader.answer(asked)
    assert told == Fetched(((0, "a"),), 0)
    assert follower.follow(asked, told)
    assert not follower.follow(asked, told)


def test_who_has_caught_up_may_be_in_sync() -> None:
    leader = replica(1, LeaderAndIsr(1, (1,)))
    leader.append(["a"])
    follower = replica(2, LeaderAndIsr(1, (1,)))
    fetch(follower, leader)
    assert leader.caught_up() == ()
    fetch(follower, leader)
    assert leader.caught_up() == (2,)
    assert follower.caught_up() == ()


def test_a_new_leader_with_a_lagging_high_watermark_adds_only_complete_replicas() -> None:
    # "b" is committed, and the new leader does not know it yet; replica 3 has only "a"
    leader = replica(2, LeaderAndIsr(2, (2, 1), 1), [(0, "a"), (0, "b")], hw=1)
    follower = replica(3, LeaderAndIsr(2, (2, 1), 1), [(0, "a")])
    assert leader.answer(follower.fetch()) is not None
    assert leader.caught_up() == ()
