"""Scenarios as text, and what is recorded of them: the frames alone tell what ZooKeeper has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwire import decode_frames
from kwire.cluster import ClusterState, learn
from kwire.cluster.kip112.recording import Played, Setting
from kwire.cluster.kip112.scenarios import STEPS, Scenario
from kwire.errors import UnknownMessage
from kwire.errors.refused import BadStep
from kwire.protocol import Request, Response
from tests.cluster.kip112.playing import PROTOCOLS
from tests.conftest import spread

ALL = ("create=orders", "fail", "repair", "restart", "failover", "reassign=orders-0:2,3", "elect", "stop=3", "start=3")


def decoded(played: list[Played]) -> list[Request | Response]:
    frames = [one.frame for step in played for one in step.happened if one.frame is not None]
    results = [*decode_frames(frames)]
    assert all(isinstance(result, Request | Response) for result in results)
    return results  # type: ignore[return-value]


def learnt(played: list[Played]) -> ClusterState:
    state = ClusterState()
    for result in decoded(played):
        learn(state, result.message, result.codec)
    return state


@pytest.mark.parametrize("protocol", spread(PROTOCOLS, 2))
@pytest.mark.parametrize("behaviour", ["kip", "released"])
def test_after_each_step_frames_and_zookeeper_agree(protocol: str, behaviour: Any) -> None:
    scenario, played = Scenario(Setting(protocol=protocol, behaviour=behaviour)), list[Played]()
    for step in scenario.play(ALL):
        played.append(step)
        state = learnt(played)
        controller = scenario.cluster.controller
        assert controller is not None
        for topic, index in scenario.partitions():
            znode = scenario.cluster.client(1).state((topic, index))
            assert znode is not None
            told = state.topics[topic][index]
            assert (told.leader, told.isr) == (znode.leader, znode.isr), (step.step, topic, index)
            assert told.offline == tuple(controller.context.offline_replicas((topic, index))), (step.step, index)
    assert set(state.brokers or {}) == {1, 2, 3}


def test_a_failed_disk_takes_its_replicas_and_a_repaired_one_brings_them_back() -> None:
    """KIP-112: the broker goes on, another replica leads, and only the bad directory's replicas are offline."""
    scenario = Scenario(Setting(brokers=2))
    steps = {
        one.step: one for one in scenario.play(["create=t:1,2;1,2;1,2;1,2", "fail=1:/a", "repair=1:/a", "restart=1"])
    }
    failed = learnt([steps["start"], steps["create=t:1,2;1,2;1,2;1,2"], steps["fail=1:/a"]])
    lost = [one.index for one in failed.partitions("t") if one.offline == (1,)]
    assert lost
    assert len(lost) < 4
    assert all(one.leader == (2 if one.index in lost else 1) for one in failed.partitions("t"))
    events = [one.write for one in steps["fail=1:/a"].happened if one.write is not None]
    assert [(one.operation, one.path.rpartition("/")[0]) for one in events[:2]] == [
        ("create", "/log_dir_event_notification"),
        ("delete", "/log_dir_event_notification"),
    ]
    assert json.loads(events[0].data) == {"version": 1, "broker": 1, "event": 1}
    assert not [one for step in ("repair=1:/a",) for one in steps[step].happened if one.frame is not None]
    assert all(one.offline == () and set(one.isr) == {1, 2} for one in learnt([*steps.values()]).partitions("t"))


def test_a_deleted_topic_is_gone_once_its_replicas_are_online() -> None:
    scenario = Scenario()
    steps = [*scenario.play(["create=t:1,2", "fail=1:/a", "delete=t"])]
    assert scenario.partitions() == [("t", 0)]  # its replica is offline: the deletion waits
    assert steps[-1].words == "topic t is deleted, as far as its replicas are online"
    again = Scenario()
    assert [*again.play(["create=t:1,2", "delete=t"])]
    assert again.partitions() == []


def test_the_same_steps_give_the_same_bytes_at_times_that_go_on() -> None:
    first, second = ([*Scenario().play(ALL)] for _ in range(2))
    assert first == second
    times = [one.time for step in first for one in step.happened]
    assert times == sorted(set(times))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("fail=9:/a", "there is no broker 9; there are 1, 2, 3"),
        ("fail=1:/z", "broker 1 has no log directory /z; it has /a, /b"),
        ("repair=1", "broker 1 has no disk that failed"),
        ("start=1", "broker 1 is up"),
        ("failover=1", "broker 1 is the controller"),
        ("reassign=u-0", "there is no partition u-0; there are t-0"),
        ("reassign=t-0:1,1", "'1,1' is not a list of replicas"),
        ("delete=u", "topic u does not exist; there are t"),
        ("create=t", "topic t already exists"),
        ("create=a b", "'a b' is not a topic name"),
        ("create=u:" + "1;" * 10_001 + "1", "at most 10000"),
    ],
)
def test_steps_that_cannot_be_played(step: str, words: str) -> None:
    with pytest.raises(BadStep) as caught:
        list(Scenario().play(["create=t:1,2", step]))
    assert words in str(caught.value)


def test_an_error_names_twenty_partitions_at_most() -> None:
    with pytest.raises(BadStep) as caught:
        list(Scenario().play(["create=t:" + ";".join(["1"] * 21), "reassign=t-21"]))
    names = ", ".join(f"t-{number}" for number in range(20))
    assert str(caught.value).endswith(f"there are {names}")


def test_what_is_no_step_or_no_cluster() -> None:
    with pytest.raises(UnknownMessage, match="burn"):
        list(Scenario().play(["burn"]))
    with pytest.raises(BadStep, match="0 brokers"):
        Scenario(Setting(brokers=0))
    with pytest.raises(BadStep, match="1 racks for 3 brokers"):
        Scenario(Setting(racks=("a",)))
    for step in STEPS:
        list(
            Scenario().play(
                [
                    "create=t:2,3",
                    *(["stop=3"] if step == "start" else []),
                    *(["fail"] if step == "repair" else []),
                    "create=v" if step == "create" else step,
                ]
            )
        )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_clients_are_told_and_leaders_move_off_a_broker_that_shuts_down(protocol: str) -> None:
    scenario = Scenario(Setting(protocol=protocol))
    *_, asked, left = scenario.play(["create=t:2,3", "fail=3", "restart=3", "metadata=1", "shutdown=2"])
    answer: Any = decoded([asked])[1]
    (topic,) = answer.message.topics
    assert [(one.leader_id, one.offline_replicas) for one in topic.partitions] == [(2, (3,))]
    request: Any
    response: Any
    request, response = decoded([left])[:2]
    assert request.api_name == "ControlledShutdown"
    assert request.frame.source.client.startswith("10.0.0.2:")
    assert [(one.topic_name, one.partition_index) for one in response.message.remaining_partitions] == [("t", 0)]
    assert scenario.cluster.hosts[2].broker is None
    again = Scenario(Setting(protocol=protocol))
    assert [*again.play(["create=t:2,3", "shutdown=2"])][-1].words.endswith("0 partitions remain that it leads")
    state = again.cluster.client(1).state(("t", 0))
    assert state is not None
    assert state.leader == 3
