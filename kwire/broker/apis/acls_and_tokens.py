"""DescribeAcls, CreateAcls, DeleteAcls, delegation tokens and client quotas, on brokers that authenticate nobody.

As with a Kafka that has no authorizer and no secret for tokens, ACLs and tokens are refused; quotas hold.
"""

from __future__ import annotations

from typing import Any

from ... import messages
from .. import codes
from ..cluster import RequestContext
from ..quotas import CLIENT, KEYS, MOST_QUOTAS, USER, Entity

NO_AUTHORIZER = "No Authorizer is configured."
EXACT, DEFAULT, ANY = 0, 1, 2  # how a component of a filter matches


def describe_acls(request: RequestContext) -> Any:
    """Answer DescribeAcls: there is no authorizer."""
    message = "No Authorizer is configured on the broker"
    return messages.DescribeAclsResponse(error_code=codes.SECURITY_DISABLED, error_message=message)


def create_acls(request: RequestContext) -> Any:
    """Answer CreateAcls: there is no authorizer."""
    row = messages.CreateAclsResponse.AclCreationResult
    refused = row(error_code=codes.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    return messages.CreateAclsResponse(results=(refused,) * len(request.message.creations))


def delete_acls(request: RequestContext) -> Any:
    """Answer DeleteAcls: there is no authorizer."""
    row = messages.DeleteAclsResponse.DeleteAclsFilterResult
    refused = row(error_code=codes.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    return messages.DeleteAclsResponse(filter_results=(refused,) * len(request.message.filters))


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
    for entry in request.message.entries:
        problem = _quota_problem(request, entry)
        if not problem and not request.message.validate_only:
            _set(request, entry)
        entity = tuple(
            response.EntityData(entity_type=one.entity_type, entity_name=one.entity_name) for one in entry.entity
        )
        code = codes.INVALID_REQUEST if problem else codes.NONE
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
    values = request.cluster.quotas.values
    own = dict(values.get(_entity(entry), {}))
    for op in entry.ops:
        if op.remove:
            own.pop(op.key, None)
        else:
            own[op.key] = op.value
    values.pop(_entity(entry), None)
    if own:
        values[_entity(entry)] = own


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
