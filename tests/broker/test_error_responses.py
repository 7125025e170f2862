"""The response to a request that fails as a whole, in every version: where Kafka writes the code, and what it names."""

from __future__ import annotations

from random import Random
from typing import Any

import kwire
from kwire.broker.apis.registry import APIS
from kwire.broker.error_responses import error_response
from kwire.broker.request_frames import ServedRequest, write_response
from kwire.schema.catalog import catalog_for
from kwire.values import ErrorCode
from tests.broker.random_requests import Drawing, Seen
from tests.broker.served import M
from tests.cases import case_by_case
from tests.seeds import seeded

CATALOG = catalog_for(None)
CODE = ErrorCode.UNKNOWN_SERVER_ERROR
WITHOUT_PLACE = {("DescribeLogDirs", version) for version in (0, 1, 2)}  # each directory has a code, and none is named


def codes_in(value: Any) -> list[int]:
    """Return the error codes in the JSON of a message, wherever they are."""
    if isinstance(value, list):
        return [code for part in value for code in codes_in(part)]
    if not isinstance(value, dict):
        return []
    codes = [value[name] for name in ("errorCode", "partitionErrorCode") if name in value]
    return codes + [code for part in value.values() for code in codes_in(part)]


def codes_of(message: Any, version: int) -> list[int]:
    """Return the error codes in the response to a request."""
    response = failed(message, version)
    return codes_in(kwire.codec(type(response).__name__, version).to_json(response))


def failed(message: Any, version: int) -> Any:
    """Return the response to a request, as it is read from its bytes."""
    response = error_response(message, version, CODE, CATALOG)
    served = ServedRequest(message, version, 7, "c")
    write_response(served, response, CATALOG)
    codec = kwire.codec(type(response).__name__, version)
    return codec.decode(codec.encode(response))


@case_by_case("api", APIS)
def test_every_version_has_a_place_for_the_code(api: str) -> None:
    rng: Random = seeded(f"error responses {api}")
    for version in range(APIS[api].first, APIS[api].last + 1):
        codes: list[int] = []
        for _ in range(2 if (api, version) in WITHOUT_PLACE else 60):
            message = Drawing(rng, Seen(), [bytes(16)], 0.1).draw(kwire.codec(f"{api}Request", version).schema)
            if getattr(message, "acks", None) != 0:
                codes += codes_of(message, version)
            if codes:
                break  # the request named something
        if (api, version) not in WITHOUT_PLACE:
            assert codes and set(codes) == {CODE}, version


def test_produce_names_its_partitions() -> None:
    part = M.ProduceRequest.PartitionProduceData(index=3, records=b"")
    row = M.ProduceRequest.TopicProduceData(name="t", partition_data=(part, part))
    (topic,) = failed(M.ProduceRequest(acks=1, topic_data=(row,)), 9).responses
    assert [(one.index, one.error_code, one.base_offset) for one in topic.partition_responses] == [(3, -1, -1)] * 2
    assert topic.name == "t"
    assert error_response(M.ProduceRequest(acks=0, topic_data=(row,)), 9, CODE, CATALOG) is None


def test_fetch_repeats_the_code_for_old_clients() -> None:
    part = M.FetchRequest.FetchPartition(partition=1)
    request = M.FetchRequest(topics=(M.FetchRequest.FetchTopic(topic="t", partitions=(part,)),), session_id=5)
    for version, count in ((4, 1), (7, 2), (12, 2), (13, 1)):  # in v4 only below, from v13 on only at the top
        assert codes_of(request, version) == [CODE] * count
        assert failed(request, version).session_id == (5 if version >= 7 else 0)
    assert failed(request, 4).responses[0].partitions[0].high_watermark == -1


def test_commits_and_coordinators() -> None:
    keys = failed(M.FindCoordinatorRequest(coordinator_keys=("g", "h")), 4).coordinators
    assert [(one.key, one.error_code, one.node_id, one.host, one.port) for one in keys] == [
        ("g", CODE, -1, "", -1),
        ("h", CODE, -1, "", -1),
    ]
    assert failed(M.FindCoordinatorRequest(key="g"), 3).error_code == CODE
    group = M.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g")
    assert [one.group_id for one in failed(M.OffsetFetchRequest(groups=(group,)), 8).groups] == ["g"]
    row = M.OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=(2,))
    response = failed(M.OffsetFetchRequest(group_id="g", topics=(row,)), 1)  # without a code at the top
    assert [(one.partition_index, one.error_code) for one in response.topics[0].partitions] == [(2, CODE)]
    assert failed(M.OffsetFetchRequest(group_id="g", topics=(row,)), 2).topics == ()


def test_parts_that_have_other_names_in_the_response() -> None:
    log_dirs = M.AlterReplicaLogDirsRequest
    topic = log_dirs.AlterReplicaLogDirTopic(name="t", partitions=(4,))
    path = log_dirs.AlterReplicaLogDir(path="/a", topics=(topic,))
    (moved,) = failed(log_dirs(dirs=(path,)), 2).results
    assert (moved.topic_name, moved.partitions[0].partition_index) == ("t", 4)
    users = M.AlterUserScramCredentialsRequest
    deletions = tuple(users.ScramCredentialDeletion(name=name, mechanism=1) for name in ("b", "a", "b"))
    assert [one.user for one in failed(users(deletions=deletions), 0).results] == ["a", "b"]
    quotas = M.AlterClientQuotasRequest
    entry = quotas.EntryData(entity=(quotas.EntityData(entity_type="user", entity_name=None),))
    (told,) = failed(quotas(entries=(entry,)), 1).entries
    assert [(one.entity_type, one.entity_name) for one in told.entity] == [("user", None)]


def test_no_null_where_the_version_has_none() -> None:
    row = M.MetadataRequest.MetadataRequestTopic(name=None, topic_id=b"i" * 16)
    for version, name in ((10, ""), (11, "")):
        (topic,) = failed(M.MetadataRequest(topics=(row,)), version).topics
        assert (topic.name, topic.topic_id, topic.error_code) == (name, b"i" * 16, CODE)
    assert failed(M.JoinGroupRequest(group_id="g"), 5).protocol_name == ""
