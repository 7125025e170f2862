"""Runs of real brokers as `../shared/captures/README.md` describes them: what happened, and what was said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import kwire
from kwire.cluster.events.partition_states import partition_errors, partition_states, stopped_partitions, topic_ids_in
from kwire.cluster.kip112 import TopicPartition
from kwire.cluster.kip112.values import KAFKA_STORAGE_ERROR
from kwire.zookeeper import read_znode

APIS = ("LeaderAndIsrRequest", "UpdateMetadataRequest", "StopReplicaRequest")
UNANSWERED = "unanswered"
UNKNOWN = (3, 100)  # the topic by its name, or by its id
Row = tuple[Any, ...]  # api, leader, leader epoch, ISR, offline replicas or is_new, error


@dataclass(frozen=True)
class Said:
    """A request of a controller to a broker, with the answer and its time if one came."""

    time: float
    broker_id: int
    request: Any
    response: Any
    answered: float | None = None

    @property
    def api(self) -> str:
        return type(self.request).__name__.removesuffix("Request")

    def errors(self, names: dict[bytes, str]) -> dict[TopicPartition, int]:
        """Return the errors of the answer; `names` are those of topic ids."""
        asked = self.response is not None and self.api != "UpdateMetadata"
        return partition_errors(self.response, names) if asked else {}

    def rows(self, names: dict[bytes, str]) -> list[tuple[TopicPartition, Row]]:
        """Return what was said of each partition."""
        errors = self.errors(names)
        missing = UNANSWERED if self.response is None else None
        if self.api == "StopReplica":
            told = [(one, (self.api, delete, epoch)) for one, delete, epoch in stopped_partitions(self.request)]
        else:
            told = [(one, self._row(state)) for one, state in partition_states(self.request)]
        return [(one, (*row, errors.get(one, missing))) for one, row in told]

    def _row(self, state: Any) -> Row:
        more = state.is_new_replica if self.api == "LeaderAndIsr" else tuple(state.offline_replicas)
        return (self.api, state.leader, state.leader_epoch, tuple(state.isr), more)


@dataclass
class Run:
    """A run: its history, what was said, and what its page tells of the brokers.

    `alterations` are partitions whose leader asked for an ISR by AlterPartition, if the controller knew the partition.
    """

    history: list[dict[str, Any]]
    said: list[Said]
    shutdowns: list[tuple[float, Any]]
    alterations: list[tuple[float, TopicPartition]]
    release: str
    protocol: str
    unclean: bool

    @cached_property
    def names(self) -> dict[bytes, str]:
        """The names of topics by their ids."""
        asked = [one.request for one in self.said if one.api != "StopReplica"]
        return {topic_id: name for one in asked for name, topic_id in topic_ids_in(one).items()}

    @cached_property
    def sessions(self) -> dict[int, list[tuple[float, float]]]:
        """From when to when each broker was registered; infinity if it still was."""
        found: dict[int, list[tuple[float, float]]] = {}
        for row in self.history:
            if registered := re.fullmatch(r"/brokers/ids/(\d+)", row["path"]):
                rows = found.setdefault(int(registered[1]), [])
                if row["op"] == "delete":
                    rows[-1] = (rows[-1][0], row["at"])
                elif row.get("data"):
                    rows.append((row["at"], float("inf")))
        return found

    def session(self, broker_id: int, time: float) -> int:
        """Return in which of its sessions a broker was at a time."""
        return sum(1 for start, _ in self.sessions[broker_id] if start <= time)

    def leaving_since(self, broker_id: int, session: int) -> float:
        """Return from when on a broker may not have received all: since it asked to shut down, or fell silent."""
        start, end = self.sessions[broker_id][session - 1]
        asked = [at for at, request in self.shutdowns if request.broker_id == broker_id and start <= at <= end]
        answered = [one.time for one in self.said if one.broker_id == broker_id and start <= one.time <= end]
        return min(asked) if asked else max(answered, default=start) if end < float("inf") else end

    def next_failure(self, broker_id: int, time: float) -> float:
        """Return when a broker next tells of a failed directory, or its session ends."""
        told = [at for at, reporter in self._events() if reporter == broker_id and at > time]
        return min(told, default=self.sessions[broker_id][self.session(broker_id, time) - 1][1])

    def _events(self) -> list[tuple[float, int]]:
        """Return when which broker told of a failed directory."""
        rows = [row for row in self.history if row["op"] == "create" and "/log_dir_event_0" in row["path"]]
        return [(row["at"], read_znode(row["path"], row["data"]).broker) for row in rows]

    def failures(self) -> list[tuple[float, int, set[TopicPartition]]]:
        """Return when a disk of which broker failed, and the replicas that its answers say are lost since.

        A broker may answer that a replica is lost before it tells of the directory.
        """
        found = []
        for at, broker_id in self._events():
            start, _ = self.sessions[broker_id][self.session(broker_id, at) - 1]
            lost = self.failed(broker_id, at, self.next_failure(broker_id, at))
            found.append((min([at, *self._lost_early(broker_id, start, at, lost)]), broker_id, lost))
        return found

    def _lost_early(self, broker_id: int, start: float, until: float, lost: set[TopicPartition]) -> Iterator[float]:
        """Yield when replicas were asked about and lost that the broker had served before in this session."""
        served: set[TopicPartition] = set()
        for one in self.said:
            if one.broker_id == broker_id and start <= one.time < until and one.api == "LeaderAndIsr":
                errors = one.errors(self.names)
                gone = {partition for partition, code in errors.items() if code == KAFKA_STORAGE_ERROR}
                if gone & lost & served:
                    yield one.time - 1e-6
                served |= errors.keys() - gone

    def failed(self, broker_id: int, since: float, until: float) -> set[TopicPartition]:
        """Return which replicas of a broker lie on a failed directory, as its answers say."""
        return {
            partition
            for one in self.said
            if one.broker_id == broker_id and since <= one.time <= until and one.api == "LeaderAndIsr"
            for partition, code in one.errors(self.names).items()
            if code == KAFKA_STORAGE_ERROR
        }


def read_run(folder: Path, name: str) -> Run:
    """Read a run from its files."""
    page = (folder / f"{name}.md").read_text()
    release = re.search(r"^Kafka (\d+\.\d+)", page, re.MULTILINE)
    protocol = re.search(r"^inter\.broker\.protocol\.version=(\S+)", page, re.MULTILINE)
    assert release is not None
    with (folder / f"{name}.znodes.history.jsonl").open() as lines:
        history = [json.loads(line) for line in lines]
    for row in history:
        # ZooKeeper's log tells milliseconds, cut off: what a packet caused must not stand before it
        row["at"] = datetime.fromisoformat(row["time"]).replace(tzinfo=UTC).timestamp() + 0.001
    results: list[Any] = list(kwire.decode_frames(kwire.read_dump(str(folder / f"{name}.controller.pcap"))))
    shutdowns = [(one.frame.source.time, one.message) for one in results if _named(one) == "ControlledShutdownRequest"]
    return Run(
        history,
        list(_said(results, _ports(history))),
        shutdowns,
        list(_alterations(results)),
        release[1],
        protocol[1] if protocol else release[1],
        "unclean.leader.election.enable=true" in page,
    )


def _ports(history: list[dict[str, Any]]) -> dict[str, int]:
    """Return who listens where: `ip:port` -> broker id."""
    ports = {}
    for row in history:
        if re.fullmatch(r"/brokers/ids/\d+", row["path"]) and row.get("data"):
            told = read_znode(row["path"], row["data"])
            for endpoint in told.endpoints or (f"x://{told.host}:{told.port}",):
                ports[endpoint.split("://")[1]] = int(row["path"].rsplit("/", 1)[1])
    return ports


def _named(result: Any) -> str:
    return type(getattr(result, "message", None)).__name__


def _said(results: list[Any], ports: dict[str, int]) -> Iterator[Said]:
    answers = {
        (one.frame.source.connection, one.correlation_id): one for one in results if _named(one).endswith("Response")
    }
    for one in results:
        if _named(one) in APIS:
            source = one.frame.source
            answer = answers.get((source.connection, one.correlation_id))
            told = (answer.message, answer.frame.source.time) if answer is not None else (None, None)
            yield Said(source.time, ports[source.broker], one.message, *told)


def _alterations(results: list[Any]) -> Iterator[tuple[float, TopicPartition]]:
    asked = [one.message for one in results if _named(one) in APIS[:2]]
    names = {topic_id: name for one in asked for name, topic_id in topic_ids_in(one).items()}
    for one in results:
        if _named(one) == "AlterPartitionResponse":
            for topic in one.message.topics:
                name = topic.topic_name or names.get(bytes(topic.topic_id), "")
                for partition in topic.partitions:
                    if partition.error_code not in UNKNOWN:
                        yield one.frame.source.time, (name, partition.partition_index)
