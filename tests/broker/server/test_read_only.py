"""A real broker's directory served read-only: what would write is refused, groups work, and no byte changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import kwire
from kwire.broker import Node, ServedCluster, Settings
from kwire.broker.apis.registry import APIS
from kwire.broker.request_context import READ_ONLY, WRITING
from kwire.broker.server.file_disk import FileDisk, ReadOnlyDisk
from kwire.client.read_only_apis import READING
from kwire.values import ErrorCode
from tests.broker.driving import World
from tests.broker.served import ask, batch, fetch, produce, values
from tests.broker.server.test_file_disk import as_kafkas

# Apis whose state is in memory; what they write of groups is kept in memory, too.
OF_GROUPS = {
    *("ConsumerGroupHeartbeat", "DeleteGroups", "Heartbeat", "JoinGroup", "LeaveGroup", "OffsetCommit", "OffsetDelete"),
    *("SyncGroup", "ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge", "StreamsGroupHeartbeat"),
    *("AlterShareGroupOffsets", "DeleteShareGroupOffsets"),
}
OF_CLIENTS = {"GetTelemetrySubscriptions", "PushTelemetry", "SaslAuthenticate"}
REFUSED = {  # at any rate
    *("CreateDelegationToken", "ExpireDelegationToken", "RenewDelegationToken"),
    "StreamsGroupTopologyDescriptionUpdate",
}
OF_TRANSACTION = {"transactionalId": "x", "producerId": 5, "producerEpoch": 0}
ACL = {"resourceType": 2, "resourceName": "t", "resourcePatternType": 3, "principal": "User:a", "host": "*"}
CONFIG = {"resourceType": 2, "resourceName": "t", "configs": [{"name": "retention.ms", "value": "1"}]}
IN_TOPIC = [{"name": "t", "partitions": [0]}]
# Requests that succeed where directories are not read-only, or fail later.
REQUESTS: dict[str, dict[str, Any]] = {
    "AddOffsetsToTxn": {**OF_TRANSACTION, "groupId": "g"},
    "AddRaftVoter": {"voterId": 9},
    "AlterClientQuotas": {"entries": [{"entity": [{"entityType": "user", "entityName": "a"}], "ops": []}]},
    "AlterConfigs": {"resources": [CONFIG]},
    "AlterPartitionReassignments": {
        "topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "replicas": [1]}]}],
    },
    "AlterReplicaLogDirs": {"dirs": [{"path": "/", "topics": IN_TOPIC}]},
    "AlterUserScramCredentials": {"deletions": [{"name": "a", "mechanism": 1}]},
    "CreateAcls": {"creations": [{**ACL, "operation": 3, "permissionType": 3}]},
    "CreatePartitions": {"topics": [{"name": "t", "count": 3, "assignments": None}]},
    "CreateTopics": {"topics": [{"name": "new", "numPartitions": 1, "replicationFactor": 1}]},
    "DeleteAcls": {"filters": [{"resourceTypeFilter": 1, "patternTypeFilter": 1, "operation": 1, "permissionType": 1}]},
    "DeleteRecords": {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "offset": 1}]}]},
    "DeleteTopics": {"topics": [{"name": "t"}]},
    "ElectLeaders": {"topicPartitions": [{"topic": "t", "partitions": [0]}]},
    "EndTxn": {**OF_TRANSACTION, "committed": True},
    "IncrementalAlterConfigs": {"resources": [CONFIG]},
    "InitProducerId": {"transactionalId": None},
    "RemoveRaftVoter": {"voterId": 9},
    "TxnOffsetCommit": {
        **OF_TRANSACTION,
        "groupId": "g", "topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 1}]}],
    },
    "UnregisterBroker": {"brokerId": 1},
    "UpdateFeatures": {"featureUpdates": [{"feature": "group.version", "maxVersionLevel": 0, "upgradeType": 3}]},
    "WriteTxnMarkers": {
        "markers": [{"producerId": 5, "producerEpoch": 0, "transactionResult": True, "topics": [
            {"name": "t", "partitionIndexes": [0]}], "coordinatorEpoch": 0}],
    },
}  # fmt: skip
VERSIONS = {"TxnOffsetCommit": 3, "DeleteTopics": 6}


class Served:
    """A directory as that of a real broker, with two records and a group's commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.world = World(disks=[FileDisk(str(folder))])
        (self.mate,) = self.world.mates(1)
        for value in (b"a", b"b"):
            produce(self.world.cluster, batch(value))
        assert self.mate.commit(2) == 0
        as_kafkas(folder, self.world.cluster.controller.topics["t"].topic_id)
        self.before = self.contents()
        settings = Settings(read_only=True, authorizer=True, allow_without_acls=True)
        self.cluster = ServedCluster([Node(1, disks=[ReadOnlyDisk(str(folder))])], settings, Random(2))

    def contents(self) -> dict[str, tuple[int, bytes]]:
        """Everything in the directory, with its times."""
        return {
            str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
            for path in (self.folder, *sorted(self.folder.rglob("*")))
        }

    def ask(self, name: str, version: int, members: dict[str, Any]) -> Any:
        """Send a request; returns the response as JSON."""
        codec = kwire.codec(f"{name}Request", version)
        answer = ask(self.cluster, codec.from_json(members, defaults=True), version)
        return kwire.codec(f"{name}Response", version).to_json(answer)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.cluster.check()
    assert made.contents() == made.before


