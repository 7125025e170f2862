"""ACLs, and what they allow (KIP-11, KIP-290): the rules of Kafka's StandardAuthorizer.

Knows principals and names of resources, but no messages. `NEEDS` lists what each api needs, as Kafka's documentation
does under "Operations and Resources on Protocols".
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..values import AclOperation as Op
from ..values import AclPermissionType, PatternType
from ..values import ResourceType as Kind
from . import codes

ANONYMOUS = "User:ANONYMOUS"  # who did not authenticate
ANYBODY, ANY_HOST, ANY_NAME = "User:*", "*", "*"
CLUSTER_NAME = "kafka-cluster"
DENY, ALLOW = AclPermissionType.DENY, AclPermissionType.ALLOW
LITERAL, PREFIXED, MATCH = PatternType.LITERAL, PatternType.PREFIXED, PatternType.MATCH
UNKNOWN, ANY = 0, 1  # in all enums of ACLs
UNASKED = -(1 << 31)  # in place of authorized operations
MOST_ACLS = 100_000

# What also allows an operation.
IMPLIED_BY: dict[int, frozenset[int]] = {
    Op.DESCRIBE: frozenset((Op.READ, Op.WRITE, Op.DELETE, Op.ALTER)),
    Op.DESCRIBE_CONFIGS: frozenset((Op.ALTER_CONFIGS,)),
}
DENIALS: dict[int, int] = {
    Kind.TOPIC: codes.TOPIC_AUTHORIZATION_FAILED,
    Kind.GROUP: codes.GROUP_AUTHORIZATION_FAILED,
    Kind.CLUSTER: codes.CLUSTER_AUTHORIZATION_FAILED,
    Kind.TRANSACTIONAL_ID: codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
# The operations that there are on a kind of resource (KIP-430).
OPERATIONS: dict[int, tuple[Op, ...]] = {
    Kind.TOPIC: (
        Op.READ,
        Op.WRITE,
        Op.CREATE,
        Op.DELETE,
        Op.ALTER,
        Op.DESCRIBE,
        Op.DESCRIBE_CONFIGS,
        Op.ALTER_CONFIGS,
    ),
    Kind.GROUP: (Op.READ, Op.DELETE, Op.DESCRIBE, Op.DESCRIBE_CONFIGS, Op.ALTER_CONFIGS),
    Kind.CLUSTER: (
        Op.CREATE,
        Op.ALTER,
        Op.DESCRIBE,
        Op.CLUSTER_ACTION,
        Op.DESCRIBE_CONFIGS,
        Op.ALTER_CONFIGS,
        Op.IDEMPOTENT_WRITE,
    ),
}


class Acl(NamedTuple):
    """One entry: whether a principal may do an operation from a host, on resources of a name or prefix.

    All but names are numbers of Kafka's enums: `kwire.values.ResourceType`, `PatternType`, `AclOperation` and
    `AclPermissionType`.
    """

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int

    def covers(self, resource_type: int, name: str) -> bool:
        """Whether it is about a resource.

        >>> acl = Acl(Kind.TOPIC, "pay", PREFIXED, "User:a", "*", Op.READ, ALLOW)
        >>> acl.covers(Kind.TOPIC, "payments"), acl.covers(Kind.GROUP, "payments")
        (True, False)
        """
        if self.resource_type != resource_type:
            return False
        if self.pattern_type == PREFIXED:
            return name.startswith(self.resource_name)
        return self.resource_name in (name, ANY_NAME)

    def concerns(self, principal: str, host: str, operation: int) -> bool:
        """Whether this ACL applies to a principal and an operation; an allowed operation may imply others."""
        if self.principal not in (principal, ANYBODY) or self.host not in (host, ANY_HOST):
            return False
        if self.operation in (operation, Op.ALL):
            return True
        return self.permission == ALLOW and self.operation in IMPLIED_BY.get(operation, ())


def acl_of(row: Any) -> Acl:
    """Return the ACL that a row of a request or a record of the metadata log describes."""
    pattern = row.resource_pattern_type if hasattr(row, "resource_pattern_type") else row.pattern_type
    return Acl(
        row.resource_type, row.resource_name, pattern, row.principal, row.host, row.operation, row.permission_type
    )


class Filter(NamedTuple):
    """Selects ACLs; `ANY` and None match everything, and the pattern type `MATCH` all that covers the name."""

    resource_type: int = ANY
    resource_name: str | None = None
    pattern_type: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission: int = ANY

    def matches(self, acl: Acl) -> bool:
        """Whether an ACL is selected."""
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self._names(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission in (ANY, acl.permission)
        )

    def _names(self, acl: Acl) -> bool:
        if self.pattern_type == MATCH:
            return self.resource_name is None or acl.covers(acl.resource_type, self.resource_name)
        is_type = self.pattern_type in (ANY, acl.pattern_type)
        return is_type and self.resource_name in (None, acl.resource_name)


@dataclass(slots=True)
class Authorizer:
    """The ACLs of a cluster.

    Attributes:
        super_users: principals that may do everything, such as `User:admin`.
        is_open: whether everybody may use a resource that no ACL is about (allow.everyone.if.no.acl.found).
        acls: the ACLs, with their ids in the metadata log.

    >>> acl = Acl(Kind.TOPIC, "t", LITERAL, "User:a", "*", Op.READ, ALLOW)
    >>> authorizer = Authorizer(acls={acl: bytes(16)})
    >>> [authorizer.allows("User:a", "::1", one, Kind.TOPIC, "t") for one in (Op.READ, Op.DESCRIBE, Op.WRITE)]
    [True, True, False]
    """

    super_users: Collection[str] = ()
    is_open: bool = False
    acls: dict[Acl, bytes] = field(default_factory=dict)

    def allows(self, principal: str, host: str, operation: int, resource_type: int, name: str) -> bool:
        """Whether a principal may do an operation: a denial takes precedence, and without any ACL all are denied."""
        if principal in self.super_users:
            return True
        covering = [acl for acl in self.acls if acl.covers(resource_type, name)]
        found = {acl.permission for acl in covering if acl.concerns(principal, host, operation)}
        return DENY not in found and (ALLOW in found or (self.is_open and not covering))

    def allows_any(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Whether a principal may do an operation with any resource of a type, known or not."""
        if principal in self.super_users:
            return True
        own = [acl for acl in self.acls if acl.resource_type == resource_type]
        own = [acl for acl in own if acl.concerns(principal, host, operation)]
        denied = [acl for acl in own if acl.permission == DENY]
        if any(acl.resource_name == ANY_NAME and acl.pattern_type == LITERAL for acl in denied):
            return False
        allowed = [acl for acl in own if acl.permission == ALLOW]
        return self.is_open or any(not _is_dominated(acl, denied) for acl in allowed)

    def matching(self, filter_: Filter) -> list[Acl]:
        """Return the ACLs that a filter selects."""
        return [acl for acl in self.acls if filter_.matches(acl)]


