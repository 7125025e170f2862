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
