"""What a cluster refuses to do: the kin of `Refused`, named after Kafka's exceptions, and their words.

Knows no cluster: an error gets a reason and the figures that its words need.
"""

from __future__ import annotations

from typing import Any

from .errors import KwireError, excerpt

# reason -> what is wrong, what to try. Braces take the error's own attributes.
WORDS: dict[str, tuple[str, str]] = {
    "partitions_not_positive": ("{num_partitions} partitions cannot be placed", "ask for at least one"),
    "replication_factor_not_positive": ("replication factor {replication_factor} places nothing", "ask for at least 1"),
    "replication_factor_larger_than_brokers": (
        "replication factor {replication_factor} needs as many brokers, and there are {brokers}",
        "ask for fewer replicas, or name more brokers",
    ),
    "no_unfenced_broker": ("all brokers are fenced", "wait until one of them has registered"),
    "only_some_brokers_have_a_rack": (
        "brokers {without} have no rack and others have one",
        "give all of them racks, or place without racks (--disable-rack-awareness)",
    ),
    "int_overflow_negative_index": (
        "the start index {start_index} runs over Java's 32-bit numbers",
        "take a start index below the number of brokers",
    ),
    "partition_count_not_increased": (
        "the topic has {existing} partitions already and {num_partitions} are wanted",
        "ask for more: partitions can be added only",
    ),
    "partition_zero_missing": ("partition 0 is not among those that exist", "give the whole topic"),
    "empty_replica_list": ("partition {partition} has no replicas", "give it at least one"),
    "broker_twice_in_one_partition": ("partition {partition} has a broker twice: {replicas}", "name each broker once"),
    "replication_factor_differs_between_partitions": (
        "partition {partition} has {found} replicas and the topic has {replication_factor} each",
        "give all partitions as many replicas",
    ),
    "unknown_broker": ("there are no brokers {unknown}", "name brokers that are there"),
    "broker_twice_in_list": ("the list of brokers names some twice: {twice}", "name each broker once"),
    "topic_twice_in_list": ("the list of topics names some twice: {twice}", "name each topic once"),
    "broker_twice": ("broker {broker} is there twice", "name each broker once"),
    "unknown_topic": ("there is no topic {topic!r}", "name topics that are there"),
}


class Refused(KwireError):
    """Something that cannot be done as it was asked for.

    Attributes: `reason`, a short code that does not change; the figures of the case, such as `replication_factor`;
    of the class `exception`, the Java class that Kafka 3.9 throws, and `error_code`, what a broker answers with.
    """

    exception = ""
    error_code = -1  # UNKNOWN_SERVER_ERROR

    def __init__(self, reason: str = "", **facts: Any) -> None:
        super().__init__()
        self.reason = reason
        self.__dict__.update(facts)
        words, hint = WORDS.get(reason, ("{reason}", ""))
        told = {name: _short(value) for name, value in vars(self).items()}
        self.problem, self.hint = words.format_map(told), hint.format_map(told)

    def __str__(self) -> str:
        return f"{self.problem}; {self.hint}" if self.hint else self.problem


def _short(value: Any) -> Any:
    return value if isinstance(value, int | str) else excerpt(value)


class InvalidPartitions(Refused):
    """A number of partitions that cannot be."""

    exception = "org.apache.kafka.common.errors.InvalidPartitionsException"
    error_code = 37


class InvalidReplicationFactor(Refused):
    """A number of replicas that cannot be, or not with these brokers."""

    exception = "org.apache.kafka.common.errors.InvalidReplicationFactorException"
    error_code = 38


class InvalidReplicaAssignment(Refused):
    """A given assignment that is not one."""

    exception = "org.apache.kafka.common.errors.InvalidReplicaAssignmentException"
    error_code = 39


class BrokerNotAvailable(Refused):
    """Brokers were named that are not there."""

    exception = "org.apache.kafka.common.errors.BrokerNotAvailableException"
    error_code = 8


class UnknownTopicOrPartition(Refused):
    """Topics were named that are not there."""

    exception = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException"
    error_code = 3


class AdminOperation(Refused):
    """The cluster is not as the operation needs it."""

    exception = "org.apache.kafka.server.common.AdminOperationException"


class AdminCommandFailed(Refused):
    """Lists that contradict themselves."""

    exception = "org.apache.kafka.server.common.AdminCommandFailedException"


class IndexOutOfBounds(Refused):
    """Numbers beyond Java's, where Kafka falls over its own index."""

    exception = "java.lang.IndexOutOfBoundsException"
