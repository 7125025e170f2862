"""The assignor of streams groups (KIP-1071): tasks stay where they are or where their state is, and are spread evenly.

As Kafka 4.4's StickyTaskAssignor, with ProcessState. Where several members would be equally good, Java's order of hash
tables and heaps decides, as there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..java.hash_order import STRINGS, HashOrder, hash_order_of
from ..java.priority_queue import PriorityQueue

TaskId = tuple[str, int]  # subtopology and partition


class Subtopology(NamedTuple):
    """A part of a topology: how many tasks it has, and whether they keep state."""

    name: str
    tasks: int
    is_stateful: bool


@dataclass(slots=True)
class TaskOwner:
    """A member of a streams group, with what it had.

    Attributes:
        process_id: the process in which it runs.
        active: its last active tasks.
        standby: its last standby tasks.
        offsets: the offset sums of the states that it has on disk.
    """

    process_id: str
    active: set[TaskId] = field(default_factory=set)
    standby: set[TaskId] = field(default_factory=set)
    offsets: Mapping[TaskId, int] = field(default_factory=dict)


class AssignedTasks(NamedTuple):
    """The tasks that a member shall have."""

    active: set[TaskId]
    standby: set[TaskId]


def assign_sticky_tasks(
    members: Mapping[str, TaskOwner], subtopologies: Sequence[Subtopology], standby_replicas: int = 0
) -> dict[str, AssignedTasks]:
    """Return the tasks of each member.

    Args:
        members: the members by member id.
        subtopologies: the subtopologies, ordered by name.
        standby_replicas: how many standby tasks each task with state has.

    >>> members = {"a": TaskOwner("p", active={("0", 0), ("0", 1)}), "b": TaskOwner("q")}
    >>> assigned = assign_sticky_tasks(members, [Subtopology("0", 2, True)], 1)
    >>> assigned["a"], assigned["b"]
    (AssignedTasks(active={('0', 0)}, standby={('0', 1)}), AssignedTasks(active={('0', 1)}, standby={('0', 0)}))
    """
    return _Assignment(members, subtopologies, standby_replicas).result()


class _Process:
    """The members of a process, with the tasks assigned so far (Kafka: ProcessState)."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}  # tasks by member
        self.tasks: set[TaskId] = set()
        self._by_load: PriorityQueue[list[str]] | None = None

    @property
    def load(self) -> float:
        """The tasks per member."""
        return sum(self.counts.values()) / len(self.counts)

    def least_loaded(self) -> str:
        """Return the member with the fewest tasks, and count a task for it (Kafka: addTaskToLeastLoadedMember)."""
        if self._by_load is None:
            names = hash_order_of(self.counts, STRINGS)
            self._by_load = PriorityQueue(lambda entry: self.counts[entry[0]], ([name] for name in names))
        entry = self._by_load.poll()
        assert entry is not None
        self.counts[entry[0]] += 1
        self._by_load.add(entry)
        return entry[0]

    def count(self, member_id: str) -> None:
        """Count a task for a member; the order of the others is forgotten (Kafka: addTask)."""
        self.counts[member_id] += 1
        self._by_load = None