def _is_dominated(acl: Acl, denied: Collection[Acl]) -> bool:
    """Whether denials cover all that an ACL allows."""
    return any(
        one.covers(acl.resource_type, acl.resource_name) and (one.pattern_type == PREFIXED or one[:3] == acl[:3])
        for one in denied
    )


class Needs(NamedTuple):
    """The operations that an api needs on its topics, its groups (or transactional ids), and the cluster."""

    topic: Op | None = None
    group: Op | None = None
    cluster: Op | None = None
    transactional_id: Op | None = None


NEEDS: dict[str, Needs] = {
    "Produce": Needs(topic=Op.WRITE, transactional_id=Op.WRITE),
    "Fetch": Needs(topic=Op.READ),
    "ListOffsets": Needs(topic=Op.DESCRIBE),
    "Metadata": Needs(topic=Op.DESCRIBE),
    "OffsetForLeaderEpoch": Needs(topic=Op.DESCRIBE),
    "DescribeTopicPartitions": Needs(topic=Op.DESCRIBE),
    "DeleteTopics": Needs(topic=Op.DELETE),
    "CreatePartitions": Needs(topic=Op.ALTER),
    "DeleteRecords": Needs(topic=Op.DELETE),
    "DescribeProducers": Needs(topic=Op.READ),
    "JoinGroup": Needs(group=Op.READ),
    "SyncGroup": Needs(group=Op.READ),
    "Heartbeat": Needs(group=Op.READ),
    "LeaveGroup": Needs(group=Op.READ),
    "ConsumerGroupHeartbeat": Needs(topic=Op.DESCRIBE, group=Op.READ),
    "ShareGroupHeartbeat": Needs(topic=Op.DESCRIBE, group=Op.READ),
    "ShareFetch": Needs(topic=Op.READ, group=Op.READ),
    "ShareAcknowledge": Needs(topic=Op.READ, group=Op.READ),
    "OffsetCommit": Needs(topic=Op.READ, group=Op.READ),
    "OffsetFetch": Needs(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    "OffsetDelete": Needs(topic=Op.READ, group=Op.DELETE),
    "DeleteGroups": Needs(group=Op.DELETE),
    "DescribeGroups": Needs(group=Op.DESCRIBE),
    "ConsumerGroupDescribe": Needs(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    "ShareGroupDescribe": Needs(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    "FindCoordinator": Needs(group=Op.DESCRIBE, transactional_id=Op.DESCRIBE),
    "InitProducerId": Needs(transactional_id=Op.WRITE),
    "AddPartitionsToTxn": Needs(topic=Op.WRITE, transactional_id=Op.WRITE),
    "AddOffsetsToTxn": Needs(group=Op.READ, transactional_id=Op.WRITE),
    "TxnOffsetCommit": Needs(topic=Op.READ, group=Op.READ, transactional_id=Op.WRITE),
    "EndTxn": Needs(transactional_id=Op.WRITE),
    "DescribeTransactions": Needs(transactional_id=Op.DESCRIBE),
    "WriteTxnMarkers": Needs(cluster=Op.CLUSTER_ACTION),
    "DescribeAcls": Needs(cluster=Op.DESCRIBE),
    "CreateAcls": Needs(cluster=Op.ALTER),
    "DeleteAcls": Needs(cluster=Op.ALTER),
    "DescribeClientQuotas": Needs(cluster=Op.DESCRIBE_CONFIGS),
    "AlterClientQuotas": Needs(cluster=Op.ALTER_CONFIGS),
    "DescribeUserScramCredentials": Needs(cluster=Op.DESCRIBE),
    "AlterUserScramCredentials": Needs(cluster=Op.ALTER),
    "DescribeLogDirs": Needs(cluster=Op.DESCRIBE),
    "AlterReplicaLogDirs": Needs(cluster=Op.ALTER),
    "ElectLeaders": Needs(cluster=Op.ALTER),
    "AlterPartitionReassignments": Needs(cluster=Op.ALTER),
    "ListPartitionReassignments": Needs(cluster=Op.DESCRIBE),
    "DescribeQuorum": Needs(cluster=Op.DESCRIBE),
    "ListConfigResources": Needs(cluster=Op.DESCRIBE_CONFIGS),
    "UpdateFeatures": Needs(cluster=Op.ALTER),
    "UnregisterBroker": Needs(cluster=Op.ALTER),
    "AddRaftVoter": Needs(cluster=Op.ALTER),
    "RemoveRaftVoter": Needs(cluster=Op.ALTER),
}
NOTHING = Needs()
Allows = Callable[[int, int, str], bool]  # whether a principal may do an operation with a resource of a kind and name


def denial(
    allows: Allows,
    api: str,
    topic: str | None = None,
    group: str | None = None,
    transactional_id: str | None = None,
) -> int:
    """Return the error code of a denied operation; 0 if it is allowed.

    Args:
        allows: what the principal may do.
        api: the name of the api.
        topic, group, transactional_id: what a part of it is about.
    """
    needs = NEEDS.get(api, NOTHING)
    for operation, kind, name in (
        (needs.cluster, Kind.CLUSTER, CLUSTER_NAME),
        (needs.transactional_id, Kind.TRANSACTIONAL_ID, transactional_id),
        (needs.group, Kind.GROUP, group),
        (needs.topic, Kind.TOPIC, topic),
    ):
        if operation is not None and name is not None and not allows(operation, kind, name):
            return DENIALS[kind]
    return codes.NONE


def operations(allows: Allows, kind: int, name: str) -> int:
    """Return the operations that the principal may do with a resource, as bits (KIP-430)."""
    return sum(1 << one for one in OPERATIONS[kind] if allows(one, kind, name))
