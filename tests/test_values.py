"""Names for numbers: the tables against Kafka's own and against our specs, and how a value behaves."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kwire import values
from kwire.catalog import catalog_for, profiles
from kwire.errors import UnknownMessage
from kwire.spec import FieldSpec
from kwire.values import kind, kind_of, kinds, words

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("KWIRE_SHARED", ROOT.parent / "shared"))
FACTS = SHARED / "kafka" / "facts"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"there is no {SHARED}")

# Kafka's enumeration -> our kind
KINDS_OF_FACTS = {
    "resourceType": "ResourceType",
    "patternType": "PatternType",
    "aclOperation": "AclOperation",
    "aclPermissionType": "AclPermissionType",
    "configResourceType": "ConfigResourceType",
    "configSource": "ConfigSource",
    "configType": "ConfigType",
    "alterConfigOp": "AlterConfigOp",
    "securityProtocol": "SecurityProtocol",
    "compressionType": "CompressionType",
    "timestampType": "TimestampType",
    "controlRecordType": "ControlRecordType",
    "coordinatorType": "CoordinatorType",
    "isolationLevel": "IsolationLevel",
    "electionType": "ElectionType",
    "featureUpgradeType": "FeatureUpgradeType",
    "endpointType": "EndpointType",
    "scramMechanismAdmin": "ScramMechanism",
    "acknowledgeType": "AcknowledgeType",
    "rebalanceProtocol": "RebalanceProtocol",
    "streamsGroupStatus": "StreamsGroupStatus",
    "streamsTopologyDescriptionStatus": "StreamsTopologyDescriptionStatus",
    "shareAcquireMode": "ShareAcquireMode",
    "transactionStateLog": "TransactionState",
    "consumerMemberState": "ConsumerMemberState",
    "streamsMemberState": "StreamsMemberState",
    "leaderRecoveryState": "LeaderRecoveryState",
    "brokerRegistrationFencingChange": "FencingChange",
    "brokerRegistrationInControlledShutdownChange": "ControlledShutdownChange",
    "metadataVersion": "MetadataVersion",
    "groupVersion": "GroupVersion",
    "kraftVersion": "KRaftVersion",
    "transactionVersion": "TransactionVersion",
    "shareVersion": "ShareVersion",
    "streamsVersion": "StreamsVersion",
    "eligibleLeaderReplicasVersion": "EligibleLeaderReplicasVersion",
    "remoteLogSegmentState": "RemoteLogSegmentState",
    "remotePartitionDeleteState": "RemotePartitionDeleteState",
    "shareRecordState": "ShareRecordState",
    "zkMigrationState": "ZkMigrationState",
    "leaderAndIsrType": "ControlRequestType",
}
WORDS_OF_FACTS = {"groupState": "GroupState", "groupType": "GroupType", "transactionStateAdmin": "TransactionState"}
LEFT_OUT = {
    "transactionResult": "a bool in messages",
    "consumerGroupState": "part of groupState",
    "classicGroupState": "part of groupState",
    "logDirType": "no number and in no message",
    "clientQuotaType": "no number and in no message",
    "brokerState": "a gauge, in no message",
    "recordVersion": "the magic byte of batches",
    "metaPropertiesVersion": "of a file of the broker",
    "metadataRecordType": "record types: kwire.embedded",
    "groupCoordinatorRecordType": "record types: kwire.embedded",
    "transactionCoordinatorRecordType": "record types: kwire.embedded",
    "shareCoordinatorRecordType": "record types: kwire.embedded",
    "remoteLogMetadataRecordType": "record types: kwire.embedded",
}
# (class of Kafka's, prefix of its constants) -> our kind
CONSTANTS = {
    ("ListOffsetsRequest", ("EARLIEST", "LATEST", "MAX_TIMESTAMP")): "OffsetSpec",
    ("ListOffsetsRequest", ("CONSUMER_", "DEBUGGING_")): "ReplicaId",
    ("FetchRequest", ("CONSUMER_", "ORDINARY_", "DEBUGGING_", "FUTURE_")): "ReplicaId",
    ("OffsetsForLeaderEpochRequest", ("CONSUMER_", "DEBUGGING_")): "ReplicaId",
    ("ListOffsetsResponse", ("UNKNOWN_TIMESTAMP",)): "Timestamp",
    ("ListOffsetsResponse", ("UNKNOWN_OFFSET",)): "Offset",
    ("ListOffsetsResponse", ("UNKNOWN_EPOCH",)): "LeaderEpoch",
    ("FetchResponse", ("INVALID_HIGH", "INVALID_LAST", "INVALID_LOG")): "Offset",
    ("FetchResponse", ("INVALID_PREFERRED",)): "PreferredReadReplica",
    ("OffsetFetchResponse", ("INVALID_OFFSET",)): "Offset",
    ("ProduceResponse", ("INVALID_OFFSET",)): "Offset",
    ("OffsetsForLeaderEpochResponse", ("UNDEFINED_EPOCH_OFFSET",)): "Offset",
    ("DeleteRecordsRequest", ("HIGH_WATERMARK",)): "DeleteRecordsOffset",
    ("DeleteRecordsResponse", ("INVALID_LOW",)): "Offset",
    ("DescribeLogDirsResponse", ("INVALID_OFFSET_LAG",)): "OffsetLag",
    ("DescribeLogDirsResponse", ("UNKNOWN_VOLUME",)): "VolumeBytes",
    ("DescribeClientQuotasRequest", ("MATCH_TYPE",)): "QuotaMatchType",
    ("DescribeGroupsResponse", ("AUTHORIZED",)): "AuthorizedOperations",
    ("MetadataResponse", ("AUTHORIZED",)): "AuthorizedOperations",
    ("MetadataResponse", ("NO_CONTROLLER",)): "ControllerId",
    ("MetadataResponse", ("NO_LEADER",)): "LeaderId",
    ("LeaderConstants", ("NO_LEADER",)): "LeaderChange",
    ("ElectionState", ("NOT_VOTED",)): "VotedId",
    ("ElectionState", ("UNKNOWN_LEADER",)): "LeaderId",
    ("AbstractControlRequest", ("UNKNOWN_BROKER_EPOCH",)): "BrokerEpoch",
    ("ApiVersionsResponse", ("UNKNOWN_FINALIZED",)): "FeaturesEpoch",
    ("JoinGroupRequest", ("UNKNOWN_GENERATION",)): "GenerationId",
    ("OffsetCommitRequest", ("DEFAULT_GENERATION",)): "GenerationId",
    ("OffsetCommitRequest", ("DEFAULT_RETENTION",)): "RetentionTime",
    ("OffsetCommitRequest", ("DEFAULT_TIMESTAMP",)): "Timestamp",
    ("ConsumerGroupHeartbeatRequest", ("LEAVE", "JOIN")): "MemberEpoch",
    ("StreamsGroupHeartbeatRequest", ("LEAVE", "JOIN")): "MemberEpoch",
    ("ShareGroupHeartbeatRequest", ("LEAVE", "JOIN")): "MemberEpoch",
    ("CreateTopicsRequest", ("NO_NUM",)): "NumPartitions",
    ("CreateTopicsRequest", ("NO_REPL",)): "ReplicationFactor",
    ("FetchMetadata", ("INVALID_SESSION",)): "FetchSessionId",
    ("FetchMetadata", ("INITIAL", "FINAL")): "FetchSessionEpoch",
    ("ShareRequestMetadata", ("INITIAL", "FINAL")): "FetchSessionEpoch",
    ("RecordBatch", ("NO_TIMESTAMP",)): "Timestamp",
    ("RecordBatch", ("NO_PRODUCER_ID",)): "ProducerId",
    ("RecordBatch", ("NO_PRODUCER_EPOCH",)): "ProducerEpoch",
    ("RecordBatch", ("NO_SEQUENCE",)): "ProducerSequence",
    ("RecordBatch", ("NO_PARTITION_LEADER",)): "LeaderEpoch",
}
TABLES = json.loads((ROOT / "schemas" / "values.json").read_bytes())


def all_fields() -> Iterator[tuple[str, FieldSpec]]:
    """Yield (message, field) over all specs, released and drafts."""
    for profile in (None, *profiles()):
        catalog = catalog_for(profile)
        for name in catalog.names():
            for struct in catalog.spec(name).structs():
                for field in struct.fields:
                    yield name, field


def is_number(field: FieldSpec) -> bool:
    return field.element.startswith(("int", "uint"))


def facts_of(file: str) -> Any:
    return json.loads((FACTS / file).read_bytes())


@needs_shared
def test_error_codes_are_kafkas() -> None:
    facts = facts_of("_errors.json")
    assert {fact["code"] for fact in facts} == set(kind("ErrorCode"))
    for fact in facts:
        code: Any = kind("ErrorCode")(fact["code"])
        assert (code.name, code.retriable, code.since) == (fact["name"], fact["retriable"], fact["first"])
        for name in fact.get("names", {}):
            assert kind("ErrorCode")(name) == fact["code"]


@needs_shared
def test_enumerations_are_kafkas() -> None:
    facts = facts_of("_enums.json")["enums"]
    assert set(facts) == {*KINDS_OF_FACTS, *WORDS_OF_FACTS, *LEFT_OUT}
    for enumeration, name in KINDS_OF_FACTS.items():
        for fact in facts[enumeration]["values"]:
            if name == "MetadataVersion" and fact["code"] == -1:
                continue  # before KRaft: 31 names share the number, which says nothing
            for text in (fact["name"], fact.get("mechanismName"), fact.get("ibpVersion"), fact.get("stateName")):
                assert text is None or kind(name)(text) == fact["code"]
            if "lastIn" not in fact:
                assert kind(name)(fact["code"]).name == fact["name"]
    for enumeration, name in WORDS_OF_FACTS.items():
        assert list(words(name)) == [fact["name"] for fact in facts[enumeration]["values"]]


@needs_shared
def test_only_the_numbers_that_are_in_no_class_of_kafkas_come_from_elsewhere() -> None:
    facts = facts_of("_enums.json")["enums"]
    added = {
        (name, int(member))
        for enumeration, name in KINDS_OF_FACTS.items()
        for member in kind(name)
        if int(member) not in {fact["code"] for fact in facts[enumeration]["values"]}
    }
    assert added == {("AcknowledgeType", 0), ("LeaderRecoveryState", -1)}  # KIP-932: a gap; KIP-704: leave as it is


@needs_shared
def test_sentinels_are_kafkas() -> None:
    facts = {name.rpartition(".")[2]: constants for name, constants in facts_of("_constants.json").items()}
    for (owner, prefixes), name in CONSTANTS.items():
        found = {constant: number for constant, number in facts[owner].items() if constant.startswith(prefixes)}
        assert found, owner
        for constant, number in found.items():
            assert kind(name)(constant) == number, (owner, constant)


def test_every_error_code_is_explained_in_one_sentence() -> None:
    abouts = [code.about for code in kind("ErrorCode")]  # type: ignore[attr-defined]
    assert len(abouts) == len(set(abouts)) == 138
    for about in abouts:
        assert about[0].isupper() and about.endswith(".") and ". " not in about and len(about) < 180, about


def test_every_name_of_the_table_of_fields_is_in_our_specs() -> None:
    there = {
        (owner, field.json_name) for name, field in all_fields() if is_number(field) for owner in (name, field.owner)
    }
    names = {name for _, name in there}
    for key, name in TABLES["fields"].items():
        assert name in kinds(), name
        owner, _, field = key.rpartition(".")
        if owner:
            assert (owner, field) in there, key
        elif key[0] == "*":
            assert any(name.endswith(key[1:]) for name in names), key
        else:
            assert key in names, key


def test_no_kind_is_given_to_a_field_that_holds_no_number() -> None:
    given = {(name, field.owner, field.json_name) for name, field in all_fields() if not is_number(field)}
    assert {place for place in given if kind_of(*place)} == set()


def test_every_error_code_of_every_spec_is_one() -> None:
    codes = [
        (name, field) for name, field in all_fields() if is_number(field) and "errorcode" in field.json_name.lower()
    ]
    assert len(codes) > 120
    for name, field in codes:
        expected = "StreamsAssignorError" if name == "SubscriptionInfo" else "ErrorCode"
        assert kind_of(name, field.owner, field.json_name) is kind(expected), (name, field.json_name)


def test_every_operation_mechanism_or_type_in_the_specs_has_a_kind() -> None:
    """Fields that are numbers of a list by their name; a new spec with such a field has to say which list."""
    telling = ("Type", "State", "Level", "Protocol", "Operations", "Mechanism")
    bare = ("type", "state", "operation", "mechanism", "leader", "acks")
    for name, field in all_fields():
        word = field.json_name
        if is_number(field) and field.element == "int8" and (word.endswith(telling) or word in bare):
            assert kind_of(name, field.owner, word) is not None, (name, word)


@pytest.mark.parametrize(
    ("message", "struct", "field", "expected"),
    [
        ("AddPartitionsToTxnResponse", "AddPartitionsToTxnPartitionResult", "partitionErrorCode", "ErrorCode"),
        ("ListOffsetsRequest", "ListOffsetsPartition", "timestamp", "OffsetSpec"),
        ("ListOffsetsResponse", "ListOffsetsPartitionResponse", "timestamp", "Timestamp"),
        ("ConsumerGroupRegularExpressionValue", "ConsumerGroupRegularExpressionValue", "timestamp", None),
        ("DescribeConfigsRequest", "DescribeConfigsResource", "resourceType", "ConfigResourceType"),
        ("DescribeAclsResponse", "DescribeAclsResource", "resourceType", "ResourceType"),
        ("PartitionChangeRecord", "PartitionChangeRecord", "leader", "LeaderChange"),
        ("UpdateMetadataRequest", "UpdateMetadataPartitionState", "leader", "LeaderId"),
        ("FetchRequest", "ReplicaState", "replicaId", "ReplicaId"),
        ("DescribeQuorumResponse", "ReplicaState", "replicaId", None),
        ("MetadataResponse", "MetadataResponseTopic", "topicAuthorizedOperations", "AuthorizedOperations"),
        ("SaslHandshakeRequest", "SaslHandshakeRequest", "mechanism", None),
        ("TopicMetadataResponse", "PartitionMetaData", "errorCode", "ErrorCode"),
        ("Unheard", "Of", "thing", None),
    ],
)
def test_a_field_has_its_kind(message: str, struct: str, field: str, expected: str | None) -> None:
    assert kind_of(message, struct, field) is (kind(expected) if expected else None)


def test_a_value_is_its_number() -> None:
    code = values.ErrorCode(56)
    assert (str(code), f"{code}", f"{code:d}", repr(code)) == (
        "KAFKA_STORAGE_ERROR",
        "KAFKA_STORAGE_ERROR",
        "56",
        "<ErrorCode 56 KAFKA_STORAGE_ERROR>",
    )
    assert code == 56 and hash(code) == hash(56) and {56: "x"}[code] == "x" and isinstance(code, int)
    assert json.dumps([code]) == "[56]" and msgspec.json.encode([code]) == b"[56]"
    assert code is values.ErrorCode.KAFKA_STORAGE_ERROR is pickle.loads(pickle.dumps(code))


def test_a_number_without_a_name_stays_a_number() -> None:
    code = values.ErrorCode(5120)
    assert (str(code), repr(code), code.name) == ("5120", "<ErrorCode 5120>", None)
    assert code == 5120 == pickle.loads(pickle.dumps(code)) == copy.deepcopy(code) and {5120: "x"}[code] == "x"
    assert json.dumps(code) == "5120" and msgspec.json.encode(code) == b"5120"
    assert (code.about, code.retriable, code.since) == ("", None, None)
    assert 5120 not in [int(known) for known in values.ErrorCode]  # asking adds nothing to the table


@pytest.mark.parametrize("text", ["kafka_storage_error", "KAFKA_STORAGE_ERROR", "Kafka_Storage_Error", "56"])
def test_a_value_is_found_by_its_name_in_any_case(text: str) -> None:
    assert values.ErrorCode(text) is values.ErrorCode(56)


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("ErrorCode", "Not_Leader_For_Partition", 6),
        ("ErrorCode", "UNKNOWN", -1),
        ("ErrorCode", "-1", -1),
        ("ErrorCode", "5120", 5120),
        ("ScramMechanism", "SCRAM-SHA-256", 1),
        ("CompressionType", "ZSTD", 4),
        ("ControlRecordType", "QUORUM_REASSIGNMENT", 2),
        ("OffsetSpec", "earliest", -2),
        ("MetadataVersion", "3.9-IV0", 21),
        ("Acks", "all", -1),
    ],
)
def test_a_value_is_found_by_a_former_name_or_another_spelling(name: str, text: str, number: int) -> None:
    assert kind(name)(text) == number  # type: ignore[arg-type]


def test_operations_are_a_set_of_bits() -> None:
    operations = values.AuthorizedOperations
    assert str(operations(1 << 3 | 1 << 8)) == "READ|DESCRIBE"
    assert str(operations(1 << 3 | 1 << 30)) == "READ|30"
    assert str(operations(0)) == "0"
    assert str(operations(-(2**31))) == "NOT_ASKED_FOR"
    assert operations(264) == 264


def test_what_there_is_not_is_named() -> None:
    with pytest.raises(UnknownMessage, match=r"no ErrorCode 'KAFKA_STORAGE'; did you mean KAFKA_STORAGE_ERROR\?"):
        values.ErrorCode("KAFKA_STORAGE")
    with pytest.raises(UnknownMessage, match=r"there is no kind of values 'ErrorCodes'; did you mean ErrorCode\?"):
        kind("ErrorCodes")
    with pytest.raises(UnknownMessage, match="there is no list of words 'Groups'"):
        words("Groups")
    with pytest.raises(AttributeError, match="Nothing"):
        _ = values.Nothing
    with pytest.raises(ValueError, match=r"1\.5"):
        values.ErrorCode(1.5)


def test_importing_reads_no_table() -> None:
    count = "print(v._tables.cache_info().currsize)"
    code = f"import kwire.values as v; {count}; v.Acks(1); {count}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == ["0", "1"]