def errors(value: Any) -> Iterator[tuple[int, Any]]:
    """Yield error codes with their messages."""
    if isinstance(value, dict):
        if code := value.get("errorCode") or value.get("partitionErrorCode"):
            yield code, value.get("errorMessage", READ_ONLY)
        for one in value.values():
            yield from errors(one)
    for one in value if isinstance(value, list) else ():
        yield from errors(one)


def test_it_is_decided_for_each_api() -> None:
    decided = [WRITING, READING, OF_GROUPS, OF_CLIENTS, REFUSED]
    assert set().union(*decided) >= set(APIS)
    assert sum(map(len, decided)) == len(set().union(*decided))
    assert set(REQUESTS) | {"Produce", "AddPartitionsToTxn"} == WRITING


@pytest.mark.parametrize("api", sorted(REQUESTS))
def test_what_would_write_is_refused(served: Served, api: str) -> None:
    found = list(errors(served.ask(api, VERSIONS.get(api, APIS[api].last), REQUESTS[api])))
    assert {code for code, _ in found} == {ErrorCode.POLICY_VIOLATION}, found
    if api not in ("ElectLeaders", "UpdateFeatures", "UnregisterBroker", "AddRaftVoter", "RemoveRaftVoter"):
        assert {message for _, message in found} == {READ_ONLY}


def test_a_producer_is_refused_and_no_topic_is_created(served: Served) -> None:
    row = produce(served.cluster, batch(b"c"))
    assert (row.error_code, row.error_message) == (ErrorCode.POLICY_VIOLATION, READ_ONLY)
    rows = {"transactions": [{**OF_TRANSACTION, "verifyOnly": False, "topics": IN_TOPIC}]}
    assert list(errors(served.ask("AddPartitionsToTxn", 5, rows)))
    named = {"topics": [{"name": "new"}], "allowAutoTopicCreation": True}
    assert served.ask("Metadata", 9, named)["topics"][0]["errorCode"] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert set(served.cluster.controller.topics) == {"t", "__consumer_offsets"}
    assert values(fetch(served.cluster)) == [b"a", b"b"]


def test_groups_work_in_memory(served: Served) -> None:
    served.mate.world.cluster = served.cluster
    assert served.mate.commit(1) == 0
    asked = {"groups": [{"groupId": "g", "topics": [{"name": "t", "partitionIndexes": [0]}]}]}
    (found,) = served.ask("OffsetFetch", 8, asked)["groups"]
    assert found["topics"][0]["partitions"][0]["committedOffset"] == 1
    joining = {"groupId": "next", "memberId": "A" * 22, "memberEpoch": 0, "topicPartitions": []}
    joining |= {"rebalanceTimeoutMs": 60_000, "subscribedTopicNames": ["t"]}
    assert served.ask("ConsumerGroupHeartbeat", 1, joining)["errorCode"] == 0
    leaving = {"groupId": "next", "memberId": "A" * 22, "memberEpoch": -1}
    assert served.ask("ConsumerGroupHeartbeat", 1, leaving)["errorCode"] == 0
    assert served.ask("DeleteGroups", 2, {"groupsNames": ["next"]})["results"][0]["errorCode"] == 0
