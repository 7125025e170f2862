"""Runs of real brokers are replayed: the machines say per broker and partition what the wire has, request bounds aside.

`KWIRE_CAPTURES` names a folder with other runs of the same kind; all that it holds of Kafka 1.0 or later, in ZooKeeper
mode, are replayed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from kwire.cluster.kip112 import ReplicaAssignment
from kwire.cluster.kip112.releases import release_number
from tests.cluster.kip112.comparing import differences, sequences
from tests.cluster.kip112.replaying import Replay, reassigned
from tests.cluster.kip112.runs import read_run
from tests.conftest import SHARED, each_of, needs_shared

CAPTURES = Path(os.environ.get("KWIRE_CAPTURES", SHARED / "captures"))


def runs() -> list[str]:
    """Return the names of the runs that can be replayed."""
    names = [path.name.removesuffix(".znodes.history.jsonl") for path in CAPTURES.glob("*.znodes.history.jsonl")]
    releases = {name: re.search(r"^Kafka (\d+\.\d+)", (CAPTURES / f"{name}.md").read_text(), re.M) for name in names}
    return sorted(name for name, found in releases.items() if found and release_number(found[1]) >= (1, 0))


def has_failing_disk(name: str) -> bool:
    return "/log_dir_event_0" in (CAPTURES / f"{name}.znodes.history.jsonl").read_text()


@needs_shared
@each_of("name", runs(), most=4)
def test_a_run_is_said_again(name: str) -> None:
    run = read_run(CAPTURES, name)
    assert sum(len(one.rows(run.names)) for one in run.said) > 10
    assert differences(run) == []


@needs_shared
@each_of("name", [name for name in runs() if has_failing_disk(name)], most=3)
def test_a_run_with_a_failing_disk_ends_with_the_states_that_zookeeper_had(name: str) -> None:
    run = read_run(CAPTURES, name)
    replay = Replay(run)
    replay.play()
    client = replay.cluster.client(min(replay.cluster.hosts))
    ours = {one: client.state(one) for one in replay.states}
    assert {one: (told.leader, told.leader_epoch, told.isr) for one, told in replay.states.items()} == {
        one: state and (state.leader, state.leader_epoch, state.isr) for one, state in ours.items()
    }


@needs_shared
def test_a_difference_is_seen() -> None:
    run = read_run(CAPTURES, "kafka-1.1-zk") if "kafka-1.1-zk" in runs() else read_run(CAPTURES, runs()[0])
    run.said.pop(len(run.said) // 2)
    run.said = [one for one in run.said if one.api != "StopReplica"]
    assert differences(run)
    assert sequences(run.said, run)


def test_why_an_assignment_was_written() -> None:
    two, moving = ReplicaAssignment((1, 2)), ReplicaAssignment((3, 1, 2), (3,), (2,))
    assert reassigned(two, moving) == (3, 1)
    assert reassigned(moving, ReplicaAssignment((3, 1))) is None  # it is done
    assert reassigned(moving, two) == (1, 2)  # it was given up
    assert reassigned(two, ReplicaAssignment((2, 1))) == (2, 1)  # another order
    assert reassigned(two, two) is None
