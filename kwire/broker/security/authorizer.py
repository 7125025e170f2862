"""Authorization with ACLs (KIP-11, KIP-290), evaluated as by Kafka's StandardAuthorizer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from .acls import ALLOW, ANY_NAME, DENY, LITERAL, PREFIXED, AclBinding, AclBindingFilter


@dataclass(slots=True)
class Authorizer:
    """The ACLs of a cluster.

    Attributes:
        super_users: principals that may perform any operation, such as `User:admin`.
        is_open: whether a resource without ACLs is open to all principals (allow.everyone.if.no.acl.found).
        acls: the ACLs, each with its id in the metadata log.

    >>> from kwire.values import AclOperation as Op, ResourceType as Kind
    >>> from kwire.broker.security.acls import LITERAL
    >>> acl = AclBinding(Kind.TOPIC, "t", LITERAL, "User:a", "*", Op.READ, ALLOW)
    >>> authorizer = Authorizer(acls={acl: bytes(16)})
    >>> [authorizer.allows("User:a", "::1", one, Kind.TOPIC, "t") for one in (Op.READ, Op.DESCRIBE, Op.WRITE)]
    [True, True, False]
    """

    super_users: Collection[str] = ()
    is_open: bool = False
    acls: dict[AclBinding, bytes] = field(default_factory=dict)

    def allows(self, principal: str, host: str, operation: int, resource_type: int, name: str) -> bool:
        """Return whether a principal may perform an operation on a resource. A DENY ACL takes precedence; if no ACL
        matches, the operation is denied."""
        if principal in self.super_users:
            return True
        covering = [acl for acl in self.acls if acl.covers(resource_type, name)]
        permissions = {acl.permission for acl in covering if acl.concerns(principal, host, operation)}
        return DENY not in permissions and (ALLOW in permissions or (self.is_open and not covering))

    def allows_any(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Return whether a principal may perform an operation on at least one resource of a type, existing or not."""
        if principal in self.super_users:
            return True
        own = [acl for acl in self.acls if acl.resource_type == resource_type]
        own = [acl for acl in own if acl.concerns(principal, host, operation)]
        denied = [acl for acl in own if acl.permission == DENY]
        if any(acl.resource_name == ANY_NAME and acl.pattern_type == LITERAL for acl in denied):
            return False
        allowed = [acl for acl in own if acl.permission == ALLOW]
        return self.is_open or any(not _is_dominated(acl, denied) for acl in allowed)

    def matching(self, filter_: AclBindingFilter) -> list[AclBinding]:
        """Return the ACLs that a filter selects."""
        return [acl for acl in self.acls if filter_.matches(acl)]


def _is_dominated(acl: AclBinding, denied: Collection[AclBinding]) -> bool:
    """Return whether the denials cover everything that an ACL allows."""
    return any(
        denial.covers(acl.resource_type, acl.resource_name)
        and (denial.pattern_type == PREFIXED or denial[:3] == acl[:3])
        for denial in denied
    )
