"""What moves groups on: generations, silence, what is waited for and for how long, in any order of requests."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from kwire.broker import Settings
from kwire.broker.groups.classic_group import Group
from kwire.broker.groups.classic_rebalance import ClassicRebalance
from kwire.broker.groups.group_memory import LEAST_SIZE
from kwire.broker.groups.modern_group import GroupState
from kwire.values import ErrorCode
from tests.broker.driving import REBALANCE, SESSION, Mate, Waiting, World, formed


def test_the_first_one_leads_alone_and_the_second_waits_for_it() -> None:
    world = World()
    first, second = Mate(world), Mate(world)
    answer = first.join()
    assert (answer.generation_id, answer.leader, answer.protocol_name) == (1, first.member_id, "range")
    assert [(one.member_id, one.metadata) for one in answer.members] == [(first.member_id, b"range")]
    late = second.join()
    assert (late.answer, world.group().state) == (None, GroupState.PREPARING_REBALANCE)
    assert first.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    answer = first.join()
    assert {one.member_id for one in answer.members} == {first.member_id, second.member_id}
    assert second.joined(late.answer).members == ()
    assert (first.generation, second.generation, late.answer.leader) == (2, 2, first.member_id)
    assert world.group().state is GroupState.COMPLETING_REBALANCE


def test_who_does_not_join_again_is_out_after_the_rebalance_timeout() -> None:
    world = World()
    first, second = world.mates(2)
    late = second.join(protocols=(), protocol_type="other")
    assert late.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    second.protocols["range"] = b"new"
    late = second.join()
    for _ in range(int(REBALANCE / 5)):
        world.wait(4.9)
        assert (first.beat(), late.answer) == (ErrorCode.REBALANCE_IN_PROGRESS, None)
    world.wait(5)
    assert second.joined(late.answer).leader == second.member_id
    assert (first.beat(), second.generation, list(world.group().members)) == (25, 3, [second.member_id])


@pytest.mark.parametrize(("milliseconds", "expected"), [(0, 0.0), (1, 0.001), (-1, SESSION)])
def test_a_rebalance_timeout_may_be_zero_and_version_0_has_none(milliseconds: int, expected: float) -> None:
    world = World()
    member = Mate(world)
    member.join(rebalance_timeout_ms=milliseconds)
    assert world.group().members[member.member_id].rebalance_timeout == expected


def test_silence_ends_a_session_and_words_prolong_it() -> None:
    world = World()
    first, second = world.mates(2)
    world.wait(SESSION - 1)
    assert (first.beat(), second.commit(5)) == (0, 0)
    world.wait(SESSION - 1)
    assert first.beat() == 0
    world.wait(2)
    assert (first.beat(), second.beat()) == (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.UNKNOWN_MEMBER_ID)
    world.wait(SESSION + 1)
    assert (world.group().state, world.group().generation) == (GroupState.EMPTY, 3)


def test_a_stable_group_outlives_its_rebalance_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    world, woken, real = World(), [], ClassicRebalance._woken

    def wake(self: ClassicRebalance, group: Group) -> None:
        woken.append(world.now)
        assert woken.count(world.now) < 10, "it wakes at the same time again and again"
        real(self, group)

    monkeypatch.setattr(ClassicRebalance, "_woken", wake)
    mates = world.mates(2)
    for _ in range(int(3 * REBALANCE / 5)):
        world.wait(5)
        assert [mate.beat() for mate in mates] == [0, 0]
    assert (world.group().state, world.group().generation) == (GroupState.STABLE, 2)


def test_who_asks_for_no_assignment_is_out() -> None:
    world = World()
    first, second = Mate(world), Mate(world)
    first.join()
    late = second.join()
    first.join()
    second.joined(late.answer)
    assert first.sync({first.member_id: b"all"}).assignment == b"all"
    for _ in range(int(REBALANCE / 5)):
        assert second.beat() == 0  # alive, but it never syncs
        assert first.beat() == 0
        world.wait(5)
    assert (second.beat(), first.beat()) == (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS)


def test_a_leader_that_never_assigns_is_out_and_the_others_are_told() -> None:
    world = World()
    first, second = Mate(world), Mate(world)
    first.join()
    late = second.join()
    first.join()
    second.joined(late.answer)
    syncing = second.sync()
    world.wait(SESSION + 1)
    assert syncing.answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert (first.beat(), second.beat()) == (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS)
    answer = second.join()
    assert (answer.leader, answer.generation_id) == (second.member_id, 3)


def test_a_new_member_is_waited_with_though_it_cannot_be_answered() -> None:
    world = World(JoinGroup=3)
    first, second = Mate(world), Mate(world)
    answer = first.join(rebalance_timeout_ms=1_000_000)
    late = second.join()
    for _ in range(60):
        world.wait(4.9)
        assert (first.beat(), late.answer) == (ErrorCode.REBALANCE_IN_PROGRESS, None)
    world.wait(7)
    assert (late.answer.error_code, late.answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert answer.member_id in world.group().members


def test_the_first_rebalance_can_be_delayed() -> None:
    world = World(Settings(initial_rebalance_delay=3.0))
    first, second, third = (Mate(world) for _ in range(3))
    waiting = [first.join()]
    world.wait(2)
    waiting.append(second.join())
    world.wait(2)
    assert not waiting[0].answer  # a second one came within the delay: it begins again
    waiting.append(third.join())
    world.wait(1.9)
    assert not waiting[0].answer
    world.wait(3.2)
    assert [late.answer.generation_id for late in waiting] == [1, 1, 1]
    assert len(waiting[0].answer.members) == 3


def test_members_of_a_former_first_rebalance_do_not_prolong_the_next() -> None:
    world = World(Settings(initial_rebalance_delay=3.0))
    formers = [Mate(world), Mate(world)]
    waiting = [mate.join(rebalance_timeout_ms=2000) for mate in formers]
    world.wait(3.1)
    assert [mate.joined(late.answer).generation_id for mate, late in zip(formers, waiting, strict=True)] == [1, 1]
    assert [mate.leave() for mate in formers] == [0, 0]
    assert world.group().state is GroupState.EMPTY
    late = Mate(world).join()
    world.wait(3.1)
    assert late.answer.leader == late.answer.member_id


def test_the_delay_has_an_end() -> None:
    world = World(Settings(initial_rebalance_delay=30.0))
    waiting = [Mate(world).join()]
    for _ in range(12):
        world.wait(5)
        waiting.append(Mate(world).join())
    answers = [late.answer for late in waiting if isinstance(late, Waiting)]
    assert sum(answer is not None for answer in answers) == 12  # REBALANCE seconds, and no longer


def test_a_pending_member_is_waited_for_until_its_session_would_end() -> None:
    world = World()
    first, second = world.mates(2)
    given = Mate(world).request()
    assert (given.error_code, given.generation_id, len(world.group().pending)) == (ErrorCode.MEMBER_ID_REQUIRED, -1, 1)
    second.protocols["range"] = b"new"
    late = second.join()
    again = first.join()
    assert (late.answer, again.answer) == (None, None)
    world.wait(SESSION)
    assert (again.answer.error_code, late.answer.error_code, world.group().pending) == (0, 0, {})


def test_static_members_keep_their_places_while_they_are_away() -> None:
    world = World()
    first, second = Mate(world, instance="one"), Mate(world, instance="two")
    formed(first, second)
    late = first.join(rebalance_timeout_ms=5000)  # a leader that joins begins a rebalance; the other one is away
    world.group().members[second.member_id].session_timeout = 300.0
    assert second.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    world.wait(REBALANCE)
    assert len(late.answer.members) == 2
    assert late.answer.leader == first.member_id
    assert second.beat() == ErrorCode.ILLEGAL_GENERATION


def test_when_all_static_members_are_away_the_rebalance_waits() -> None:
    world = World()
    first, second = Mate(world, instance="one"), Mate(world)
    formed(first, second)
    for member in world.group().members.values():
        member.rebalance_timeout = 3.0
    second.leave()
    assert world.group().state is GroupState.PREPARING_REBALANCE
    world.wait(7.0)
    assert (world.group().state, first.beat()) == (GroupState.PREPARING_REBALANCE, ErrorCode.REBALANCE_IN_PROGRESS)
    assert first.join().generation_id == 3


def test_only_the_last_request_of_a_member_is_answered_with_the_generation() -> None:
    world = World()
    first, second = Mate(world), Mate(world)
    first.join()
    early, late = second.join(), second.join()
    assert (early.answer.error_code, late.answer) == (ErrorCode.REBALANCE_IN_PROGRESS, None)
    first.join()
    second.joined(late.answer)
    early, late = second.sync(), second.sync()
    assert (early.answer.error_code, late.answer) == (ErrorCode.REBALANCE_IN_PROGRESS, None)
    first.sync({second.member_id: b"2"})
    assert late.answer.assignment == b"2"


class Crowd(RuleBasedStateMachine):
    """Members in any order. Every answer is one that a member can go on from, and nothing is kept that is gone."""

    numbers = st.integers(0, 3)

    def __init__(self) -> None:
        super().__init__()
        self.world = World(Settings(initial_rebalance_delay=1.0))
        self.mates = [Mate(self.world, instance=name) for name in (None, None, None, "static")]
        self.waiting: list[Waiting] = []
        self.led: dict[int, str] = {}
        self.generation = 0

    def later(self, mate: Mate, answer: Any) -> None:
        if isinstance(answer, Waiting):
            self.waiting.append(answer)
            mate.late = answer
        else:
            self.learn(mate, answer)

    def learn(self, mate: Mate, answer: Any) -> None:
        if answer.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            mate.member_id, mate.generation = "", -1
        elif not answer.error_code and hasattr(answer, "generation_id"):
            mate.joined(answer)
            if answer.members and not getattr(answer, "skip_assignment", False):
                assert self.led.setdefault(answer.generation_id, answer.member_id) == answer.member_id

    @rule(number=numbers, news=st.sampled_from([b"", b"new"]))
    def join(self, number: int, news: bytes) -> None:
        mate = self.mates[number]
        mate.protocols["range"] = news
        self.later(mate, mate.join())

    @rule(number=numbers)
    def receive_answer(self, number: int) -> None:
        mate = self.mates[number]
        if mate.late and mate.late.answer:
            self.learn(mate, mate.late.answer)
            mate.late = None

    @rule(number=numbers)
    def sync(self, number: int) -> None:
        mate = self.mates[number]
        self.later(mate, mate.sync({one.member_id: b"x" * 10 for one in self.mates if one.member_id}))

    @rule(number=numbers)
    def beat(self, number: int) -> None:
        assert self.mates[number].beat() in (0, 22, 25, 27, 82)

    @rule(number=numbers, index=st.integers(0, 2))
    def commit(self, number: int, index: int) -> None:
        assert self.mates[number].commit(7, index) in (0, 3, 22, 25, 27, 82)

    @rule(number=numbers)
    def leave(self, number: int) -> None:
        assert self.mates[number].leave() in (0, 25, 82)

    @rule(number=numbers)
    def restart(self, number: int) -> None:
        self.mates[number].member_id, self.mates[number].generation = "", -1

    @rule(seconds=st.sampled_from([0.5, 4.0, SESSION, REBALANCE]))
    def wait(self, seconds: float) -> None:
        self.world.wait(seconds)

    @invariant()
    def the_books_are_right(self) -> None:
        groups, group = self.world.cluster.groups, self.world.cluster.groups.find("g")
        if group is None:
            assert groups.held.size == 0
            return
        members = list(group.members.values())
        names = Counter(name for member in members for name in dict(member.protocols))
        assert (group.supported, all(member.size == member.measure() for member in members)) == (names, True)
        pending = sum(LEAST_SIZE + len(member_id) for member_id in group.pending)
        commits = sum(LEAST_SIZE for _, indexes in group.commits.topics() for _ in indexes)
        assert groups.held.size == group.size + sum(member.size for member in members) + pending + commits
        assert group.static == {one.instance_id: one.member_id for one in members if one.instance_id}
        assert (group.leader in group.members) == bool(members)
        assert group.generation >= self.generation
        self.generation = group.generation

    def teardown(self) -> None:
        self.world.wait(10 * REBALANCE + 400)
        assert all(late.answer is not None for late in self.waiting)
        group = self.world.cluster.groups.find("g")
        assert group is None or (group.state, group.members, group.pending) == (GroupState.EMPTY, {}, {})
        assert self.world.cluster.next_deadline is None


def test_any_order() -> None:
    run_state_machine_as_test(Crowd, settings=settings(stateful_step_count=40))
