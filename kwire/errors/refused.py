"""Operations that a cluster refuses: `Refused` and its subclasses, named after Kafka's exceptions, and their texts.

Does not depend on a cluster model: an error receives a reason and the figures for its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .base import KwireError
from .texts import excerpt

# reason -> the problem, and what to try. Braces contain attributes of the error.
WORDS: dict[str, tuple[str, str]] = {
    "no_members": ("the group has no members", "assign after a member has joined"),
    "division_by_zero": ("the group has no members", "assign after a member has joined"),
    "more_partitions_left_than_room_for": (
        "{count} partitions are left and all members have their share",
        "a member claims partitions that do not exist; remove them from its partitions",
    ),
    "members_without_their_share": (
        "no partitions are left and {count} members have less than their share",
        "members claim partitions that do not exist; remove them from their partitions",
    ),
    "holder_cannot_take_part": (
        "a partition is, or was, held by a member that has nothing to give or get in this rebalance",
        "let that member forget what it held",
    ),
    "nobody_can_take_part": (
        "partitions are to be moved, and no member has anything to give or get in this rebalance",
        "members claim partitions that do not exist; remove them from their partitions",
    ),
    "no_rest": (
        "moving partitions does not end in {count} rounds; in Kafka it would never end",
        "let members forget what they held in earlier generations",
    ),
    "partitions_not_positive": ("{num_partitions} partitions cannot be placed", "ask for at least one"),
    "too_many_replicas": (
        "{num_partitions} partitions with {replication_factor} replicas each are more than {most} replicas",
        "ask for fewer",
    ),
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
        "the start index {start_index} overflows Java's int",
        "take a start index below the number of brokers",
    ),
    "partition_count_not_increased": (
        "the topic has {existing} partitions already and {num_partitions} are wanted",
        "ask for more: partitions can be added only",
    ),
    "partition_zero_missing": ("partition 0 is not among those that exist", "give the whole topic"),
    "empty_replica_list": ("partition {partition} has no replicas", "give it at least one"),
    "broker_twice_in_one_partition": (
        "partition {partition} lists a broker twice: {replicas}",
        "name each broker once",
    ),
    "replication_factor_differs_between_partitions": (
        "partition {partition} has {found} replicas and the topic has {replication_factor} each",
        "give all partitions as many replicas",
    ),
    "unknown_broker": ("there are no brokers {unknown}", "name existing brokers"),
    "broker_twice_in_list": ("the list has brokers twice: {twice}", "name each broker once"),
    "topic_twice_in_list": ("the list has topics twice: {twice}", "name each topic once"),
    "bad_topic_name": (
        "{topic!r} cannot be the name of a topic",
        "take up to 249 letters, digits, dots, _ and -, and not . or ..",
    ),
    "topic_collides": ("{topic!r} collides with {other!r}: metrics do not distinguish dots and _", "take another name"),
    "reserved_topic": ("{topic!r} is reserved for the controllers", "take another name"),
    "internal_topic": (
        "{topic!r} is internal: the broker restores groups and transactions from it",
        "delete groups instead",
    ),
    "topic_exists": ("topic {topic!r} already exists", "choose another name, or delete it first"),
    "too_many_partitions": ("this would be more than {most} partitions", "ask for fewer, or delete topics"),
    "partitions_not_consecutive": (
        "partitions {found} are assigned, which do not continue from {first}",
        "number them from {first} on",
    ),
    "no_live_replica": ("none of the brokers {replicas} of partition {partition} is alive", "name one that is"),
    "assignment_and_counts": (
        "numbers of partitions or replicas are given together with an assignment",
        "give -1 for both numbers, or no assignment",
    ),
    "assignments_not_as_many": (
        "{found} assignments are given for {wanted} new partitions",
        "give one for each partition that is added",
    ),
    "in_request_twice": ("the request names {name!r} more than once", "name it once"),
    "name_and_id": ("a topic is named by its name and by its id", "give one of both"),
    "neither_name_nor_id": ("a topic has neither name nor id", "give one of both"),
    "unknown_topic_id": ("no topic has the id {topic_id}", "list the topics with Metadata"),
    "unknown_config": ("topics have no config {config!r}", "see kafka-configs --describe --all for those that are"),
    "unknown_broker_config": ("brokers have no config {config!r}", "see kafka-configs --describe --all"),
    "unknown_group_config": ("groups have no config {config!r}", "see kafka-configs --describe --all"),
    "unknown_client_metrics_config": (
        "client metrics have no config {config!r}",
        "there are interval.ms, match and metrics",
    ),
    "unknown_config_operation": (
        "there is no operation {operation} for config {config!r}",
        "set (0), delete (1), append (2) or subtract (3)",
    ),
    "refused_config": ("config {config!r} cannot be {value!r}", "{why}"),
    "no_tiered_storage": ("config 'remote.storage.enable' cannot be 'true'", "brokers have no tiered storage here"),
    "not_dynamic": ("config {config!r} of brokers cannot be altered while they run", "set it before the start"),
    "only_of_one_broker": ("config {config!r} cannot be set for all brokers", "name a broker"),
    "unknown_logger": ("there is no logger {logger!r}", "describe the loggers of the broker"),
    "root_logger": ("the level of the root logger cannot be deleted", "set another level"),
    "too_many_subscriptions": ("there are {most} client metrics subscriptions already", "delete some"),
    "too_many_group_configs": ("configs of {most} groups are set already", "delete those of groups that are gone"),
    "bad_config_operation": (
        "operation {operation} does not apply to config {config!r}",
        "set (0) or delete (1) it; only lists take appended (2) and subtracted (3) values",
    ),
    "no_default_resource": ("the name of the resource is empty", "name a topic or group: they have no defaults here"),
    "bad_config_value": ("config {config!r} cannot be {value!r}", "it takes {takes}"),
    "not_this_broker": (
        "the request is for broker {asked!r}, and this is broker {node_id}",
        "send it to that broker, or name '' for all brokers",
    ),
    "config_without_value": ("config {config!r} has no value", "give one, or delete the config"),
    "not_to_be_altered": (
        "configs of resources of type {type} cannot be altered",
        "alter those of topics (2), brokers (4), loggers (8), client metrics (16) or groups (32)",
    ),
    "unknown_resource_type": (
        "resources of type {type} have no configs here",
        "ask for topics (2), brokers (4), loggers (8), client metrics (16) or groups (32)",
    ),
    "unknown_topic": ("topic {topic!r} does not exist", "create it first, or correct its name"),
    "must_start_with_slash": ("the rack {rack!r} is not a path: it does not start with /", "write it as in /DC1/R1"),
    "empty_component": ("the rack {rack!r} has an empty name in it", "write it as in /DC1/R1"),
    "too_many_levels": ("the rack {rack!r} has {levels} levels", "have at most {most}"),
    "no_rack": (
        "brokers {without} have no rack, and racks of many levels need one for each broker",
        "give them racks, or force the simple assignment (--disable-rack-awareness)",
    ),
    "broker_twice": ("broker {broker} occurs twice", "name each broker once"),
    "not_an_increase": (
        "the partition has {existing} replicas already and {replication_factor} are wanted",
        "ask for more: replicas are added only",
    ),
    "no_such_start": (
        "the ring of {node!r} cannot start at {start}: {problem}",
        "name nodes of the tree, and a child from 0 on",
    ),
    "unknown_assignor": ("there is no replica assignor {name!r}: {problem}", "known: {known}; or MODULE:FUNCTION"),
    "assignor_raised": ("the replica assignor {name} raised {problem}", "correct it, or name another one"),
    "assignor_returned": (
        "the replica assignor {name} returned {problem}",
        "a mapping of each partition to the ids of different brokers is needed, as many as the replication factor",
    ),
    "empty_assignment": (
        "the broker refused {num_partitions} partitions with {replication_factor} replicas on {on}, and its response "
        "has no reason",
        "the replication factor may be larger than the number of these brokers, partitions or replicas not positive "
        "or too many, an id not that of a live broker, a broker without a rack path, or {timeout_ms} ms were over",
    ),
    "wrong_partition_ids": (
        "the broker answered with partitions {found}, not 0 to {last}",
        "its assignor may number them otherwise, or the response belongs to another request",
    ),
}


class Refused(KwireError):
    """A cluster refused an operation.

    Attributes: `reason`, a short code that does not change; the figures of the case, such as `replication_factor`;
    of the class `exception`, the Java class that Kafka 3.9 throws, and `error_code`, the code in a broker's response.
    """

    exception = ""
    error_code = -1  # UNKNOWN_SERVER_ERROR

    def __init__(self, reason: str = "", **facts: Any) -> None:
        super().__init__()
        self.reason = reason
        self.__dict__.update(facts)
        words, hint = WORDS.get(reason, ("{reason}", ""))
        shown = {name: _short(value) for name, value in vars(self).items()}
        self.problem: str = words.format_map(shown)
        self.hint: str = hint.format_map(shown)

    def __str__(self) -> str:
        return f"{self.problem}; {self.hint}" if self.hint else self.problem


def _short(value: Any) -> Any:
    return value if isinstance(value, int | str) else excerpt(value)


class CannotAssign(Refused):
    """Kafka's assignor fails for this consumer group; `assignor` is the assignor's name in Kafka."""

    assignor = ""
    count = 0  # the number of partitions, members or rounds, depending on the reason
    thrown: Mapping[str, str] = {
        "no_members": "java.lang.IllegalArgumentException",
        "division_by_zero": "java.lang.ArithmeticException",
        "more_partitions_left_than_room_for": "java.lang.IllegalStateException",
        "members_without_their_share": "java.lang.IllegalStateException",
        "holder_cannot_take_part": "java.lang.NullPointerException",
        "nobody_can_take_part": "java.util.NoSuchElementException",
    }

    def __init__(self, reason: str = "", **facts: Any) -> None:
        super().__init__(reason, **facts)
        self.exception: str = self.thrown.get(reason, "")


class InvalidPartitions(Refused):
    """An invalid number of partitions."""

    exception = "org.apache.kafka.common.errors.InvalidPartitionsException"
    error_code = 37


class InvalidReplicationFactor(Refused):
    """An invalid replication factor, or one that these brokers cannot provide."""

    exception = "org.apache.kafka.common.errors.InvalidReplicationFactorException"
    error_code = 38


class InvalidReplicaAssignment(Refused):
    """An invalid replica assignment."""

    exception = "org.apache.kafka.common.errors.InvalidReplicaAssignmentException"
    error_code = 39


class InvalidRequest(Refused):
    """A request whose fields contradict each other."""

    exception = "org.apache.kafka.common.errors.InvalidRequestException"
    error_code = 42


class InvalidConfig(Refused):
    """An unknown configuration key, or an invalid value of one."""

    exception = "org.apache.kafka.common.errors.InvalidConfigurationException"
    error_code = 40


class UnknownServerError(Refused):
    """A request at which Kafka's own code fails."""

    exception = "org.apache.kafka.common.errors.UnknownServerException"


