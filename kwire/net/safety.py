"""Which requests change nothing on a broker."""

from __future__ import annotations

from typing import Any

from ..codecs import Codec

# Apis that change nothing, in the sense of Kafka's ACL operations Describe and Read.
READING = frozenset(
    "ApiVersions ConsumerGroupDescribe DescribeAcls DescribeClientQuotas DescribeCluster DescribeConfigs"
    " DescribeDelegationToken DescribeGroups DescribeLogDirs DescribeProducers DescribeQuorum DescribeShareGroupOffsets"
    " DescribeTopicPartitions DescribeTransactions DescribeUserScramCredentials Fetch FetchSnapshot FindCoordinator"
    " ListConfigResources ListGroups ListOffsets ListPartitionReassignments ListTransactions Metadata OffsetFetch"
    " OffsetForLeaderEpoch ReadShareGroupState ReadShareGroupStateSummary SaslHandshake ShareGroupDescribe"
    " StreamsGroupDescribe".split()
)


def changes_state(codec: Codec, message: Any) -> bool:
    """Whether a request may change something on the broker.

    Args:
        codec: of the request.
        message: the request. A Metadata request that names topics creates them, unless it says not to.

    An api that is not known here may.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> changes_state(codec, codec.from_json({"topics": [{"name": "new"}]}, defaults=True))
    True
    """
    if codec.spec.profile == "KIP-879" and codec.spec.api_name == "CreateReplicaAssignment":
        return False  # it asks where replicas would be placed
    creates = bool(getattr(message, "allow_auto_topic_creation", False) and message.topics)
    return creates or codec.spec.api_name not in READING
