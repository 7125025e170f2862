"""Of all that is observation, what is true is taken down once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import messages
from kwire.cluster import ClusterModel, Observation, history_of
from tests.cluster.observations import Update, leader_and_isr, refusal, update, view

Row = tuple[int, tuple[int, ...] | None, float | None, float | None, str]


def rows(*observations: Observation) -> list[Row]:
    return [
        (row.leader, row.offline_replicas, row.valid_from, row.valid_to, row.source.removesuffix("Request"))
        for row in history_of(observations).partition_states
    ]


def test_a_leader_and_its_update_are_one_state() -> None:
    observations = [leader_and_isr(1.0), update(1.1, to=1), update(1.2, to=2), leader_and_isr(2.0, 2, 2, (2,), (1, 1))]
    observations += [update(2.1, to, 2, (2,), (1,), (1, 1)) for to in (1, 2)]
    assert rows(*observations) == [(1, (), 1.0, 2.0, "LeaderAndIsr"), (2, (1,), 2.0, None, "LeaderAndIsr")]


def test_a_refused_request_is_ignored() -> None:
    wrong = leader_and_isr(2.0, 1, 2, (2,), (9, 9), number=7)
    assert rows(update(1.0), wrong, refusal(2.1, number=7)) == [(1, (), 1.0, None, "UpdateMetadata")]
    assert len(rows(update(1.0), wrong, refusal(2.1, error=0, number=7))) == 2
    assert len(rows(update(1.0), wrong)) == 2


def test_requests_of_an_earlier_controller_are_ignored() -> None:
    assert len(rows(update(1.0, term=2), update(2.0, leader=2, epochs=(1, 1), term=1))) == 1
    assert len(rows(update(1.0, term=2), update(2.0, leader=2, epochs=(1, 1), term=3))) == 2


def test_a_full_update_deletes_what_it_does_not_list() -> None:
    empty = Observation(Update(controller_epoch=1, type=2), 8, 2.0, "c:1", "b1:9")
    assert rows(update(1.0), empty) == [(1, (), 1.0, 2.0, "UpdateMetadata")]
    assert rows(update(1.0), update(2.0, kind=2)) == [(1, (), 1.0, None, "UpdateMetadata")]


def test_views_alone_give_a_history_too() -> None:
    observations = [view(1.0, live=(1, 2)), view(2.0, 2, -1, (2,), (1,), 1, error=5), view(3.0, topic_error=3)]
    source = "MetadataResponse"
    assert rows(*observations) == [(1, (), 1.0, 2.0, source), (-1, (1,), 2.0, 3.0, source)]


def test_other_messages_are_passed_over() -> None:
    assert rows(Observation(messages.FetchRequest(), 12, 1.0), Observation(messages.MetadataRequest(), 12, 1.0)) == []


def configs(version: int, *found: tuple[str, str | None, int], topic: str = "t", error: int = 0) -> Observation:
    """What a broker answers of a topic: names, values, and where they are from; version 0 only has whether set."""
    response = messages.DescribeConfigsResponse
    rows = tuple(
        response.DescribeConfigsResourceResult(name=name, value=value, config_source=source, is_default=source == 5)
        for name, value, source in found
    )
    result = response.DescribeConfigsResult(resource_type=2, resource_name=topic, configs=rows, error_code=error)
    return Observation(response(results=(result,)), version)


@pytest.mark.parametrize("version", range(5))
def test_configs_that_a_broker_describes(version: int) -> None:
    model = ClusterModel()
    isr, secret = "min.insync.replicas", "sasl.jaas.config"
    model.take(configs(version, (isr, "2", 1), ("retention.ms", "7", 5), (secret, "s", 1)))
    assert model.state().settings.configs == {("topic", "t"): {isr: "2", secret: "[hidden]"}}
    assert (model.state().min_isr("t"), model.state().min_isr("u")) == (2, 1)
    model.take(configs(version, (isr, "1", 5), (secret, None, 5)))
    assert model.state().settings.configs == {("broker", ""): {isr: "1"}}  # nobody has set it, and it holds for all
    model.take(configs(version, (isr, "2", 1), error=29))
    assert model.state().min_isr("t") == 1
    if version:
        model.take(configs(version, (isr, "3", 4), topic="u"))  # of its broker's file: of all topics without their own
        assert (model.state().min_isr("t"), model.state().min_isr("u")) == (3, 3)


def test_tables_can_be_had_at_any_time() -> None:
    history = ClusterModel()
    states = []
    for observation in (update(1.0), update(2.0, isr=(1,), epochs=(0, 1)), update(3.0, isr=(1, 2), epochs=(0, 2))):
        history.take(observation)
        states.append(history.tables().partition_states)
    assert [len(one) for one in states] == [1, 2, 3]
    assert all(before[:-1] == after[: len(before) - 1] for before, after in pairwise(states))


def test_memory_grows_with_what_happens_not_with_how_often_it_is_said() -> None:
    history = ClusterModel()
    for time in range(5000):
        history.take(update(float(time), to=time % 50))
        history.take(view(float(time), of=time % 50))
    (story,) = history.timelines.values()
    assert len(story.entries) == 1
    assert len(story._places) <= 50


NUMBERS = st.sampled_from([-(2**31), -2, -1, 0, 1, 2, 2**31 - 1])
NODES = st.lists(NUMBERS, max_size=3).map(tuple)
TIMES = st.one_of(st.none(), st.sampled_from([-1.0, 0.0, 5.0, 40.0, 1e300, float("inf"), float("nan")]))
EPOCHS = st.tuples(NUMBERS, NUMBERS)
UPDATES = st.builds(
    update, TIMES, NUMBERS, NUMBERS, NODES, NODES, EPOCHS, term=NUMBERS, replicas=NODES, kind=st.sampled_from([0, 2])
)
VIEWS = st.builds(view, TIMES, NUMBERS, NUMBERS, NODES, NODES, NUMBERS, live=NODES, error=st.sampled_from([0, 5, 9]))
LEADERS = st.builds(leader_and_isr, TIMES, NUMBERS, NUMBERS, NODES, EPOCHS)
ANSWERS = st.builds(refusal, TIMES, NUMBERS, st.sampled_from([0, 11]), st.sampled_from([0, 56]))


@given(st.lists(st.one_of(UPDATES, VIEWS, LEADERS, ANSWERS), max_size=12))
def test_whatever_is_said_a_partition_is_in_one_state_at_a_time(observations: list[Observation]) -> None:
    history = ClusterModel()
    for observation in observations:
        history.take(observation)
    for story in history.timelines.values():
        orders = [entry.since.order for entry in story.entries]
        assert orders == sorted(set(orders))
    tables = history.tables()
    for before, after in pairwise(tables.partition_states):
        assert before.valid_to is not None or None in {observation.time for observation in observations}
        assert after.leader != -2
    assert all(set(row.removed) <= set(row.isr_before) - set(row.isr_after) for row in tables.isr_shrinks)