class _Quota:
    """How many tasks each member may have: an equal share of those that are left (Kafka: computeTasksPerMember)."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.each = 0
        self._share()

    def _share(self) -> None:
        self.each = -(-self._tasks // self._members) if self._members else 0

    def reached(self, tasks: int) -> None:
        """Leave a member out that has now so many tasks, if these are all that it may have."""
        if tasks == self.each:
            self._members -= 1
            self._tasks -= tasks
            self._share()


class _Assignment:
    """An assignment in the making (Kafka: StickyTaskAssignor.LocalState)."""

    def __init__(
        self, members: Mapping[str, TaskOwner], subtopologies: Sequence[Subtopology], standby_replicas: int
    ) -> None:
        self.members = members
        self.replicas = standby_replicas
        self.active = [(part.name, index) for part in subtopologies for index in range(part.tasks)]
        stateful = {part.name for part in subtopologies if part.is_stateful}
        self.stateful = [task for task in self.active if task[0] in stateful]
        self.active_quota = _Quota(len(self.active), len(members))
        self.quota = _Quota(len(self.active) + len(self.stateful) * standby_replicas, len(members))
        self.assigned = {name: AssignedTasks(set(), set()) for name in members}
        self.processes: dict[str, _Process] = {}
        self.order: HashOrder[str] = HashOrder(STRINGS, len(members))
        self.had_active: dict[TaskId, str] = {}
        self.had_state = self._collect()

    def _collect(self) -> dict[TaskId, list[str]]:
        """Return the members with the state of each task, the best ones first: those with a standby task, then those
        with the highest offsets (Kafka: collectStandbyCandidates, rankStandbyCandidates)."""
        candidates: dict[TaskId, list[tuple[bool, int, str]]] = {}
        for name in hash_order_of(self.members, STRINGS):
            owner = self.members[name]
            if owner.process_id not in self.processes:
                self.processes[owner.process_id] = _Process()
                self.order.compute_if_absent(owner.process_id)
            self.processes[owner.process_id].counts[name] = 0
            self.had_active |= dict.fromkeys(owner.active, name)
            for task in owner.standby:
                candidates.setdefault(task, []).append((False, -owner.offsets.get(task, 0), name))
            for task in owner.offsets.keys() - owner.standby:
                candidates.setdefault(task, []).append((True, -owner.offsets[task], name))
        return {task: [row[2] for row in sorted(rows, key=lambda row: row[:2])] for task, rows in candidates.items()}

    def result(self) -> dict[str, AssignedTasks]:
        """Assign all tasks."""
        if self.members:
            self._assign_active()
            self._assign_standby()
        return self.assigned

    def _process(self, member_id: str) -> _Process:
        return self.processes[self.members[member_id].process_id]

    def _tasks_of(self, member_id: str) -> int:
        return self._process(member_id).counts[member_id]

    def _by_load(self) -> PriorityQueue[_Process]:
        return PriorityQueue(lambda process: process.load, (self.processes[name] for name in self.order))

    def _give(self, task: TaskId, member_id: str, *, is_active: bool) -> None:
        """Assign a task to a member for which it is already counted."""
        tasks = self.assigned[member_id].active if is_active else self.assigned[member_id].standby
        tasks.add(task)
        self._process(member_id).tasks.add(task)
        count = self._tasks_of(member_id)
        if is_active:
            self.active_quota.reached(count)
        self.quota.reached(count)

    def _keep(self, task: TaskId, member_id: str | None, *, is_active: bool) -> bool:
        """Assign a task to a member that has had it, unless it has enough; return whether it gets it."""
        quota = self.active_quota if is_active else self.quota
        if member_id is None or self._tasks_of(member_id) >= quota.each:
            return False
        self._process(member_id).count(member_id)
        self._give(task, member_id, is_active=is_active)
        return True

    def _assign_active(self) -> None:
        # Kafka: StickyTaskAssignor.assignActive
        # 1. Tasks stay with the member that had them.
        by_partition = sorted(self.active, key=lambda task: (task[1], task[0]))
        left = [task for task in by_partition if not self._keep(task, self.had_active.get(task), is_active=True)]
        # 2. Others go to a member that has their state.
        left = [task for task in left if not self._keep(task, self._find_state(task), is_active=True)]
        # 3. The others go to where the fewest tasks are.
        queue = self._by_load()
        for task in sorted(left):
            process = queue.poll()
            assert process is not None
            self._give(task, process.least_loaded(), is_active=True)
            queue.add(process)

    def _find_state(self, task: TaskId, *, is_standby: bool = False) -> str | None:
        """Return the member with the state of a task that has the least load (Kafka: findPrevMemberWithLeastLoad); for
        a standby task, its process must not have the task."""
        best: str | None = None
        best_load = 0.0, 0
        for name in self.had_state.get(task, ()):
            process = self._process(name)
            load = process.load, process.counts[name]
            if is_standby and task in process.tasks:
                continue
            if best is None or (load[0] < best_load[0] and load[1] < best_load[1]):
                best = name
                best_load = load
        return best

    def _assign_standby(self) -> None:
        # Kafka: StickyTaskAssignor.assignStandby
        # 1. Where the task was active, or has its state.
        by_partition = sorted(self.stateful, key=lambda task: (task[1], task[0]), reverse=True)
        left = [(task, self._keep_standbys(task)) for task in by_partition]
        # 2. Where the fewest tasks are.
        queue = self._by_load()
        for task, replicas in sorted(left, reverse=True):
            for _ in range(replicas):
                if not self._place_standby(queue, task):
                    break

    def _keep_standbys(self, task: TaskId) -> int:
        """Assign standby tasks to members that ran a task, or have its state; return how many are left to assign."""
        for replica in range(self.replicas):
            before = self.had_active.get(task)
            if before is not None and task in self._process(before).tasks:
                before = None
            if self._keep(task, before, is_active=False):
                continue
            if not self._keep(task, self._find_state(task, is_standby=True), is_active=False):
                return self.replicas - replica
        return 0

    def _place_standby(self, queue: PriorityQueue[_Process], task: TaskId) -> bool:
        """Assign a standby task to the process with the fewest tasks that does not have it; return whether there is one
        (Kafka: assignStandbyToMemberWithLeastLoad)."""
        polled: list[_Process] = []
        while (process := queue.poll()) is not None:
            polled.append(process)
            if task not in process.tasks:
                self._give(task, process.least_loaded(), is_active=False)
                break
        for seen in reversed(polled):
            queue.add(seen)
        return process is not None