class UnknownTopicId(Refused):
    """No topic has this id."""

    exception = "org.apache.kafka.common.errors.UnknownTopicIdException"
    error_code = 100


class BrokerNotAvailable(Refused):
    """The named brokers do not exist."""

    exception = "org.apache.kafka.common.errors.BrokerNotAvailableException"
    error_code = 8


class UnknownTopicOrPartition(Refused):
    """The named topics or partitions do not exist."""

    exception = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException"
    error_code = 3


class InvalidTopicException(Refused):
    """An invalid topic name."""

    exception = "org.apache.kafka.common.errors.InvalidTopicException"
    error_code = 17


class TopicAlreadyExists(Refused):
    """A topic of this name already exists."""

    exception = "org.apache.kafka.common.errors.TopicExistsException"
    error_code = 36


class PolicyViolation(Refused):
    """The operation exceeds a limit set by the operator of the cluster."""

    exception = "org.apache.kafka.common.errors.PolicyViolationException"
    error_code = 44


class AdminOperation(Refused):
    """The state of the cluster does not allow the operation."""

    exception = "org.apache.kafka.server.common.AdminOperationException"


class InvalidRack(AdminOperation):
    """A rack that is not a valid path, or a required rack that is missing (KIP-879)."""


class AdminCommandFailed(Refused):
    """Contradictory lists in a reassignment."""

    exception = "org.apache.kafka.server.common.AdminCommandFailedException"


class IndexOutOfBounds(Refused):
    """Numbers that overflow a Java int; Kafka throws the same exception."""

    exception = "java.lang.IndexOutOfBoundsException"


class UnknownAssignor(Refused):
    """A setting names an unknown replica assignor."""


class ReplicaAssignorFailed(Refused):
    """A custom replica assignor raised an error, or returned an invalid assignment."""


class ReplicaAssignmentRefused(Refused):
    """A broker returned an empty or invalid CreateReplicaAssignment response (KIP-879 has no error code)."""


class BadStep(KwireError):
    """A step of a scenario that cannot be run: `problem` is the reason, `hint` lists possible steps."""

    def __init__(self, problem: str = "", hint: str = "") -> None:
        self.problem: str = problem
        self.hint: str = hint
        super().__init__(problem, hint)

    def __str__(self) -> str:
        return f"{self.problem}; {self.hint}"
