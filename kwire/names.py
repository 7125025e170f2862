"""The names of a spec's fields in Python and in JSON, and the former names of fields and messages.

There is one rule per language; exceptions with their reasons are in one table, former names in another.
"""

from __future__ import annotations

import keyword

# (struct, field of the spec) -> attribute. The KIPs use another word than the released spec.
ATTRIBUTES: dict[tuple[str, str], str] = {
    # KIP-112 calls the field is_new_replica; Kafka released it as isNew, and its JSON form keeps that name.
    ("LeaderAndIsrPartitionState", "IsNew"): "is_new_replica",
}

# (message, or message.struct; JSON name that some releases wrote) -> JSON name now. Accepted when JSON is read.
FORMER_NAMES: dict[tuple[str, str], str] = {
    # up to Kafka 2.4
    ("DescribeAclsRequest", "resourceType"): "resourceTypeFilter",
    ("DescribeAclsRequest", "resourcePatternType"): "patternTypeFilter",
    ("DescribeAclsResponse.DescribeAclsResource", "type"): "resourceType",
    ("DescribeAclsResponse.DescribeAclsResource", "name"): "resourceName",
    # up to Kafka 2.5
    ("DescribeConfigsRequest", "includeSynoyms"): "includeSynonyms",
    # up to Kafka 2.6
    ("FetchRequest", "maxWait"): "maxWaitMs",
    ("FetchRequest", "epoch"): "sessionEpoch",
    ("FetchRequest.FetchTopic", "name"): "topic",
    ("FetchRequest.FetchTopic", "fetchPartitions"): "partitions",
    ("FetchRequest.FetchPartition", "partitionIndex"): "partition",
    ("FetchRequest.FetchPartition", "maxBytes"): "partitionMaxBytes",
    ("FetchRequest", "forgotten"): "forgottenTopicsData",
    ("FetchRequest.ForgottenTopic", "name"): "topic",
    ("FetchRequest.ForgottenTopic", "forgottenPartitionIndexes"): "partitions",
    ("FetchResponse", "topics"): "responses",
    ("FetchResponse.FetchableTopicResponse", "name"): "topic",
    ("FetchResponse.PartitionData", "aborted"): "abortedTransactions",
    # up to Kafka 2.7
    ("OffsetForLeaderEpochRequest.OffsetForLeaderTopic", "name"): "topic",
    ("OffsetForLeaderEpochRequest.OffsetForLeaderPartition", "partitionIndex"): "partition",
    ("OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult", "name"): "topic",
    ("OffsetForLeaderEpochResponse.EpochEndOffset", "partitionIndex"): "partition",
    ("ProduceRequest", "topics"): "topicData",
    ("ProduceRequest.TopicProduceData", "partitions"): "partitionData",
    ("ProduceRequest.PartitionProduceData", "partitionIndex"): "index",
    ("ProduceResponse.TopicProduceResponse", "partitions"): "partitionResponses",
    ("ProduceResponse.PartitionProduceResponse", "partitionIndex"): "index",
    # up to Kafka 2.8
    ("DescribeLogDirsRequest.DescribableLogDirTopic", "partitionIndex"): "partitions",
    ("ElectLeadersRequest.TopicPartitions", "partitionId"): "partitions",
    ("FetchResponse.FetchableTopicResponse", "partitionResponses"): "partitions",
    ("FetchResponse.PartitionData", "partition"): "partitionIndex",
    ("FetchResponse.PartitionData", "recordSet"): "records",
    # up to Kafka 3.1
    ("AlterPartitionRequest.PartitionData", "currentIsrVersion"): "partitionEpoch",
    ("AlterPartitionResponse.PartitionData", "currentIsrVersion"): "partitionEpoch",
    ("ProducerIdsRecord", "producerIdsEnd"): "nextProducerId",
    # up to Kafka 3.2
    ("AlterPartitionRequest.TopicData", "name"): "topicName",
    ("AlterPartitionResponse.TopicData", "name"): "topicName",
    ("LeaderAndIsrRequest.LeaderAndIsrPartitionState", "zkVersion"): "partitionEpoch",
    # up to Kafka 3.4
    ("AddPartitionsToTxnRequest", "transactionalId"): "v3AndBelowTransactionalId",
    ("AddPartitionsToTxnRequest", "producerId"): "v3AndBelowProducerId",
    ("AddPartitionsToTxnRequest", "producerEpoch"): "v3AndBelowProducerEpoch",
    ("AddPartitionsToTxnRequest", "topics"): "v3AndBelowTopics",
    ("AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult", "results"): "resultsByPartition",
    ("AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult", "errorCode"): "partitionErrorCode",
    ("AddPartitionsToTxnResponse", "results"): "resultsByTopicV3AndBelow",
    # up to Kafka 3.5
    ("OffsetCommitRequest", "generationId"): "generationIdOrMemberEpoch",
    # up to Kafka 3.7
    ("PartitionChangeRecord", "lastKnownELR"): "lastKnownElr",
    ("PartitionRecord", "lastKnownELR"): "lastKnownElr",
    # up to Kafka 3.9
    ("VoteRequest.PartitionData", "candidateEpoch"): "replicaEpoch",
    ("VoteRequest.PartitionData", "candidateId"): "replicaId",
    ("VoteRequest.PartitionData", "candidateDirectoryId"): "replicaDirectoryId",
    # up to Kafka 4.3
    ("StreamsGroupHeartbeatResponse", "acceptableRecoveryLag"): "acceptableRecoveryLagLegacy",
    ("TxnOffsetCommitRequest", "generationId"): "generationIdOrMemberEpoch",
}

# former name of a message -> its name now
FORMER_MESSAGES: dict[str, str] = {
    # up to Kafka 3.1
    "AlterIsrRequest": "AlterPartitionRequest",
    "AlterIsrResponse": "AlterPartitionResponse",
    # up to Kafka 2.7
    "ListOffsetRequest": "ListOffsetsRequest",
    "ListOffsetResponse": "ListOffsetsResponse",
}


def folded(word: str) -> str:
    """Return the same text for all spellings of a name in code, user input and Kafka's request log.

    >>> folded("ApiVersions") == folded("API_VERSIONS") == folded("api-versions") == folded("apiversions")
    True
    """
    return word.replace("_", "").replace("-", "").casefold()


def snake_case(name: str) -> str:
    """Convert a spec's name to snake case, with an underscore before a capital letter that follows no other capital.

    >>> [snake_case(name) for name in ("TopicId", "isKRaftController", "V0Host", "BrokerID")]
    ['topic_id', 'is_kraft_controller', 'v0_host', 'broker_id']
    """
    text, after_capital = "", True
    for character in name:
        if character.isupper() and not after_capital:
            text += "_"
        text += character.lower()
        after_capital = character.isupper()
    return text


def camel_case(name: str) -> str:
    """Convert a spec's name to its form in Kafka's JSON: the first letter is lower case.

    >>> camel_case("TopicId"), camel_case("timeoutMs"), camel_case("ISR")
    ('topicId', 'timeoutMs', 'iSR')
    """
    return name[:1].lower() + name[1:]


def attribute_for(struct: str, field: str) -> str:
    """Return the Python attribute of a field; an underscore is appended to a Python keyword.

    >>> attribute_for("MetadataResponseTopic", "TopicId")
    'topic_id'
    >>> attribute_for("LeaderAndIsrPartitionState", "IsNew")
    'is_new_replica'
    >>> attribute_for("Move", "From")
    'from_'
    """
    name = ATTRIBUTES.get((struct, field[:1].upper() + field[1:])) or snake_case(field)
    return f"{name}_" if keyword.iskeyword(name) else name
