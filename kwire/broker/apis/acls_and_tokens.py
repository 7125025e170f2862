"""DescribeAcls, CreateAcls, DeleteAcls, delegation tokens and client quotas.

As with a Kafka that has no secret for tokens, these are refused; so are ACLs where there is no authorizer.
"""

from __future__ import annotations

from typing import Any

from ... import messages
from ...values import AclOperation, ErrorCode, ResourceType
from .. import codes
from ..authorizer import (
    ALLOW,
    ANY,
    CLUSTER_NAME,
    DENY,
    LITERAL,
    MOST_ACLS,
    PREFIXED,
    UNKNOWN,
    Acl,
    Filter,
    acl_of,
    denied,
)
from ..cluster import RequestContext
from ..quotas import CLIENT, KEYS, MOST_QUOTAS, USER, Entity

NO_AUTHORIZER = "No Authorizer is configured."
EXACT, DEFAULT = 0, 1  # how a component of a filter matches


def describe_acls(request: RequestContext) -> Any:
    """Answer DescribeAcls."""
    response, authorizer = messages.DescribeAclsResponse, request.cluster.authorizer
    if authorizer is None:
        message = "No Authorizer is configured on the broker"
        return response(error_code=codes.SECURITY_DISABLED, error_message=message)
    wanted = _filter(request.message)
    if problem := _filter_problem(wanted):
        return response(error_code=codes.INVALID_REQUEST, error_message=problem)
    found: dict[tuple[Any, ...], list[Acl]] = {}
    for acl in authorizer.matching(wanted):
        found.setdefault(acl[:3], []).append(acl)
    resources = tuple(
        response.DescribeAclsResource(
            resource_type=kind,
            resource_name=name,
            pattern_type=pattern,
            acls=tuple(
                response.AclDescription(
                    principal=one.principal, host=one.host, operation=one.operation, permission_type=one.permission
                )
                for one in rows
            ),
        )
        for (kind, name, pattern), rows in found.items()
    )
    return response(error_message=None, resources=resources)


def _filter(row: Any) -> Filter:
    names = row.resource_type_filter, row.resource_name_filter, row.pattern_type_filter
    return Filter(*names, row.principal_filter, row.host_filter, row.operation, row.permission_type)


def _filter_problem(wanted: Filter) -> str:
    kinds = wanted.resource_type, wanted.pattern_type, wanted.operation, wanted.permission
    return "The filter has an unknown element." if UNKNOWN in kinds else ""


def create_acls(request: RequestContext) -> Any:
    """Answer CreateAcls."""
    row, rows = messages.CreateAclsResponse.AclCreationResult, []
    refused = request.error()
    for creation in request.message.creations:
        if request.cluster.authorizer is None:
            rows.append(row(error_code=codes.SECURITY_DISABLED, error_message=NO_AUTHORIZER))
            continue
        acl = acl_of(creation)
        problem = _acl_problem(request, acl)
        if refused or problem:
            rows.append(
                row(**denied(refused)) if refused else row(error_code=codes.INVALID_REQUEST, error_message=problem)
            )
            continue
        request.cluster.controller.add_acl(acl)
        rows.append(row(error_message=None))
    return messages.CreateAclsResponse(results=tuple(rows))


def _acl_problem(request: RequestContext, acl: Acl) -> str:
    """Return why an ACL is invalid; empty if it is valid."""
    if acl.resource_type == ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not acl.resource_name:
        return "Invalid empty resource name"
    if acl.resource_type in (UNKNOWN, ANY) or not ResourceType(acl.resource_type).name:
        return f"Invalid resourceType {acl.resource_type}"
    if acl.pattern_type not in (LITERAL, PREFIXED):
        return f"Invalid patternType {acl.pattern_type}"
    if acl.operation in (UNKNOWN, ANY) or not AclOperation(acl.operation).name:
        return f"Invalid operation {acl.operation}"
    if acl.permission not in (ALLOW, DENY):
        return f"Invalid permissionType {acl.permission}"
    if not all(acl.principal.partition(":")[::2]):
        return (
            f"Could not parse principal from `{acl.principal}` (no colon is present separating the type and the name)"
        )
    is_full = len(request.cluster.controller.acls) >= MOST_ACLS
    return f"there are {MOST_ACLS} ACLs already" if is_full else ""


