"""Cases written by hand: orders of requests, and what once was answered otherwise than by Kafka."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .bases import (
    M,
    coordinator,
    fetch,
    init_producer_id,
    kwire_replace,
    produce,
    records,
    with_group,
    with_records,
    with_topic,
)
from .recorder import Case


def odd_batches(case: Case) -> None:
    name = with_topic(case)
    good = records(b"a")
    for data in (b"", good[:30], good[:-1], good + good, good[:20] + bytes([good[20] ^ 1]) + good[21:]):
        case.ask(produce(name, data), 9)
    for version in (6, 7, 9):
        case.ask(produce(name, records(b"a" * 100, compression="zstd")), version)
    case.ask(produce(name, records(b"a", producer_id=5, producer_epoch=-1, base_sequence=0)), 9)
    case.ask(produce(name, records(b"a", producer_id=5, producer_epoch=0, base_sequence=-1)), 9)
    case.ask(produce(name, good, acks=2), 9)
    case.ask(produce(name, good, acks=0), 9)
    case.ask(fetch(name), 12)


def one_partition_twice(case: Case) -> None:
    name = with_topic(case)
    request = M.ProduceRequest
    parts = tuple(request.PartitionProduceData(index=0, records=records(value)) for value in (b"a", b"b"))
    rows = (request.TopicProduceData(name=name, partition_data=parts),)
    case.ask(request(acks=-1, timeout_ms=5000, topic_data=rows), 9)
    case.ask(fetch(name), 12)


def acks_0_nowhere(case: Case) -> None:
    case.ask(produce("nowhere", records(b"a"), acks=0), 9)
    case.ask(M.ApiVersionsRequest(), 0)


def sequences(case: Case) -> None:
    name = with_topic(case)

    def write(sequence: int, epoch: int = 0, count: int = 1) -> None:
        data = records(*[b"v"] * count, producer_id=77, producer_epoch=epoch, base_sequence=sequence)
        case.ask(produce(name, data), 9)

    for sequence in (0, 1, 1, 0, 3, 2):
        write(sequence)
    for sequence, epoch in ((0, 1), (2, 0), (5, 2), (0, 2), (1, 2)):
        write(sequence, epoch)
    write(2, 2, 3)
    write(2, 2, 2)
    write(2, 2, 3)


def transactional_without_id(case: Case) -> None:
    with_topic(case)
    init_producer_id(case)
    request = M.InitProducerIdRequest(transactional_id=case.label, transaction_timeout_ms=60_000)
    made = case.prepare(request, 4, lambda answer: not answer.error_code)
    who = made.producer_id, made.producer_epoch
    row = M.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=case.label, partitions=(0,))
    fields: dict[str, Any] = {
        "v3_and_below_transactional_id": case.label,
        "v3_and_below_producer_id": who[0],
        "v3_and_below_producer_epoch": who[1],
        "v3_and_below_topics": (row,),
    }
    case.ask(M.AddPartitionsToTxnRequest(**fields), 3)
    for sequence, transactional_id in enumerate((case.label, None, "other", case.label)):
        data = records(b"v", producer_id=who[0], producer_epoch=who[1], base_sequence=sequence, is_transactional=True)
        case.ask(produce(case.label, data, transactional_id=transactional_id), 9)
    ending = {"transactional_id": case.label, "producer_id": who[0], "producer_epoch": who[1]}
    case.ask(M.EndTxnRequest(**ending, committed=True), 3)
    case.ask(M.EndTxnRequest(**ending, committed=True), 3)
    case.ask(M.EndTxnRequest(**ending, committed=False), 3)


def special_offsets(case: Case) -> None:
    with_records(case)
    request = M.ListOffsetsRequest
    for version in (1, 4, 7, 8, 9, 10):
        for timestamp in (-1, -2, -3, -4, -5, -6, -7, -99, 0):
            part = request.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
            rows = (request.ListOffsetsTopic(name=case.label, partitions=(part,)),)
            case.ask(request(topics=rows), version)


def fetch_epochs(case: Case) -> None:
    name = with_records(case)
    for fields in (
        {"last_fetched_epoch": 0},
        {"last_fetched_epoch": 5},
        {"current_leader_epoch": 0},
        {"current_leader_epoch": 1},
        {"isolation_level": 1},
        {"isolation_level": 5},
        {"replica_id": 1},
        {"replica_id": 9},
        {"replica_id": -2},
        {"session_id": 5, "session_epoch": 1},
        {"session_id": 5, "session_epoch": 0},
    ):
        case.ask(fetch(name, **fields), 12)
    for offset in (-1, 1, 2, 3, 4):
        case.ask(fetch(name, offset), 12)
    state = M.FetchRequest.ReplicaState(replica_id=9, replica_epoch=1)
    part = M.FetchRequest.FetchPartition(partition=0, partition_max_bytes=1000)
    rows = (M.FetchRequest.FetchTopic(topic_id=case.topic_id, partitions=(part,)),)  # type: ignore[attr-defined]
    case.ask(M.FetchRequest(replica_state=state, max_bytes=1000, topics=rows), 15)


def resources_of_configs(case: Case) -> None:
    with_topic(case)
    request = M.DescribeConfigsRequest
    names = ("", "a b", "nowhere", case.label, "1", "7")
    for kind in (0, 2, 4, 8, 16, 32, 64):
        for name in names:
            if (kind, name) in ((4, "1"), (8, "1")):
                continue
            row = request.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
            case.ask(request(resources=(row,), include_synonyms=True), 4)
    keys = ("log.retention.ms", "log.retention.hours", "num.partitions", "message.max.bytes", "log.roll.hours")
    row = request.DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=keys)
    case.ask(request(resources=(row,), include_synonyms=True), 4)


def alter_resources(case: Case) -> None:
    with_topic(case)
    request = M.IncrementalAlterConfigsRequest
    steps = (
        (4, "", "message.max.bytes", 0, "2000000"),
        (4, "", "message.max.bytes", 1, None),
        (4, "1", "log.retention.ms", 0, "99999999"),
        (4, "1", "log.retention.ms", 1, None),
        (4, "1", "broker.id", 0, "5"),
        (4, "1", "num.partitions", 0, "5"),
        (4, "1", "num.io.threads", 0, "x"),
        (4, "1", "log.cleaner.threads", 0, "2"),
        (4, "1", "log.cleaner.threads", 1, None),
        (4, "7", "log.cleaner.threads", 0, "2"),
        (4, "", "no.such", 0, "2"),
        (4, "", "no.such", 1, None),
        (4, "", "ssl.keystore.type", 0, "PEM"),
        (8, "1", "kafka.server.KafkaApis", 0, "DEBUG"),
        (8, "1", "kafka.server.KafkaApis", 0, "NOISY"),
        (8, "1", "no.such", 0, "DEBUG"),
        (8, "", "root", 0, "INFO"),
        (8, "1", "root", 1, None),
        (16, case.label, "interval.ms", 0, "5000"),
        (16, case.label, "interval.ms", 0, "5"),
        (16, case.label, "metrics", 0, "org.apache.kafka.producer."),
        (16, case.label, "match", 0, "client_id=a.*"),
        (16, case.label, "match", 0, "shoe_size=4"),
        (16, case.label, "no.such", 0, "5"),
        (16, "", "interval.ms", 0, "5000"),
        (32, case.label, "consumer.session.timeout.ms", 0, "50000"),
        (32, case.label, "consumer.session.timeout.ms", 0, "5"),
        (32, case.label, "share.auto.offset.reset", 0, "sometimes"),
        (32, "", "consumer.session.timeout.ms", 0, "50000"),
        (2, case.label, "retention.ms", 9, "5"),
        (2, case.label, "retention.ms", 2, "5"),
        (2, case.label, "cleanup.policy", 2, "compact"),
        (2, case.label, "cleanup.policy", 3, "delete"),
        (2, case.label, "remote.storage.enable", 0, "true"),
        (2, case.label, "retention.ms", 0, None),
        (2, case.label, "segment.bytes", 0, "100"),
        (64, "1", "a", 0, "b"),
        (0, "1", "a", 0, "b"),
    )
    for kind, name, config, operation, value in steps:
        changed = request.AlterableConfig(name=config, config_operation=operation, value=value)
        row = request.AlterConfigsResource(resource_type=kind, resource_name=name, configs=(changed,))
        case.ask(request(resources=(row,)), 1)
    changed = request.AlterableConfig(name="retention.ms", config_operation=0, value="5000")
    row = request.AlterConfigsResource(resource_type=2, resource_name=case.label, configs=(changed,))
    case.ask(request(resources=(row, row)), 1)
    twice = request.AlterConfigsResource(resource_type=2, resource_name=case.label, configs=(changed, changed))
    case.ask(request(resources=(twice,)), 1)
    legacy = M.AlterConfigsRequest
    for kind, name, config, value in ((2, case.label, "retention.ms", None), (4, "1", "broker.id", "5")):
        resource = legacy.AlterConfigsResource(
            resource_type=kind, resource_name=name, configs=(legacy.AlterableConfig(name=config, value=value),)
        )
        case.ask(legacy(resources=(resource,)), 2)


def quotas(case: Case) -> None:
    request = M.AlterClientQuotasRequest

    def alter(kind: str, name: str | None, key: str, value: float, *, remove: bool = False) -> None:
        op = request.OpData(key=key, value=value, remove=remove)
        entity = request.EntityData(entity_type=kind, entity_name=name)
        case.ask(request(entries=(request.EntryData(entity=(entity,), ops=(op,)),)), 1)

    for kind, name, key, value in (
        ("client-id", case.label, "producer_byte_rate", 1.5),
        ("client-id", case.label, "producer_byte_rate", 0.0),
        ("client-id", case.label, "producer_byte_rate", -1.0),
        ("client-id", case.label, "request_percentage", 1.5),
        ("client-id", case.label, "controller_mutation_rate", 1.5),
        ("client-id", case.label, "connection_creation_rate", 5.0),
        ("client-id", case.label, "no_such", 5.0),
        ("client-id", "", "producer_byte_rate", 5.0),
        ("ip", "127.0.0.2", "connection_creation_rate", 5.0),
        ("ip", "127.0.0.2", "connection_creation_rate", 5.5),
        ("ip", "127.0.0.2", "producer_byte_rate", 5.0),
        ("ip", "no ip", "connection_creation_rate", 5.0),
        ("shoe", "x", "producer_byte_rate", 5.0),
    ):
        alter(kind, name, key, value)
    component = M.DescribeClientQuotasRequest.ComponentData
    for kind, match_type, match in (
        ("ip", 0, "127.0.0.2"),
        ("ip", 7, None),
        ("client-id", 7, case.label),
        ("client-id", 0, None),
        ("client-id", 1, "x"),
        ("shoe", 0, "x"),
        ("", 0, "x"),
    ):
        row = component(entity_type=kind, match_type=match_type, match=match)
        case.ask(M.DescribeClientQuotasRequest(components=(row,)), 1)
    for kind, name, key in (
        ("ip", "127.0.0.2", "connection_creation_rate"),
        ("client-id", case.label, "request_percentage"),
        ("client-id", case.label, "controller_mutation_rate"),
    ):
        alter(kind, name, key, 0.0, remove=True)


def elections(case: Case) -> None:
    row = M.ElectLeadersRequest.TopicPartitions(topic=with_topic(case), partitions=(0, 0, 9))
    for kind in (0, 1, 7, -1):
        case.ask(M.ElectLeadersRequest(election_type=kind, topic_partitions=(row,), timeout_ms=5000), 2)


def unknown_topics(case: Case) -> None:
    for version in (0, 4, 12):
        row = M.MetadataRequest.MetadataRequestTopic(name=f"{case.label}-{version}")
        case.ask(M.MetadataRequest(topics=(row,), allow_auto_topic_creation=True), version)
        case.prepare(
            M.MetadataRequest(topics=(row,), allow_auto_topic_creation=True),
            version,
            lambda answer: not answer.topics[0].error_code,
        )
        case.ask(M.MetadataRequest(topics=(row,), allow_auto_topic_creation=True), version)
    request = M.DescribeTopicPartitionsRequest
    for cursor in (None, request.Cursor(topic_name="a", partition_index=-1), request.Cursor(topic_name="a")):
        topics = (request.TopicRequest(name="nowhere"),)
        case.ask(request(topics=topics, response_partition_limit=5, cursor=cursor), 0)


def producers_without_id(case: Case) -> None:
    for producer_id, epoch, version in ((-1, -1, 4), (5, 1, 4), (5, -1, 4), (-1, 1, 4), (5, 1, 5)):
        case.ask(M.InitProducerIdRequest(producer_id=producer_id, producer_epoch=epoch), version)
    for timeout in (0, -1, 900_000, 900_001):
        row = M.InitProducerIdRequest(transactional_id="odd", transaction_timeout_ms=timeout)
        case.ask(kwire_replace(row, {"transactional_id": f"{case.label}-{timeout}"}) if timeout != 900_000 else row, 4)


def coordinators(case: Case) -> None:
    coordinator(case, 0)
    for kind, key in ((0, ""), (1, ""), (2, "g:zz:0"), (2, "g"), (2, ""), (3, "x"), (-1, "x")):
        case.ask(M.FindCoordinatorRequest(key_type=kind, coordinator_keys=(key,)), 6)


def group_names(case: Case) -> None:
    with_group(case)
    for group_id in ("", " ", "nobody", case.label):
        case.ask(M.ConsumerGroupDescribeRequest(group_ids=(group_id,)), 1)
        case.ask(M.DescribeGroupsRequest(groups=(group_id,)), 5)
        beat: dict[str, Any] = {"member_id": "m", "member_epoch": 0, "topic_partitions": ()}
        case.ask(
            M.ConsumerGroupHeartbeatRequest(
                group_id=group_id, **beat, rebalance_timeout_ms=5000, subscribed_topic_names=("t",)
            ),
            1,
        )
    case.ask(M.DeleteGroupsRequest(groups_names=("", "nobody", case.label)), 2)
    case.ask(M.DeleteGroupsRequest(groups_names=(case.label,)), 2)


def classic_member(case: Case) -> None:
    coordinator(case, 0)
    row = M.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"m")
    fields: dict[str, Any] = {
        "group_id": case.label,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": (row,),
    }
    first = case.ask(M.JoinGroupRequest(**fields), 9)
    joined = case.ask(M.JoinGroupRequest(**fields, member_id=first.member_id), 9)
    who: dict[str, Any] = {"group_id": case.label, "member_id": first.member_id}
    part = M.SyncGroupRequest.SyncGroupRequestAssignment(member_id=first.member_id, assignment=b"x")
    generation = joined.generation_id
    case.ask(M.SyncGroupRequest(**who, generation_id=generation + 1, assignments=(part,)), 5)
    case.ask(M.SyncGroupRequest(**who, generation_id=generation, protocol_name="no", assignments=(part,)), 5)
    case.ask(M.SyncGroupRequest(**who, generation_id=generation, assignments=(part,)), 5)
    for odd in (generation, generation + 1, -1):
        case.ask(M.HeartbeatRequest(**who, generation_id=odd), 4)
    case.ask(M.DescribeGroupsRequest(groups=(case.label,)), 5)
    case.ask(M.DeleteGroupsRequest(groups_names=(case.label,)), 2)
    member = M.LeaveGroupRequest.MemberIdentity(member_id=first.member_id)
    case.ask(M.LeaveGroupRequest(group_id=case.label, members=(member, member)), 5)
    case.ask(M.HeartbeatRequest(**who, generation_id=generation), 4)
    case.ask(M.DescribeGroupsRequest(groups=(case.label,)), 5)


def telemetry(case: Case) -> None:
    found = case.ask(M.GetTelemetrySubscriptionsRequest(), 0)
    if found != "closed":
        case.ask(M.PushTelemetryRequest(), 0)


def whole_broker(case: Case) -> None:
    request = M.DescribeConfigsRequest
    row = request.DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=None)
    answer = case.asker.ask(request(resources=(row,), include_synonyms=True), 4)
    skipped = ("listener", "log.dir", "node.id", "broker.id", "quorum", "process.roles", "internal.", "early.start")
    for config in sorted(answer.results[0].configs, key=lambda config: config.name):
        if not any(part in config.name for part in skipped):
            case.lines.append(f"{case.label} {config.name}: {case._shown(config)}")


BY_HAND: Mapping[str, Callable[[Case], None]] = {
    case.__name__.replace("_", "-"): case
    for case in (
        odd_batches,
        one_partition_twice,
        acks_0_nowhere,
        sequences,
        transactional_without_id,
        special_offsets,
        fetch_epochs,
        resources_of_configs,
        alter_resources,
        quotas,
        elections,
        unknown_topics,
        producers_without_id,
        coordinators,
        group_names,
        classic_member,
        telemetry,
        whole_broker,
    )
}
