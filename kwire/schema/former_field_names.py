"""Former names of fields and messages, up to which release of Kafka they were used."""

from __future__ import annotations

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
