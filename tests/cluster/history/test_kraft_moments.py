"""At random moments of a real KRaft run, the state of a cluster is what Kafka's own dump of its metadata log says."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import pytest

from kwire.cli.cluster.observations import NumberedObservation, found_in, in_order_of_time, model_from
from kwire.cli.main import parser_for
from kwire.cluster import ClusterState
from tests.conftest import SHARED, needs_shared
from tests.interop.kafka import java, need
from tests.seeds import seeded

pytestmark = [pytest.mark.ci, needs_shared]
RUN = SHARED / "captures/kafka-4.4-kraft"
LOG = f"{RUN}.segments/__cluster_metadata-0/00000000000000000000.log"
CAPTURES = [f"{RUN}.{kind}.pcap" for kind in ("clients", "controllers", "replication")]
MOMENTS = 25
STOPPED = 1795243473.268  # when all brokers were told to stop: the last records were fetched by nobody
CLOSE = 0.3  # seconds after a record, until when all brokers have fetched it


class Record(NamedTuple):
    """A record as DumpLogSegments prints it."""

    offset: int
    time: float
    type: str
    data: dict[str, Any]


class Truth:
    """The state after some records, by the rules of Kafka's PartitionRegistration.merge and BrokerRegistration."""

    def __init__(self, records: list[Record]) -> None:
        self.topics: dict[str, str] = {}
        self.partitions: dict[tuple[str, int], dict[str, Any]] = {}
        self.brokers: dict[int, tuple[str, bool]] = {}
        for record in records:
            replay = getattr(self, f"_{record.type.lower()}", None)
            if replay is not None:
                replay(record.data)

    def _topic_record(self, data: dict[str, Any]) -> None:
        self.topics[data["topicId"]] = data["name"]

    def _remove_topic_record(self, data: dict[str, Any]) -> None:
        name = self.topics.pop(data["topicId"])
        self.partitions = {key: value for key, value in self.partitions.items() if key[0] != name}

    def _partition_record(self, data: dict[str, Any]) -> None:
        self.partitions[self.topics[data["topicId"]], data["partitionId"]] = dict(data)

    def _partition_change_record(self, data: dict[str, Any]) -> None:
        partition = self.partitions[self.topics[data["topicId"]], data["partitionId"]]
        partition["leaderEpoch"] += "leader" in data  # absent: NO_LEADER_CHANGE
        partition.update({name: data[name] for name in ("leader", "isr", "replicas") if data.get(name) is not None})

    def _register_broker_record(self, data: dict[str, Any]) -> None:
        self.brokers[data["brokerId"]] = data["rack"], data["fenced"]

    def _broker_registration_change_record(self, data: dict[str, Any]) -> None:
        rack, fenced = self.brokers[data["brokerId"]]
        self.brokers[data["brokerId"]] = rack, {1: True, -1: False}.get(data.get("fenced", 0), fenced)

    def facts(self) -> dict[Any, Any]:
        partitions = {
            key: (row["leader"], row["leaderEpoch"], tuple(row["isr"]), tuple(row["replicas"]))
            for key, row in self.partitions.items()
        }
        return {**partitions, **self.brokers}


def facts_in(state: ClusterState) -> dict[Any, Any]:
    """Return what the truth has, too."""
    partitions = {
        (partition.topic, partition.index): (
            partition.leader,
            partition.leader_epoch,
            partition.isr,
            partition.replicas,
        )
        for partition in state.partitions()
    }
    brokers = {node_id: (broker.rack, broker.fenced) for node_id, broker in (state.brokers or {}).items()}
    return {**partitions, **brokers}


@pytest.fixture(scope="module")
def records() -> list[Record]:
    """The records of the log, by Kafka's own program."""
    need("java", "mvn")
    text = java("4.4.0", "org.apache.kafka.tools.DumpLogSegments", "--files", LOG, "--cluster-metadata-decoder")
    rows = re.findall(r"offset: (\d+) CreateTime: (\d+) .* payload: (\{.*\})", text)
    payloads = [(int(offset), int(time) / 1000, json.loads(payload)) for offset, time, payload in rows]
    return [Record(offset, time, payload["type"], payload["data"]) for offset, time, payload in payloads]


def observations_in(files: list[str]) -> list[NumberedObservation]:
    options: Any = parser_for(["cluster"]).parse_args(["cluster", *files])
    return list(in_order_of_time(found_in(options)))


def test_the_state_at_an_offset_of_the_log(records: list[Record]) -> None:
    observations = observations_in([LOG])
    first = next(record.offset for record in records if record.type == "REGISTER_BROKER_RECORD")
    later = [record.offset for record in records if record.offset >= first]
    for offset in [*seeded("offsets of KRaft").sample(later, 60), later[-1]]:
        truth = Truth([record for record in records if record.offset <= offset])
        found = facts_in(model_from(observations, str(offset), "log").state())
        assert found == truth.facts(), offset


@pytest.mark.parametrize("files", [[LOG], CAPTURES, [LOG, *CAPTURES]], ids=["log", "captures", "both"])
def test_the_state_at_a_time(records: list[Record], files: list[str]) -> None:
    observations = observations_in(files)
    end = records[-1].time if LOG in files else STOPPED
    times = [record.time for record in records if record.type != "NO_OP_RECORD" and record.time <= end]
    random = seeded("times of KRaft")
    drawn = (random.uniform(times[40], end) for _ in range(50 * MOMENTS))
    quiet = [moment for moment in drawn if not any(0 <= moment - time < CLOSE for time in times)]
    for moment in [*sorted(quiet[:MOMENTS]), times[-1] + CLOSE]:
        truth = Truth([record for record in records if record.time <= moment]).facts()
        found = facts_in(model_from(observations, f"{moment:.6f}", "run").state())
        wrong = {key: (found.get(key), truth.get(key)) for key in truth | found if found.get(key) != truth.get(key)}
        assert not wrong, moment
