"""What many brokers receive is one change, however late it reaches each; what is older is none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.events.authority import Authority
from kwire.cluster.events.event import DELETED, ReportedState
from kwire.cluster.history.partition_timeline import LAG, Moment, PartitionTimeline

A, B, C = "to 1", "to 2", "to 3"


def reported(*said: tuple[str, float | None, ReportedState]) -> list[ReportedState]:
    timeline = PartitionTimeline()
    for order, (reporter, time, state) in enumerate(said):
        timeline.observe(reporter, state, Moment(order, time), "UpdateMetadataRequest")
    return [entry.state for entry in timeline.entries]


def state(leader: int = 1, offline: tuple[int, ...] | None = (), epochs: tuple[int, int] = (0, 0)) -> ReportedState:
    return ReportedState(leader, *epochs, isr=(1, 2), replicas=(1, 2), offline=offline)


UP, DOWN = state(), state(offline=(2,))


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 5)), max_size=8), st.data())
def test_however_late_each_broker_is_told_the_story_is_that_of_the_first(
    steps: list[tuple[int, float]], data: st.DataObject
) -> None:
    offline = [(), (1,), (2,)]
    changes = [state(offline=offline[kind]) for kind, _ in steps]
    changes = [one for place, one in enumerate(changes) if place == 0 or one != changes[place - 1]]
    times = [10.0 * place for place in range(len(changes))]
    said = [(A, time, one) for time, one in zip(times, changes, strict=True)]
    for reporter in (B, C):
        # Late, but before the first broker receives the next but two.
        delays = sorted(data.draw(st.floats(0.1, 9.0)) for _ in changes)
        said += [(reporter, time + late, one) for time, late, one in zip(times, delays, changes, strict=True)]
    assert reported(*sorted(said, key=lambda one: one[1] or 0)) == changes


def test_a_broker_that_lags_several_changes_adds_no_state() -> None:
    assert reported((A, 1, UP), (A, 2, DOWN), (B, 3, UP), (B, 4, DOWN)) == [UP, DOWN]
    assert reported((A, 1, UP), (B, 1, UP), (A, 2, DOWN), (A, 3, UP), (B, 4, DOWN), (B, 5, UP)) == [UP, DOWN, UP]


def test_what_comes_back_under_the_same_epochs_is_news() -> None:
    assert reported((A, 1, UP), (A, 2, DOWN), (A, 3, UP), (B, 3.1, UP), (A, 4, DOWN)) == [UP, DOWN, UP, DOWN]


def test_after_a_while_nothing_is_an_echo() -> None:
    assert reported((A, 1, UP), (A, 2, DOWN), (B, 3 + LAG, UP)) == [UP, DOWN, UP]


def test_older_epochs_are_never_news_within_the_lag() -> None:
    new, old = state(2, epochs=(1, 4)), state(1, epochs=(0, 3))
    assert reported((A, 1, new), (B, 2, old)) == [new]
    # Controllers before Kafka 2.0 send what they had cached, on the same connection.
    assert reported((A, 1, old), (A, 2, new), (A, 3, old), (A, 9 + LAG, old)) == [old, new]


def test_a_topic_made_anew_begins_again() -> None:
    before, after = state(2, epochs=(5, 9)), state(3, epochs=(0, 0))
    assert reported((A, 1, before), (A, 2 + LAG, after)) == [before, after]
    assert reported((A, 1, before), (A, 2, DELETED), (B, 2.5, DELETED), (A, 3, after)) == [before, DELETED, after]
    ids = [ReportedState(1, epochs, 0, topic_id=bytes([one] * 16)) for one, epochs in ((1, 4), (2, 0))]
    assert reported((A, 1, ids[0]), (A, 2, ids[1]), (B, 3, ids[0])) == ids


def test_a_deletion_is_accepted_over_older_states() -> None:
    assert reported((A, 1, UP), (B, 1, UP), (A, 2, DELETED), (B, 2.1, UP), (B, 2.2, DELETED)) == [UP, DELETED]
    assert reported((A, 1, DELETED)) == []


def test_what_one_message_leaves_open_another_fills_in() -> None:
    leader = ReportedState(1, 0, 0, isr=(1, 2), replicas=(1, 2))
    assert reported((A, 1, leader), (A, 2, DOWN)) == [DOWN]
    assert reported((A, 1, leader), (A, 2 + LAG, DOWN)) == [leader, DOWN]


def test_without_times_one_reporter_is_followed() -> None:
    assert reported((A, None, UP), (A, None, DOWN), (A, None, UP)) == [UP, DOWN, UP]
    assert reported((A, None, UP), (A, None, DOWN), (B, None, DOWN)) == [UP, DOWN]


def test_a_view_counts_where_no_controller_was_captured_or_where_it_is_ahead() -> None:
    timeline = PartitionTimeline()
    for order, (is_view, one) in enumerate(
        [(True, UP), (False, DOWN), (True, UP), (True, state(3, epochs=(0, 0))), (True, state(2, epochs=(1, 0)))]
    ):
        timeline.observe("x", one, Moment(order, order), "M", Authority.CLIENT if is_view else Authority.CONTROLLER)
    assert [entry.state.leader for entry in timeline.entries] == [1, 1, 2]


def recorded(*told: tuple[Authority, ReportedState]) -> PartitionTimeline:
    story = PartitionTimeline()
    for order, (authority, one) in enumerate(told):
        story.observe(str(authority), one, Moment(order, float(order)), authority.name, authority)
    return story


def test_what_the_metadata_log_or_zookeeper_has_is_put_where_its_epochs_belong() -> None:
    first, second, third = (ReportedState(1, epoch, epoch, isr) for epoch, isr in ((0, (1, 2)), (1, (1,)), (2, (1, 2))))
    story = recorded((Authority.RECORD, first), (Authority.CONTROLLER, third), (Authority.RECORD, second))
    assert [entry.state.leader_epoch for entry in story.entries] == [0, 1, 2]
    assert story.contradictions == []


def test_the_higher_authority_is_accepted_and_the_contradiction_is_kept() -> None:
    true, false = ReportedState(1, 3, 3, (1, 2)), ReportedState(2, 3, 3, (1, 2))
    story = recorded((Authority.RECORD, true), (Authority.CLIENT, false))
    assert [entry.state.leader for entry in story.entries] == [1]
    assert [(one.source, one.state.leader, one.believed) for one in story.contradictions] == [("CLIENT", 2, "RECORD")]
    story = recorded((Authority.CLIENT, false), (Authority.RECORD, true))
    assert story.entries[-1].state.leader == 1
    assert [(one.source, one.believed) for one in story.contradictions] == [("CLIENT", "RECORD")]


def test_a_broker_that_does_not_reach_the_leader_is_no_contradiction() -> None:
    story = recorded(
        (Authority.RECORD, ReportedState(1, 3, 3, (1, 2))), (Authority.CLIENT, ReportedState(-1, 3, None, (1, 2)))
    )
    assert story.contradictions == []


def test_what_was_reported_and_is_recorded_is_one_state_from_the_earlier_time() -> None:
    story, same = PartitionTimeline(), ReportedState(1, 3, 3, (1, 2))
    story.observe("to 1", same, Moment(0, 5.0), "LeaderAndIsrRequest", Authority.CONTROLLER)
    story.observe("log", same._replace(replicas=(1, 2)), Moment(1, 3.0), "PartitionRecord", Authority.RECORD)
    (entry,) = story.entries
    assert (entry.authority, entry.since.time, entry.source) == (Authority.RECORD, 3.0, "LeaderAndIsrRequest")
    assert entry.state == same._replace(replicas=(1, 2))
    story.observe("snapshot", same, Moment(2, 9.0), "PartitionRecord", Authority.RECORD)
    assert [entry.since.time for entry in story.entries] == [3.0]


def test_an_older_state_that_was_reported_is_confirmed_where_it_stands() -> None:
    first, second = ReportedState(1, 0, 0, (1, 2)), ReportedState(2, 1, 1, (1, 2))
    story = recorded((Authority.CONTROLLER, first), (Authority.CONTROLLER, second), (Authority.RECORD, first))
    assert [(entry.state.leader, entry.authority.name) for entry in story.entries] == [(1, "RECORD"), (2, "CONTROLLER")]


def test_deletions_that_follow_each_other_are_one() -> None:
    there = ReportedState(1, 0, 0, (1, 2))
    story = recorded((Authority.RECORD, there), (Authority.RECORD, DELETED), (Authority.RECORD, DELETED))
    assert [entry.state.is_deleted for entry in story.entries] == [False, True]
    story = recorded((Authority.RECORD, there), (Authority.RECORD, DELETED), (Authority.RECORD, there))
    assert [entry.state.is_deleted for entry in story.entries] == [False, True, False]
