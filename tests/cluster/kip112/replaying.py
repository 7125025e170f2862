"""A run of real brokers, played again by the machines of `kwire.cluster.kip112`.

What the world did (brokers, disks, topics, ISR changes by leaders, elections asked for) is read from a run's znode
history and told to a `JbodCluster`, which says what its controllers and brokers then say to each other.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

from kwire.cluster.events.partition_states import partition_states
from kwire.cluster.kip112 import JbodCluster, JbodDisk, ReplicaAssignment, RequestExchange, TopicPartition
from kwire.cluster.kip112.jbod_cluster import Step
from kwire.cluster.kip112.kafka_zk_client import partition_of
from kwire.zookeeper import read_znode
from tests.cluster.kip112.runs import Run, Said

# written by clients or by leaders, and read by the controller
ASKED = re.compile(
    r"/(isr_change_notification|admin/delete_topics|config/topics)/.+|/admin/(reassign_partitions|preferred_\w+)"
)
AT_ONCE = 0.003  # seconds in which the controller takes what happens for one thing


def is_same_kind(event: Any, following: Any) -> bool:
    """Return whether brokers came or went in both, or the state of partitions was written in both."""
    paths = [one.get("path", "") if isinstance(one, dict) else "" for one in (event, following)]
    together = (r"/brokers/ids/\d+", r"/brokers/topics/[^/]+/partitions/\d+/state")
    return any(all(re.fullmatch(kind, path) for path in paths) for kind in together)


def leader_and_isr_rows(request: Any) -> int:
    is_one = type(request).__name__ == "LeaderAndIsrRequest"
    return sum(1 for _ in partition_states(request)) if is_one else 0


class Replay:
    """One run being played again. `said` is what the machines say; `log` what the world did that they did not take."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.cluster = JbodCluster(
            {one: ["a", "b"] for one in sorted(run.sessions)},
            behaviour="released",
            release=run.release,
            protocol=run.protocol,
            unclean=run.unclean,
        )
        self.exchanges: list[tuple[float, RequestExchange]] = []
        self.log: list[str] = []
        # of how many partitions a broker was asked, and has answered, by LeaderAndIsr on the wire, and not yet here
        self.due = {"request": Counter[int](), "answer": Counter[int]()}
        self.states: dict[TopicPartition, Any] = {}
        self.topics: dict[str, Any] = {}
        self.asked: set[TopicPartition] = set()  # whose reassignment a znode asks for
        self.wanted: dict[str, list[TopicPartition]] = defaultdict(list)  # elections
        self.altered: dict[TopicPartition, int] = defaultdict(int)  # ISRs written whose answer is still to come
        self.leaders_notify = any("/isr_change_notification/" in row["path"] for row in run.history)

    def play(self) -> None:
        """Tell the cluster all that happened, each thing after the last one has had its effects."""
        for (at, kind, event), (later, _, following) in pairwise([*self._events(), (float("inf"), "", None)]):
            getattr(self, f"_{kind}")(event, at)
            if later - at > AT_ONCE or not is_same_kind(event, following):
                self._elect()
                self._settle(at)

    @property
    def said(self) -> list[Said]:
        """What the controllers have said to brokers, and how these answered."""
        return [Said(at, one.broker_id, one.request, one.response) for at, one in self.exchanges]

    def _events(self) -> list[tuple[float, str, Any]]:
        """Return when which method is told what."""
        asked = [one for one in self.run.said if one.api == "LeaderAndIsr"]
        events: list[tuple[float, str, Any]] = [(row["at"], "changed", row) for row in self.run.history]
        events += [(at, "shut_down", request) for at, request in self.run.shutdowns]
        events += [(at, "altered", partition) for at, partition in self.run.alterations]
        events += [(one.time, "asked_on_the_wire", one) for one in asked]
        events += [(one.answered, "answered_on_the_wire", one) for one in asked if one.answered is not None]
        events += [(at, "disk_failed", (broker_id, lost)) for at, broker_id, lost in self.run.failures()]
        return sorted(events, key=lambda one: one[0])

    def _settle(self, at: float) -> None:
        """Let everything happen that can, but no LeaderAndIsr, nor its answer, before it was on the wire."""
        while (step := next(filter(self._may_happen, self.cluster.steps()), None)) is not None:
            if self._rows(step):
                self.due[step[0]][step[1][1]] -= self._rows(step)  # type: ignore[index]
            self.cluster.take(step)
        self.exchanges += [(at, one) for one in self.cluster.journal]
        self.cluster.journal.clear()

    def _rows(self, step: Step) -> int:
        """Return of how many partitions a step is, if it is one of LeaderAndIsr; else 0."""
        key = step[1]
        return 0 if isinstance(key, int) else leader_and_isr_rows(self.cluster.links[key].waiting[0][0].request)

    def _may_happen(self, step: Step) -> bool:
        kind, key = step
        return isinstance(key, int) or not self._rows(step) or self.due[kind][key[1]] >= self._rows(step)

    def _asked_on_the_wire(self, one: Said, at: float) -> None:
        self.due["request"][one.broker_id] += leader_and_isr_rows(one.request)

    def _answered_on_the_wire(self, one: Said, at: float) -> None:
        self.due["answer"][one.broker_id] += leader_and_isr_rows(one.request)

    def _changed(self, row: dict[str, Any], at: float) -> None:
        if row["op"] == "delete":
            self._deleted(row["path"])
        else:
            self._written(row["path"], row.get("data"), at)

    def _shut_down(self, request: Any, at: float) -> None:
        if self.cluster.controller is not None:
            self.cluster.controller.on_controlled_shutdown(request)
            self.cluster.after()

    def _altered(self, partition: TopicPartition, at: float) -> None:
        """Take a leader's wish for an ISR that was there already, or was refused: everybody is told what there is."""
        if self.altered[partition]:
            self.altered[partition] -= 1  # it was written
        else:
            self._notify([partition])

    def _deleted(self, path: str) -> None:
        if re.fullmatch(r"/brokers/ids/\d+", path):
            self.cluster.stop(int(path[13:]))
        elif path == "/controller" and self.cluster.controller is not None:
            self.cluster.resign(self.cluster.controller.broker_id)
        elif (gone := partition_of(path)) is not None:
            self.states.pop(gone, None)

    def _written(self, path: str, data: str | None, at: float) -> None:
        if re.fullmatch(ASKED, path):
            self._asked(path, data)
        elif data is None:
            return
        elif (partition := partition_of(path)) is not None:
            self._state_written(partition, read_znode(path, data))
        elif re.fullmatch(r"/brokers/ids/\d+", path):
            self._broker_started(int(path[13:]), read_znode(path, data), at)
        elif path == "/controller":
            self.cluster.elect(read_znode(path, data).brokerid)
        elif re.fullmatch(r"/brokers/topics/[^/]+", path):
            self._topic_written(path, data)
        elif path.startswith("/log_dir_event_notification/"):
            self._write(path, data)

    def _asked(self, path: str, data: str | None) -> None:
        if path == "/admin/reassign_partitions":
            self.asked |= {(one.topic, one.partition) for one in read_znode(path, data).partitions}
        self._write(path, data)

    def _write(self, path: str, data: str | None) -> None:
        held = (data or "").encode()
        if self.cluster.zk.create(path, held) is None:
            self.cluster.zk.set(path, held)
        self.cluster.after()

    def _broker_started(self, broker_id: int, registration: Any, at: float) -> None:
        """Start a broker. Its disks are as its answers until the next failure say: all work, or the bad ones not."""
        if not self.run.failed(broker_id, at, self.run.next_failure(broker_id, at)):
            for disk in self.cluster.hosts[broker_id].disks.values():
                disk.works = True
        for due in self.due.values():
            del due[broker_id]
        self.cluster.start(broker_id, registration)

    def _disk_failed(self, failure: tuple[int, set[TopicPartition]], at: float) -> None:
        """Let a disk fail with the replicas that were on it. The broker tells of it when its znode appeared."""
        broker_id, lost = failure
        broker = self.cluster.hosts[broker_id].broker
        if broker is None:
            self.log.append(f"broker {broker_id} is not there to lose a disk")
            return
        name = f"failed-{len(broker.logs.disks)}"
        broker.logs.disks[name] = JbodDisk()
        broker.logs.live.append(name)
        broker.logs.place(lost - broker.replicas.offline, name)
        broker.logs.disks[name].works = False
        broker.replicas.handle_log_dir_failure(name)

    def _topic_written(self, path: str, data: str) -> None:
        """Take a new topic or new partitions; what the controller wrote says which reassignments it was asked for."""
        topic, told = path[16:], read_znode(path, data)
        known, self.topics[topic] = self.topics.get(topic), told
        if known is None or set(known.partitions) != set(told.partitions):
            self._write(path, data)
            return
        for index in told.partitions:
            target = reassigned(_assignment(known, index), _assignment(told, index))
            if target is not None and (topic, index) not in self.asked:
                self._reassign((topic, index), target)

    def _reassign(self, partition: TopicPartition, target: tuple[int, ...]) -> None:
        assert self.cluster.controller is not None
        self.cluster.controller.reassign(partition, target)
        self.cluster.after()

    def _state_written(self, partition: TopicPartition, told: Any) -> None:
        """Take what a leader wrote, or what only a client can have asked for; the rest is the controller's own."""
        known, self.states[partition] = self.states.get(partition), told
        if known is None or known.leader_epoch == told.leader_epoch:
            if known is not None:
                self._isr_changed(partition, told)
            return
        ours = self.cluster.client(min(self.cluster.hosts)).state(partition)
        controller = self.cluster.controller
        if controller is None or ours is None or ours.leader_epoch >= told.leader_epoch:
            return
        if told.leader not in known.isr:
            self.wanted["unclean"].append(partition)
        elif tuple(told.isr) == tuple(known.isr):
            self.wanted["preferred"].append(partition)

    def _elect(self) -> None:
        """Hold the elections that were asked for together, as one."""
        controller = self.cluster.controller
        if controller is not None:
            controller.elect_unclean(self.wanted["unclean"])
            controller.elect_preferred(self.wanted["preferred"])
            self.cluster.after()
        self.wanted.clear()

    def _isr_changed(self, partition: TopicPartition, told: Any) -> None:
        broker = self.cluster.hosts[told.leader].broker if told.leader in self.cluster.hosts else None
        if not self.leaders_notify:  # AlterPartition: the controller knows at once (KIP-497)
            self.altered[partition] += 1
            self._notify([partition], now=False)
        if broker is None or not broker.replicas.change_isr(partition, tuple(told.isr), broker.zk):
            self.log.append(f"{partition}: leader {told.leader} could not write the ISR {told.isr}")
        self.cluster.after()

    def _notify(self, partitions: list[TopicPartition], *, now: bool = True) -> None:
        self.cluster.client(min(self.cluster.hosts)).notify_isr_change(partitions)
        if now:
            self.cluster.after()


def _assignment(told: Any, index: int) -> ReplicaAssignment:
    adding, removing = told.adding_replicas or {}, told.removing_replicas or {}
    return ReplicaAssignment(told.partitions[index], tuple(adding.get(index, ())), tuple(removing.get(index, ())))


def reassigned(was: ReplicaAssignment, now: ReplicaAssignment) -> tuple[int, ...] | None:
    """Return to which replicas a user wanted a partition moved, if that is why its assignment was written."""
    if was == now:
        return None
    is_end = not (now.adding or now.removing) and now.replicas == was.target
    return None if is_end and (was.adding or was.removing) else now.target
