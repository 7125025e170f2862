"""Which requests can change the state of a broker."""

from __future__ import annotations

from typing import Any

from ..codecs.message_codec import Codec

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
    """Return whether a request may change something on the broker.

    Args:
        codec: the codec of the request.
        message: the request. A Metadata request may create the topics that it names, unless it forbids this.

    Returns True for an unknown api.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> changes_state(codec, codec.from_json({"topics": [{"name": "new"}]}, defaults=True))
    True
    """
    if codec.spec.profile == "KIP-879" and codec.spec.api_name == "CreateReplicaAssignment":
        return False  # it only computes a placement
    creates = bool(getattr(message, "allow_auto_topic_creation", False) and message.topics)
    return creates or codec.spec.api_name not in READING
