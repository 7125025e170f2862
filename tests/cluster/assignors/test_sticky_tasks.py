"""The assignor of streams groups (KIP-1071): what Kafka 4.4.0's StickyTaskAssignor answers."""

from __future__ import annotations

from gzip import decompress

import pytest

from kwire.cluster.assignors.sticky_tasks import AssignedTasks, Subtopology, TaskOwner, assign_sticky_tasks
from tests.conftest import ROOT

RECORDED = ROOT / "tests/data/sticky-tasks-kafka-4.4.0.txt.gz"


def read_tasks(text: str) -> set[tuple[str, int]]:
    """Read tasks: `0-1,1-0`, each a subtopology and a partition."""
    parts = (task.split("-") for task in text.split(",") if task)
    return {(name, int(index)) for name, index in parts}


def read_owner(text: str) -> tuple[str, TaskOwner]:
    """Read a member: `name|process|active|standby|offsets`, with offsets such as `0-1=5`."""
    name, process, active, standby, offsets = text.split("|")
    sums = dict(task.split("=") for task in offsets.split(",") if task)
    found = {task: int(total) for key, total in sums.items() for task in read_tasks(key)}
    return name, TaskOwner(process, read_tasks(active), read_tasks(standby), found)


def read_question(text: str) -> tuple[dict[str, TaskOwner], list[Subtopology], int]:
    """Read a question: `replicas;subtopologies;members`, with `0:3:1` for three tasks with state."""
    replicas, parts, members = text.split(";")
    rows = (part.split(":") for part in parts.split(","))
    subtopologies = [Subtopology(name, int(tasks), flag == "1") for name, tasks, flag in rows]
    return dict(map(read_owner, members.split("&"))), subtopologies, int(replicas)


def read_answer(text: str) -> dict[str, AssignedTasks]:
    """Read an answer: `{member=active/standby, ...}`."""
    rows = (row.split("=") for row in text[1:-1].split(", "))
    return {name: AssignedTasks(*map(read_tasks, tasks.split("/"))) for name, tasks in rows}


def test_tasks_are_assigned_as_by_kafka() -> None:
    lines = decompress(RECORDED.read_bytes()).decode().splitlines()
    assert len(lines) == 400
    for question, answer in zip(lines[::2], lines[1::2], strict=True):
        assert assign_sticky_tasks(*read_question(question)) == read_answer(answer), question


def test_without_members_nothing_is_assigned() -> None:
    assert assign_sticky_tasks({}, [Subtopology("0", 2, is_stateful=True)], 1) == {}


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_a_process_never_has_a_task_twice(processes: int) -> None:
    members = {f"m{number}": TaskOwner(f"p{number % processes}") for number in range(4)}
    found = assign_sticky_tasks(members, [Subtopology("0", 5, is_stateful=True)], 2)
    for process in range(processes):
        tasks = [
            task
            for name, owner in members.items()
            if owner.process_id == f"p{process}"
            for task in (*found[name].active, *found[name].standby)
        ]
        assert len(tasks) == len(set(tasks))
    assert sum(len(tasks.standby) for tasks in found.values()) == 5 * min(2, processes - 1)
