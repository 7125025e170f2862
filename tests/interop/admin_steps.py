"""The steps of an administrator, good and bad ones, against any single broker: one line for each, with error codes.

`python -m tests.interop.admin_steps HOST:PORT` prints them for a broker that listens there;
`tests/data/admin-kafka-4.1.0.txt` is what Kafka 4.1.0 answered.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import kwire
from tests.interop.transaction_steps import Line, Steps

M = kwire.messages


class Admin(Steps):
    """A broker, a topic of two partitions, and a group."""

    def write(self, *values: bytes) -> int:
        records = kwire.build_batch([kwire.Record(place, 1000, None, value) for place, value in enumerate(values)])
        part = M.ProduceRequest.PartitionProduceData(index=0, records=records)
        row = M.ProduceRequest.TopicProduceData(name=self.topic, partition_data=(part,))
        answer = self.ask("Produce", 9, acks=-1, timeout_ms=5000, topic_data=(row,))
        return int(answer.responses[0].partition_responses[0].error_code)

    def delete_records(self, offset: int, topic: str = "", index: int = 0) -> tuple[int, int]:
        request = M.DeleteRecordsRequest
        part = request.DeleteRecordsPartition(partition_index=index, offset=offset)
        row = request.DeleteRecordsTopic(name=topic or self.topic, partitions=(part,))
        found = self.ask("DeleteRecords", 2, topics=(row,), timeout_ms=5000).topics[0].partitions[0]
        return found.error_code, found.low_watermark

    def epoch_end(self, epoch: int, current: int = -1, index: int = 0) -> tuple[int, int, int]:
        request = M.OffsetForLeaderEpochRequest
        part = request.OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
        row = request.OffsetForLeaderTopic(topic=self.topic, partitions=(part,))
        found = self.ask("OffsetForLeaderEpoch", 4, replica_id=-1, topics=(row,)).topics[0].partitions[0]
        return found.error_code, found.leader_epoch, found.end_offset

    def elect(self, kind: int, index: int, topic: str = "") -> int:
        row = M.ElectLeadersRequest.TopicPartitions(topic=topic or self.topic, partitions=(index,))
        answer = self.ask("ElectLeaders", 2, election_type=kind, topic_partitions=(row,), timeout_ms=5000)
        return int(answer.replica_election_results[0].partition_result[0].error_code)

    def reassign(self, replicas: tuple[int, ...] | None, index: int = 0, topic: str = "", **more: Any) -> int:
        request = M.AlterPartitionReassignmentsRequest
        part = request.ReassignablePartition(partition_index=index, replicas=replicas)
        row = request.ReassignableTopic(name=topic or self.topic, partitions=(part,))
        version = 1 if more else 0
        answer = self.ask("AlterPartitionReassignments", version, timeout_ms=5000, topics=(row,), **more)
        return int(answer.responses[0].partitions[0].error_code)

    def alter(self, *configs: tuple[str, str | None], topic: str = "") -> int:
        request = M.AlterConfigsRequest
        rows = tuple(request.AlterableConfig(name=name, value=value) for name, value in configs)
        row = request.AlterConfigsResource(resource_type=2, resource_name=topic or self.topic, configs=rows)
        return int(self.ask("AlterConfigs", 2, resources=(row,)).responses[0].error_code)

    def own_configs(self) -> dict[str, str]:
        row = M.DescribeConfigsRequest.DescribeConfigsResource(resource_type=2, resource_name=self.topic)
        found = self.ask("DescribeConfigs", 4, resources=(row,)).results[0].configs
        return {one.name: one.value for one in found if one.config_source == 1}

    def commit(self, offset: int) -> int:
        request = M.OffsetCommitRequest
        part = request.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        row = request.OffsetCommitRequestTopic(name=self.topic, partitions=(part,))
        fields = {"group_id": self.group, "topics": (row,)}
        return int(self.ask("OffsetCommit", 8, self.group_coordinator, **fields).topics[0].partitions[0].error_code)

    def delete_offset(self, group: str, topic: str, index: int) -> list[int]:
        request = M.OffsetDeleteRequest
        part = request.OffsetDeleteRequestPartition(partition_index=index)
        row = request.OffsetDeleteRequestTopic(name=topic, partitions=(part,))
        found = self.ask("OffsetDelete", 0, self.group_coordinator, group_id=group, topics=(row,))
        return [found.error_code, *(one.error_code for topic in found.topics for one in topic.partitions)]

    def pages(self, limit: int, *names: str) -> Iterator[Any]:
        """Give what DescribeTopicPartitions tells, page by page."""
        request = M.DescribeTopicPartitionsRequest
        topics, cursor = tuple(request.TopicRequest(name=name) for name in names), None
        for _ in range(9):
            fields: dict[str, Any] = {"topics": topics, "response_partition_limit": limit, "cursor": cursor}
            found = self.ask("DescribeTopicPartitions", 0, **fields)
            yield [
                (topic.error_code, [(one.error_code, one.partition_index, one.isr_nodes) for one in topic.partitions])
                for topic in found.topics
            ]
            if found.next_cursor is None:
                return
            behind = found.next_cursor
            cursor = request.Cursor(topic_name=behind.topic_name, partition_index=behind.partition_index)


def steps_of(admin: Admin) -> Iterator[Line]:
    """Take the steps."""
    yield "write", [admin.write(b"a", b"b"), admin.write(b"c"), admin.write(b"d")]
    yield "where epochs end", [admin.epoch_end(0), admin.epoch_end(1), admin.epoch_end(-1)]
    yield "where epochs end, for who knows another leader", [admin.epoch_end(0, 0), admin.epoch_end(0, 5)]
    yield "where epochs end, nothing there", [admin.epoch_end(0, index=1), admin.epoch_end(0, index=7)]
    yield "delete records", [admin.delete_records(1), admin.delete_records(3), admin.delete_records(2)]
    yield "fetch what is gone, and what is there", [admin.fetch(offset=1, committed=False), admin.fetch(offset=3)]
    yield "delete what is not there", [admin.delete_records(9), admin.delete_records(-2)]
    yield "delete all", admin.delete_records(-1)
    yield "delete nowhere", [admin.delete_records(0, "nowhere"), admin.delete_records(0, index=7)]
    yield "write", admin.write(b"e")
    yield "fetch", admin.fetch(offset=4, committed=False)
    yield "where epochs end", admin.epoch_end(0)
    yield "elect", [admin.elect(0, 0), admin.elect(1, 0), admin.elect(0, 7), admin.elect(0, 0, "nowhere")]
    codes = [
        admin.reassign((1,)),
        admin.reassign(None),
        admin.reassign((9,)),
        admin.reassign(()),
        admin.reassign((1, 1)),
    ]
    yield "reassign", codes
    yield "reassign nowhere", [admin.reassign((1,), 7), admin.reassign((1,), topic="nowhere")]
    found = admin.ask("ListPartitionReassignments", 0, topics=None, timeout_ms=5000)
    yield "reassignments", (found.error_code, found.topics)
    yield "alter configs", admin.alter(("retention.ms", "5000"), ("segment.ms", "7000"))
    yield "configs", admin.own_configs()
    yield "alter configs anew", [admin.alter(("segment.ms", "9000")), admin.own_configs()]
    bad = [admin.alter(("nonsense", "1")), admin.alter(("segment.ms", "x")), admin.alter(topic="nowhere")]
    yield "alter configs badly", [*bad, admin.own_configs()]
    yield "alter to none", [admin.alter(), admin.own_configs()]
    yield "compacted topics keep records", [admin.alter(("cleanup.policy", "compact")), admin.delete_records(-1)]
    yield "commit", [admin.commit(5), admin.offset()]
    yield "delete an offset", [admin.delete_offset(admin.group, admin.topic, 0), admin.offset()]
    yield "delete an offset again", admin.delete_offset(admin.group, admin.topic, 0)
    yield "delete offsets nowhere", admin.delete_offset(admin.group, "nowhere", 0)
    yield "delete offsets of nobody", admin.delete_offset("nobody", admin.topic, 0)
    yield "describe topic partitions", list(admin.pages(9, admin.topic, "nowhere"))
    yield "describe topic partitions, one at a time", list(admin.pages(1, admin.topic))


def security_steps(admin: Admin) -> Iterator[Line]:
    """Take the steps about security and quotas, on a broker without any."""
    anything: dict[str, Any] = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "operation": 1,
    }
    anything |= {"principal_filter": None, "host_filter": None, "permission_type": 1}
    found = admin.ask("DescribeAcls", 3, **anything)
    yield "describe ACLs", (found.error_code, found.error_message)
    names: dict[str, Any] = {"resource_name": "t", "principal": "User:a", "host": "*"}
    acl = M.CreateAclsRequest.AclCreation(
        **names, resource_type=2, resource_pattern_type=3, operation=3, permission_type=3
    )
    found = admin.ask("CreateAcls", 3, creations=(acl,)).results[0]
    yield "create an ACL", (found.error_code, found.error_message)
    row = M.DeleteAclsRequest.DeleteAclsFilter(**anything)
    found = admin.ask("DeleteAcls", 3, filters=(row,)).filter_results[0]
    yield "delete ACLs", (found.error_code, found.error_message)
    made = admin.ask("CreateDelegationToken", 3, max_lifetime_ms=-1)
    renewed = admin.ask("RenewDelegationToken", 2, hmac=b"x", renew_period_ms=1)
    expired = admin.ask("ExpireDelegationToken", 2, hmac=b"x", expiry_time_period_ms=1)
    described = admin.ask("DescribeDelegationToken", 3, owners=None)
    yield "delegation tokens", [one.error_code for one in (made, renewed, expired, described)]
    part = M.DescribeQuorumRequest.PartitionData(partition_index=0)
    for topic in ("__cluster_metadata", "nowhere"):
        asked = M.DescribeQuorumRequest.TopicData(topic_name=topic, partitions=(part,))
        found = admin.ask("DescribeQuorum", 2, topics=(asked,)).topics[0].partitions[0]
        yield "quorum", (topic, found.error_code, len(found.current_voters))
    found = admin.ask("ListConfigResources", 1, resource_types=(2,)).config_resources
    yield "config resources", [one.resource_type for one in found if one.resource_name == admin.topic]
    yield from quota_steps(admin)


def quota_steps(admin: Admin) -> Iterator[Line]:
    """Set quotas, and take them away."""
    request, name = M.AlterClientQuotasRequest, f"client-{admin.topic}"

    def alter(value: float, key: str = "producer_byte_rate", kind: str = "client-id", **more: Any) -> int:
        entity = request.EntityData(entity_type=kind, entity_name=more.pop("name", name))
        row = request.EntryData(entity=(entity,), ops=(request.OpData(key=key, value=value, **more),))
        return int(admin.ask("AlterClientQuotas", 1, entries=(row,)).entries[0].error_code)

    def describe(kind: str = "client-id", match: str = name, how: int = 0) -> Any:
        row = M.DescribeClientQuotasRequest.ComponentData(entity_type=kind, match_type=how, match=match)
        found = admin.ask("DescribeClientQuotas", 1, components=(row,), strict=True)
        values = [(one.key, one.value) for entry in found.entries or () for one in entry.values]
        return found.error_code, None if found.entries is None else values

    yield "alter quotas", [alter(1000.0), alter(2000.0, "consumer_byte_rate")]
    yield "describe quotas", describe()
    yield "alter quotas badly", [alter(1.0, "nonsense"), alter(-1.0), alter(1.0, kind="nonsense"), alter(1.0, name="")]
    yield "describe quotas badly", describe("nonsense")[0]
    yield "remove quotas", [alter(0.0, remove=True), alter(0.0, "consumer_byte_rate", remove=True), describe()]


def lines(place: str) -> list[str]:
    """Take all steps; returns a line for each."""
    admin = Admin(place)
    try:
        admin.begin()
        steps = [*steps_of(admin), *security_steps(admin)]
        return [f"{label}: {value}" for label, value in steps]
    finally:
        for connection in admin.connections.values():
            connection.close()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(sys.argv[1])) + "\n")
