"""ACL bindings and filters of them (KIP-11, KIP-290)."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...values import AclOperation as Op
from ...values import AclPermissionType, PatternType

ANYBODY, ANY_HOST, ANY_NAME = "User:*", "*", "*"
DENY, ALLOW = AclPermissionType.DENY, AclPermissionType.ALLOW
LITERAL, PREFIXED, MATCH = PatternType.LITERAL, PatternType.PREFIXED, PatternType.MATCH
UNKNOWN, ANY = 0, 1  # the values of UNKNOWN and ANY in all ACL enums
# For each operation, the operations that imply it.
IMPLIED_BY: dict[int, frozenset[int]] = {
    Op.DESCRIBE: frozenset((Op.READ, Op.WRITE, Op.DELETE, Op.ALTER)),
    Op.DESCRIBE_CONFIGS: frozenset((Op.ALTER_CONFIGS,)),
}


class AclBinding(NamedTuple):
    """One ACL: it allows or denies a principal an operation, from one host or any, on the resources that a pattern
    matches.

    All fields except the names are numbers of Kafka's enums: `kwire.values.ResourceType`, `PatternType`, `AclOperation`
    and `AclPermissionType`.
    """

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int

    def covers(self, resource_type: int, name: str) -> bool:
        """Return whether the ACL applies to a resource.

        >>> from kwire.values import AclOperation as Op, ResourceType as Kind
        >>> acl = AclBinding(Kind.TOPIC, "pay", PREFIXED, "User:a", "*", Op.READ, ALLOW)
        >>> acl.covers(Kind.TOPIC, "payments"), acl.covers(Kind.GROUP, "payments")
        (True, False)
        """
        if self.resource_type != resource_type:
            return False
        if self.pattern_type == PREFIXED:
            return name.startswith(self.resource_name)
        return self.resource_name in (name, ANY_NAME)

    def concerns(self, principal: str, host: str, operation: int) -> bool:
        """Return whether this ACL applies to a principal, a host and an operation; an allowed operation may imply
        others.
        """
        if self.principal not in (principal, ANYBODY) or self.host not in (host, ANY_HOST):
            return False
        if self.operation in (operation, Op.ALL):
            return True
        return self.permission == ALLOW and self.operation in IMPLIED_BY.get(operation, ())


def acl_of(row: Any) -> AclBinding:
    """Return the ACL in a row of a request or in a record of the metadata log."""
    pattern = row.resource_pattern_type if hasattr(row, "resource_pattern_type") else row.pattern_type
    return AclBinding(
        row.resource_type, row.resource_name, pattern, row.principal, row.host, row.operation, row.permission_type
    )


class AclBindingFilter(NamedTuple):
    """A filter that selects ACLs. `ANY` and None match everything; the pattern type `MATCH` selects all patterns that
    match the name."""

    resource_type: int = ANY
    resource_name: str | None = None
    pattern_type: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission: int = ANY

    def matches(self, acl: AclBinding) -> bool:
        """Return whether the filter selects an ACL."""
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self._names(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission in (ANY, acl.permission)
        )

    def _names(self, acl: AclBinding) -> bool:
        if self.pattern_type == MATCH:
            return self.resource_name is None or acl.covers(acl.resource_type, self.resource_name)
        is_type = self.pattern_type in (ANY, acl.pattern_type)
        return is_type and self.resource_name in (None, acl.resource_name)