def delete_acls(request: RequestContext) -> Any:
    """Answer DeleteAcls."""
    response, authorizer = messages.DeleteAclsResponse, request.cluster.authorizer
    rows, refused = [], request.error()
    for one in request.message.filters:
        row, wanted = response.DeleteAclsFilterResult, _filter(one)
        if authorizer is None:
            rows.append(row(error_code=codes.SECURITY_DISABLED, error_message=NO_AUTHORIZER))
        elif refused:
            rows.append(row(**denied(refused)))
        elif problem := _filter_problem(wanted):
            rows.append(row(error_code=codes.INVALID_REQUEST, error_message=problem))
        else:
            matching = authorizer.matching(wanted)
            for acl in matching:
                request.cluster.controller.remove_acl(acl)
            rows.append(row(error_message=None, matching_acls=tuple(map(_deleted, matching))))
    return response(filter_results=tuple(rows))


def _deleted(acl: Acl) -> Any:
    fields = acl._asdict()
    fields["permission_type"] = fields.pop("permission")
    return messages.DeleteAclsResponse.DeleteAclsMatchingAcl(error_message=None, **fields)


def create_delegation_token(request: RequestContext) -> Any:
    """Answer CreateDelegationToken: only who authenticated gets one."""
    return messages.CreateDelegationTokenResponse(
        error_code=codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        principal_type="User",
        principal_name="ANONYMOUS",
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )


def renew_delegation_token(request: RequestContext) -> Any:
    """Answer RenewDelegationToken: only who authenticated may."""
    code = codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return messages.RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1)


def expire_delegation_token(request: RequestContext) -> Any:
    """Answer ExpireDelegationToken: only who authenticated may."""
    code = codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return messages.ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1)


def describe_delegation_token(request: RequestContext) -> Any:
    """Answer DescribeDelegationToken: only who authenticated may."""
    return messages.DescribeDelegationTokenResponse(error_code=codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def alter_client_quotas(request: RequestContext) -> Any:
    """Answer AlterClientQuotas."""
    response = messages.AlterClientQuotasResponse
    rows = []
    refused = request.error()
    for entry in request.message.entries:
        problem = ErrorCode(refused).about if refused else _quota_problem(request, entry)
        if not problem and not request.message.validate_only:
            _set(request, entry)
        entity = tuple(
            response.EntityData(entity_type=one.entity_type, entity_name=one.entity_name) for one in entry.entity
        )
        code = refused or (codes.INVALID_REQUEST if problem else codes.NONE)
        rows.append(response.EntryData(error_code=code, error_message=problem or None, entity=entity))
    return response(entries=tuple(rows))


def _entity(entry: Any) -> Entity:
    return frozenset((one.entity_type, one.entity_name) for one in entry.entity)


def _quota_problem(request: RequestContext, entry: Any) -> str:
    kinds = [one.entity_type for one in entry.entity]
    if not kinds or len(set(kinds)) < len(kinds) or not set(kinds) <= {USER, CLIENT}:
        return f"an entity is a {USER}, a {CLIENT}, or both; this is {kinds}"
    if any(one.entity_name == "" for one in entry.entity):
        return "a name is empty"
    if unknown := [op.key for op in entry.ops if op.key not in KEYS]:
        return f"there is no quota {unknown[0]!r}"
    if len(request.cluster.quotas.values) >= MOST_QUOTAS:
        return f"there are {MOST_QUOTAS} quotas already"
    is_right = all(op.remove or op.value > 0 for op in entry.ops)
    return "" if is_right else "a quota is above 0"


def _set(request: RequestContext, entry: Any) -> None:
    for op in entry.ops:
        request.cluster.controller.set_quota(_entity(entry), op.key, None if op.remove else op.value)


def describe_client_quotas(request: RequestContext) -> Any:
    """Answer DescribeClientQuotas."""
    response, asked = messages.DescribeClientQuotasResponse, request.message
    kinds = [one.entity_type for one in asked.components]
    if len(set(kinds)) < len(kinds):
        return response(error_code=codes.INVALID_REQUEST, error_message="a kind of entity is there twice", entries=None)
    if not set(kinds) <= {USER, CLIENT, "ip"}:
        message = f"entities are {USER} and {CLIENT}"
        return response(error_code=codes.UNSUPPORTED_VERSION, error_message=message, entries=None)
    rows = []
    for entity, values in request.cluster.quotas.values.items():
        if all(_matches(dict(entity), one) for one in asked.components) and (
            not asked.strict or len(entity) == len(kinds)
        ):
            names = tuple(
                response.EntityData(entity_type=kind, entity_name=name)
                for kind, name in sorted(entity, key=lambda one: one[0])
            )
            found = tuple(response.ValueData(key=key, value=value) for key, value in sorted(values.items()))
            rows.append(response.EntryData(entity=names, values=found))
    return response(error_message=None, entries=tuple(rows))


def _matches(entity: dict[str, str | None], component: Any) -> bool:
    if component.entity_type not in entity:
        return False
    name = entity[component.entity_type]
    if component.match_type == EXACT:
        return name is not None and name == component.match
    return name is None if component.match_type == DEFAULT else True
