"""What ACLs allow: the rules of Kafka's documentation, by hand."""

from __future__ import annotations

import pytest

from kwire.broker.security.acls import ALLOW, DENY, LITERAL, MATCH, PREFIXED, AclBinding, AclBindingFilter
from kwire.broker.security.api_permissions import denial
from kwire.broker.security.authorizer import Authorizer
from kwire.values import AclOperation as Op
from kwire.values import ErrorCode
from kwire.values import ResourceType as Kind

ALICE, HOST = "User:alice", "10.0.0.1"


def acl(
    name: str = "t", op: Op = Op.READ, permission: int = ALLOW, pattern: int = LITERAL, **more: object
) -> AclBinding:
    made = AclBinding(Kind.TOPIC, name, pattern, ALICE, "*", op, permission)
    return made._replace(**more)  # type: ignore[arg-type]


def allows(op: Op, *acls: AclBinding, name: str = "t", is_open: bool = False) -> bool:
    return Authorizer(["User:root"], is_open, dict.fromkeys(acls, b"")).allows(ALICE, HOST, op, Kind.TOPIC, name)


@pytest.mark.parametrize(
    ("op", "acls", "is_allowed"),
    [
        (Op.READ, [], False),
        (Op.READ, [acl()], True),
        (Op.WRITE, [acl()], False),
        (Op.READ, [acl("u")], False),
        (Op.READ, [acl("*")], True),
        (Op.READ, [acl("*", pattern=PREFIXED)], False),
        (Op.READ, [acl("t", pattern=PREFIXED)], True),
        (Op.READ, [acl(principal="User:bob")], False),
        (Op.READ, [acl(principal="User:*")], True),
        (Op.READ, [acl(host="10.0.0.2")], False),
        (Op.READ, [acl(host=HOST)], True),
        (Op.READ, [acl(resource_type=Kind.GROUP)], False),
        (Op.READ, [acl(op=Op.ALL)], True),
        (Op.READ, [acl(), acl(op=Op.ALL, permission=DENY)], False),
        (Op.READ, [acl(), acl("*", permission=DENY)], False),
        (Op.READ, [acl(), acl(permission=DENY, principal="User:bob")], True),
        (Op.DESCRIBE, [acl(op=Op.DELETE)], True),
        (Op.DESCRIBE, [acl(op=Op.CREATE)], False),
        (Op.DESCRIBE_CONFIGS, [acl(op=Op.ALTER_CONFIGS)], True),
        (Op.DESCRIBE_CONFIGS, [acl(op=Op.DESCRIBE)], False),
        (Op.DESCRIBE, [acl(), acl(permission=DENY)], True),  # who may not read may still describe
    ],
)
def test_what_is_allowed(op: Op, acls: list[AclBinding], is_allowed: bool) -> None:
    assert allows(op, *acls) is is_allowed


def test_without_any_acl_a_resource_may_be_open() -> None:
    assert allows(Op.WRITE, is_open=True)
    assert allows(Op.WRITE, acl("other"), is_open=True)
    assert not allows(Op.WRITE, acl(principal="User:bob"), is_open=True)


def test_super_users_are_never_denied() -> None:
    made = Authorizer([ALICE], acls={acl(permission=DENY): b""})
    assert made.allows(ALICE, HOST, Op.READ, Kind.TOPIC, "t")


@pytest.mark.parametrize(
    ("acls", "is_allowed"),
    [
        ([], False),
        ([acl()], True),
        ([acl(), acl("*", permission=DENY)], False),
        ([acl(), acl(permission=DENY)], False),
        ([acl("tea"), acl("t", permission=DENY, pattern=PREFIXED)], False),
        ([acl("tea"), acl("t", permission=DENY)], True),
        ([acl("t", pattern=PREFIXED), acl("tea", permission=DENY, pattern=PREFIXED)], True),
        ([acl("t", pattern=PREFIXED), acl("t", permission=DENY)], True),
    ],
)
def test_whether_any_resource_is_allowed(acls: list[AclBinding], is_allowed: bool) -> None:
    made = Authorizer(acls=dict.fromkeys(acls, b""))
    assert made.allows_any(ALICE, HOST, Op.READ, Kind.TOPIC) is is_allowed


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (AclBindingFilter(), ["*", "t", "te", "team"]),
        (AclBindingFilter(resource_name="te"), ["te"]),
        (AclBindingFilter(resource_name="team", pattern_type=MATCH), ["*", "t", "te", "team"]),
        (AclBindingFilter(resource_name="ta", pattern_type=MATCH), ["*", "t"]),
        (AclBindingFilter(pattern_type=PREFIXED), ["t", "te"]),
        (AclBindingFilter(operation=Op.WRITE), []),
        (AclBindingFilter(principal="User:bob"), []),
    ],
)
def test_filters_select_acls(wanted: AclBindingFilter, names: list[str]) -> None:
    acls = [acl("t", pattern=PREFIXED), acl("te", pattern=PREFIXED), acl("team"), acl("*")]
    made = Authorizer(acls=dict.fromkeys(acls, b""))
    assert sorted(one.resource_name for one in made.matching(wanted)) == names


def test_super_users_and_open_clusters_have_any_resource() -> None:
    everything = acl("*", op=Op.ALL, permission=DENY)
    assert Authorizer([ALICE], acls={everything: b""}).allows_any(ALICE, HOST, Op.READ, Kind.TOPIC)
    assert Authorizer(is_open=True).allows_any(ALICE, HOST, Op.READ, Kind.TOPIC)


@pytest.mark.parametrize(
    ("denied", "named", "error"),
    [
        (Kind.TOPIC, {"topic": "t"}, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (Kind.TRANSACTIONAL_ID, {"transactional_id": "x"}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (Kind.TOPIC, {"transactional_id": "x"}, ErrorCode.NONE),
        (None, {"topic": "t", "transactional_id": "x"}, ErrorCode.NONE),
    ],
)
def test_the_error_is_that_of_the_resource_that_is_denied(
    denied: Kind | None, named: dict[str, str], error: ErrorCode
) -> None:
    assert denial(lambda _, kind, name: kind != denied, "Produce", **named) == error
    assert denial(lambda _, kind, name: False, "ApiVersions", **named) == ErrorCode.NONE
