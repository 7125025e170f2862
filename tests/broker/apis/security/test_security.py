"""Authentication and ACLs: each answer as Kafka 4.1.0's."""

from __future__ import annotations

from random import Random
from typing import Any

import kwire
from kwire.broker import Node, ServedCluster, Settings
from kwire.testing import Kafka
from kwire.values import ErrorCode
from tests.broker.served import M, ask, cluster_of
from tests.conftest import ROOT
from tests.interop.security_steps import USERS, lines

RECORDED = ROOT / "tests/data/security-kafka-4.1.0.txt"


def test_every_step_is_answered_as_kafka_answers_it() -> None:
    with Kafka(users=USERS, acls=True, super_users=["admin"], max_reauth=600.0) as kafka:
        found = lines(kafka.bootstrap_servers, lambda seconds: None)
    assert found == RECORDED.read_text("utf-8").splitlines()


def secured(**settings: object) -> ServedCluster:
    made = Settings(authorizer=True, super_users=("User:admin",), **settings)  # type: ignore[arg-type]
    return cluster_of(settings=made)


def creation(host: str = "*") -> kwire.messages.CreateAclsRequest:
    row = M.CreateAclsRequest.AclCreation(
        resource_type=2, resource_name="t", principal="User:a", host=host, operation=3, permission_type=3
    )
    return M.CreateAclsRequest(creations=(row, row))


def test_anonymous_clients_have_no_rights_under_an_authorizer() -> None:
    cluster = secured()
    found = ask(cluster, creation(), 3).results
    assert [one.error_code for one in found] == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED] * 2
    assert ask(cluster, M.AlterPartitionReassignmentsRequest(topics=()), 0).responses == ()
    assert ask(cluster, M.DescribeQuorumRequest(topics=()), 2).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_resources_without_acls_are_open_where_that_is_set() -> None:
    cluster = secured(allow_without_acls=True)
    cluster.answer(1, creation(), 3, now=0.0, principal="User:admin")
    cluster.controller.create("t", {0: [1]})
    cluster.controller.create("u", {0: [1]})
    assert [one.name for one in ask(cluster, M.MetadataRequest(topics=None), 9).topics] == ["u"]


def test_acls_of_a_host_hold_for_it_alone() -> None:
    cluster = secured()
    cluster.controller.create("t", {0: [1]})
    cluster.answer(1, creation(host="10.0.0.1"), 3, now=0.0, principal="User:admin")
    for host, names in (("10.0.0.1", ["t"]), ("10.0.0.2", [])):
        found = cluster.answer(1, M.MetadataRequest(topics=None), 9, now=0.0, principal="User:a", client_host=host)
        assert [one.name for one in found.topics] == names


def test_an_authorizer_that_is_off_allows_all_operations() -> None:
    cluster = ServedCluster([Node(1)], Settings(), Random(1))
    cluster.controller.create("t", {0: [1]})
    request = M.MetadataRequest(
        topics=None, include_topic_authorized_operations=True, include_cluster_authorized_operations=True
    )
    found = ask(cluster, request, 9)
    assert (found.cluster_authorized_operations, found.topics[0].topic_authorized_operations) == (0x1FA0, 0xDF8)
    group = ask(cluster, M.DescribeGroupsRequest(groups=("g",), include_authorized_operations=True), 3).groups[0]
    assert group.authorized_operations in (-(2**31), 0xD48)  # of a group that is not there, Kafka says nothing


def test_old_clients_get_no_feature_whose_lowest_level_is_0() -> None:
    cluster = cluster_of()
    software: dict[str, Any] = {"client_software_name": "a", "client_software_version": "1"}
    found, newer = (ask(cluster, M.ApiVersionsRequest(**software), version) for version in (3, 4))
    assert [one.name for one in found.supported_features] == ["metadata.version"]
    names = {one.name for one in newer.supported_features}
    assert names >= {"group.version", "metadata.version", "transaction.version"}
    levels = {one.name: (one.min_version_level, one.max_version_level) for one in found.finalized_features}
    assert levels == levels | {"group.version": (1, 1), "transaction.version": (2, 2)}


def test_levels_of_features_change() -> None:
    cluster = cluster_of()
    row = M.UpdateFeaturesRequest.FeatureUpdateKey(feature="group.version", max_version_level=0, upgrade_type=2)
    assert ask(cluster, M.UpdateFeaturesRequest(feature_updates=(row,)), 2).error_code == 0
    software: dict[str, Any] = {"client_software_name": "a", "client_software_version": "1"}
    found = ask(cluster, M.ApiVersionsRequest(**software), 4)
    assert "group.version" not in {one.name for one in found.finalized_features}


def test_a_release_serves_what_it_had() -> None:
    cluster = cluster_of(settings=Settings(release="2.8"))
    found = ask(cluster, M.ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3)
    served = {one.api_key: (one.min_version, one.max_version) for one in found.api_keys}
    # what a broker of Kafka 2.8.2 answers, where kwire serves as old versions
    wanted = {1: (4, 12), 3: (0, 11), 18: (0, 3), 19: (0, 7), 22: (0, 4), 36: (0, 2), 60: (0, 0)}
    assert served == served | wanted
    assert not {55, 64, 65, 66, 68, 69, 75} & served.keys()
    assert (found.supported_features, found.finalized_features) == ((), ())


