"""Names for numbers: the tables against those of Kafka's own classes."""

from __future__ import annotations

import json
from typing import Any

from kwire.values import kind, words
from tests.conftest import SHARED, needs_shared

FACTS = SHARED / "kafka" / "facts"

# Kafka's enumeration -> our kind, where it is not the same with a capital
KINDS_OF_FACTS = {
    "scramMechanismAdmin": "ScramMechanism",
    "transactionStateLog": "TransactionState",
    "brokerRegistrationFencingChange": "FencingChange",
    "brokerRegistrationInControlledShutdownChange": "ControlledShutdownChange",
    "kraftVersion": "KRaftVersion",
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
    "metadataRecordType": "record types: kwire.protocol.nested",
    "groupCoordinatorRecordType": "record types: kwire.protocol.nested",
    "transactionCoordinatorRecordType": "record types: kwire.protocol.nested",
    "shareCoordinatorRecordType": "record types: kwire.protocol.nested",
    "remoteLogMetadataRecordType": "record types: kwire.protocol.nested",
}
# our kind -> classes of Kafka's, and how their constants begin
CONSTANTS = {
    "OffsetSpec": "ListOffsetsRequest.EARLIEST|LATEST|MAX_TIMESTAMP",
    "ReplicaId": "ListOffsetsRequest.CONSUMER|DEBUGGING FetchRequest.CONSUMER|ORDINARY|DEBUGGING|FUTURE"
    " OffsetsForLeaderEpochRequest.CONSUMER|DEBUGGING",
    "Timestamp": "ListOffsetsResponse.UNKNOWN_TIMESTAMP OffsetCommitRequest.DEFAULT_TIMESTAMP RecordBatch.NO_TIMESTAMP",
    "Offset": "ListOffsetsResponse.UNKNOWN_OFFSET FetchResponse.INVALID_HIGH|INVALID_LAST|INVALID_LOG"
    " OffsetFetchResponse.INVALID_OFFSET ProduceResponse.INVALID_OFFSET DeleteRecordsResponse.INVALID_LOW"
    " OffsetsForLeaderEpochResponse.UNDEFINED_EPOCH_OFFSET",
    "LeaderEpoch": "ListOffsetsResponse.UNKNOWN_EPOCH RecordBatch.NO_PARTITION_LEADER",
    "PreferredReadReplica": "FetchResponse.INVALID_PREFERRED",
    "DeleteRecordsOffset": "DeleteRecordsRequest.HIGH_WATERMARK",
    "OffsetLag": "DescribeLogDirsResponse.INVALID_OFFSET_LAG",
    "VolumeBytes": "DescribeLogDirsResponse.UNKNOWN_VOLUME",
    "QuotaMatchType": "DescribeClientQuotasRequest.MATCH_TYPE",
    "AuthorizedOperations": "DescribeGroupsResponse.AUTHORIZED MetadataResponse.AUTHORIZED",
    "ControllerId": "MetadataResponse.NO_CONTROLLER",
    "LeaderId": "MetadataResponse.NO_LEADER ElectionState.UNKNOWN_LEADER",
    "LeaderChange": "LeaderConstants.NO_LEADER",
    "VotedId": "ElectionState.NOT_VOTED",
    "BrokerEpoch": "AbstractControlRequest.UNKNOWN_BROKER_EPOCH",
    "FeaturesEpoch": "ApiVersionsResponse.UNKNOWN_FINALIZED",
    "GenerationId": "JoinGroupRequest.UNKNOWN_GENERATION OffsetCommitRequest.DEFAULT_GENERATION",
    "RetentionTime": "OffsetCommitRequest.DEFAULT_RETENTION",
    "MemberEpoch": "ConsumerGroupHeartbeatRequest.LEAVE|JOIN StreamsGroupHeartbeatRequest.LEAVE|JOIN"
    " ShareGroupHeartbeatRequest.LEAVE|JOIN",
    "NumPartitions": "CreateTopicsRequest.NO_NUM",
    "ReplicationFactor": "CreateTopicsRequest.NO_REPL",
    "FetchSessionId": "FetchMetadata.INVALID_SESSION",
    "FetchSessionEpoch": "FetchMetadata.INITIAL|FINAL ShareRequestMetadata.INITIAL|FINAL",
    "ProducerId": "RecordBatch.NO_PRODUCER_ID",
    "ProducerEpoch": "RecordBatch.NO_PRODUCER_EPOCH",
    "ProducerSequence": "RecordBatch.NO_SEQUENCE",
}


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


def enumerations() -> dict[str, list[Any]]:
    """Return Kafka's enumerations that are kinds of ours, by our names."""
    enums = {name: facts["values"] for name, facts in facts_of("_enums.json")["enums"].items()}
    assert {*LEFT_OUT, *WORDS_OF_FACTS, *KINDS_OF_FACTS} <= set(enums)
    left = {name: rows for name, rows in enums.items() if name not in {*LEFT_OUT, *WORDS_OF_FACTS}}
    return {KINDS_OF_FACTS.get(name, name[0].upper() + name[1:]): rows for name, rows in left.items()}


@needs_shared
def test_enumerations_are_kafkas() -> None:
    assert len(enumerations()) == 41
    for name, rows in enumerations().items():
        for row in rows:
            if name == "MetadataVersion" and row["code"] == -1:
                continue  # before KRaft: 31 names share the number, which says nothing
            for text in (row["name"], row.get("mechanismName"), row.get("ibpVersion"), row.get("stateName")):
                assert text is None or kind(name)(text) == row["code"]
            if "lastIn" not in row:
                assert kind(name)(row["code"]).name == row["name"]


@needs_shared
def test_words_are_kafkas() -> None:
    for enumeration, name in WORDS_OF_FACTS.items():
        rows = facts_of("_enums.json")["enums"][enumeration]["values"]
        assert list(words(name)) == [row["name"] for row in rows]


@needs_shared
def test_only_the_numbers_that_are_in_no_class_of_kafkas_come_from_elsewhere() -> None:
    added = {
        (name, int(member))
        for name, rows in enumerations().items()
        for member in kind(name)
        if int(member) not in {row["code"] for row in rows}
    }
    assert added == {("AcknowledgeType", 0), ("LeaderRecoveryState", -1)}  # KIP-932: a gap; KIP-704: leave as it is


@needs_shared
def test_sentinels_are_kafkas() -> None:
    facts = {name.rpartition(".")[2]: constants for name, constants in facts_of("_constants.json").items()}
    for name, places in CONSTANTS.items():
        for place in places.split():
            owner, _, starts = place.partition(".")
            for start in starts.split("|"):
                found = {text: number for text, number in facts[owner].items() if text.startswith(start)}
                assert found and all(kind(name)(text) == number for text, number in found.items()), (owner, start)
