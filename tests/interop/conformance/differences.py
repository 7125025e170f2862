"""Where kwire's brokers answer otherwise than a real one, and why: patterns of cases, by release."""

from __future__ import annotations

from collections.abc import Mapping

SHARE = "share groups are served without a feature being set, and brokers have no requests among themselves for them"
WHOLE = "a batch that is larger than what was asked for is never cut"
BEYOND_KAFKA = "Kafka fails with an exception of Java, or sends no answer"
BUFFER = "limits are lower, because so much is buffered for each slow client"
NO_ID = "an id is made only for a topic that is created"
ONE_ROW = "what is asked for twice is answered once, or in one row"
NO_NAME = "responses of classic groups have an empty name where newer versions have null"
EMPTY_TOPIC = "a topic without a name, or without partitions, has a row"
EMPTY_GROUP = "an empty group id has the code of classic groups"
HOST = "the address of a client has no slash before it"
EPOCH = "the assignment of a group with one member takes one epoch less"
EPOCH_2 = "the first epoch of a group is 1 and not 2, as up to Kafka 4.1"
SIMPLE = "a commit with an epoch to a group that has no members is refused"

GROUPS = {
    r"JoinGroup-.*|classic-member": NO_NAME + "; " + HOST,
    r"DescribeGroups-2 .*|OffsetFetch-8 .*|OffsetFetch-20 .*|OffsetFetch-29 .*": ONE_ROW,
    r"OffsetCommit-20 .*|OffsetCommit-26 .*|OffsetFetch-21 .*": EMPTY_TOPIC,
    r"ConsumerGroupHeartbeat-0 .*|group-names": EMPTY_GROUP,
    r"OffsetCommit-2 .*": SIMPLE,
}
OTHERS = {
    r"ApiVersions-.*|acks-0-nowhere": SHARE,
    r"whole-broker (fetch\.max\.bytes|socket\.request\.max\.bytes)": BUFFER,
    r"Fetch-18 .*|Fetch-67 .*": WHOLE,
    r"CreateTopics-31 .*|CreateTopics-assigned-29 .*": NO_ID,
    r"AlterConfigs-2 .*|DescribeTopicPartitions-3 .*|Metadata-8 .*": BEYOND_KAFKA,
    r"ElectLeaders-6 .*": ONE_ROW,
}

EARLIER = {r"ConsumerGroupHeartbeat-2 .*": EPOCH}
LATER = {
    r"ConsumerGroupHeartbeat-.*": EPOCH_2,
    r"transactional-without-id": "whether the end of a transaction is complete is a matter of time",
}

DIFFERENCES: Mapping[str, Mapping[str, str]] = {"4.1.0": GROUPS | OTHERS | EARLIER, "4.4.0": GROUPS | OTHERS | LATER}