def test_old_versions_of_produce_are_listed_where_kafka_lists_them() -> None:
    """Kafka 4 refuses them; without them, librdkafka before 2.8 does not compress (KAFKA-18659)."""
    cluster = cluster_of(settings=Settings(release="4.1"))
    found = ask(cluster, M.ApiVersionsRequest(), 0)
    assert [(one.min_version, one.max_version) for one in found.api_keys if one.api_key == 0] == [(0, 13)]


def test_an_election_of_all_partitions_names_no_topic_to_those_who_may_not_elect() -> None:
    """KafkaApis.handleElectLeaders leaves the list empty, unless the request names the partitions itself."""
    cluster = secured()
    cluster.controller.create("hidden", {0: [1]})
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    found = ask(cluster, M.ElectLeadersRequest(topic_partitions=None), 2)
    assert (found.error_code, found.replica_election_results) == (denied, ())
    row = M.ElectLeadersRequest.TopicPartitions(topic="t", partitions=(0, 1))
    named = ask(cluster, M.ElectLeadersRequest(topic_partitions=(row,)), 2)
    (topic,) = named.replica_election_results
    assert (named.error_code, topic.topic) == (denied, "t")
    assert [part.error_code for part in topic.partition_result] == [denied] * 2
    assert ask(cluster, M.ElectLeadersRequest(topic_partitions=None), 0).replica_election_results == ()


def test_metadata_tells_neither_the_id_of_a_hidden_name_nor_the_name_of_a_hidden_id() -> None:
    cluster = secured()
    cluster.controller.create("hidden", {0: [1]})
    topic_id = cluster.controller.topics["hidden"].topic_id
    row = M.MetadataRequest.MetadataRequestTopic
    rows = (row(name="hidden"), row(name=None, topic_id=topic_id))
    by_name, by_id = ask(cluster, M.MetadataRequest(topics=rows), 12).topics
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert (by_name.name, by_name.topic_id, by_name.error_code) == ("hidden", bytes(16), denied)
    assert (by_id.name, by_id.topic_id, by_id.error_code) == (None, topic_id, denied)


def allow(cluster: ServedCluster, kind: int, name: str, operation: int) -> None:
    """Allow a client an operation on a resource."""
    row = M.CreateAclsRequest.AclCreation(
        resource_type=kind, resource_name=name, principal="User:a", host="*", operation=operation, permission_type=3
    )
    answer = cluster.answer(1, M.CreateAclsRequest(creations=(row,)), 3, now=0.0, principal="User:admin")
    assert answer.results[0].error_code == 0


def test_brokers_need_cluster_action_where_clients_need_topics() -> None:
    """KafkaApis.handleFetchRequest and handleAddPartitionsToTxnRequest: rights of a client are none of a broker."""
    cluster = secured()
    cluster.controller.create("t", {0: [1]})
    part = M.FetchRequest.FetchPartition(partition=0, partition_max_bytes=1)
    topics = (M.FetchRequest.FetchTopic(topic="t", partitions=(part,)),)
    state = M.FetchRequest.ReplicaState(replica_id=2)
    fetches = {
        "consumer": (M.FetchRequest(topics=topics), 11),
        "follower": (M.FetchRequest(topics=topics, replica_id=2), 11),
        "tagged": (M.FetchRequest(topics=topics, replica_state=state), 15),
    }
    row = M.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="t", partitions=(0,))
    transaction = M.AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
    add = M.AddPartitionsToTxnRequest(transactions=(transaction(transactional_id="p", topics=(row,)),))

    def codes() -> dict[str, int]:
        found = {}
        for name, (message, version) in fetches.items():
            changed = message
            if version > 12:  # by id
                by_id = M.FetchRequest.FetchTopic(topic_id=cluster.controller.topics["t"].topic_id, partitions=(part,))
                changed = M.FetchRequest(topics=(by_id,), replica_state=message.replica_state)
            answer = cluster.answer(1, changed, version, now=0.0, principal="User:a")
            found[name] = answer.responses[0].partitions[0].error_code
        found["add"] = cluster.answer(1, add, 4, now=0.0, principal="User:a").error_code
        return found

    denied, closed = ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert codes() == {"consumer": denied, "follower": denied, "tagged": denied, "add": closed}
    allow(cluster, 2, "t", 3)  # READ and WRITE on the topic, and WRITE on the transaction
    allow(cluster, 2, "t", 4)
    allow(cluster, 5, "p", 4)
    assert codes() == {"consumer": 0, "follower": denied, "tagged": denied, "add": closed}
    allow(cluster, 4, "kafka-cluster", 9)  # CLUSTER_ACTION
    without = ErrorCode.NOT_LEADER_OR_FOLLOWER  # it may fetch, but has no replica
    assert codes() == {"consumer": 0, "follower": without, "tagged": without, "add": 0}
