"""DescribeClientQuotas and AlterClientQuotas (KIP-546); `client_quota_manager` applies them."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...client_quota_manager import CLIENT, KEYS, MOST_QUOTAS, USER, QuotaEntity
from ...request_context import RequestContext

EXACT, DEFAULT = 0, 1  # how a component of a quota filter matches


def alter_client_quotas(
    request: RequestContext[messages.AlterClientQuotasRequest],
) -> messages.AlterClientQuotasResponse:
    """Handle AlterClientQuotas."""
    # Kafka: ClientQuotaControlManager.alterClientQuotas
    response = messages.AlterClientQuotasResponse
    rows = []
    refused = request.error()
    for entry in request.message.entries:
        problem = request.describe_denial(refused)["error_message"] if refused else _quota_problem(request, entry)
        if not problem and not request.message.validate_only:
            _set_quotas(request, entry)
        entity = tuple(
            response.EntityData(entity_type=entity.entity_type, entity_name=entity.entity_name)
            for entity in entry.entity
        )
        code = refused or (ErrorCode.INVALID_REQUEST if problem else ErrorCode.NONE)
        rows.append(response.EntryData(error_code=code, error_message=problem or None, entity=entity))
    return response(entries=tuple(rows))


def _entity(entry: messages.AlterClientQuotasRequest.EntryData) -> QuotaEntity:
    return frozenset((entity.entity_type, entity.entity_name) for entity in entry.entity)


def _quota_problem(
    request: RequestContext[messages.AlterClientQuotasRequest], entry: messages.AlterClientQuotasRequest.EntryData
) -> str:
    kinds = [entity.entity_type for entity in entry.entity]
    if not kinds or len(set(kinds)) < len(kinds) or not set(kinds) <= {USER, CLIENT}:
        return f"an entity must have a {USER}, a {CLIENT} or both, not {kinds}"
    if any(entity.entity_name == "" for entity in entry.entity):
        return "an entity name is empty"
    if unknown := [op.key for op in entry.ops if op.key not in KEYS]:
        return f"unknown quota {unknown[0]!r}"
    if len(request.cluster.quotas.values) >= MOST_QUOTAS:
        return f"the limit of {MOST_QUOTAS} quotas is reached"
    is_right = all(op.remove or op.value > 0 for op in entry.ops)
    return "" if is_right else "a quota must be positive"


def _set_quotas(
    request: RequestContext[messages.AlterClientQuotasRequest], entry: messages.AlterClientQuotasRequest.EntryData
) -> None:
    for op in entry.ops:
        request.cluster.controller.set_quota(_entity(entry), op.key, None if op.remove else op.value)


def describe_client_quotas(
    request: RequestContext[messages.DescribeClientQuotasRequest],
) -> messages.DescribeClientQuotasResponse:
    """Handle DescribeClientQuotas."""
    response = messages.DescribeClientQuotasResponse
    asked = request.message
    kinds = [component.entity_type for component in asked.components]
    if len(set(kinds)) < len(kinds):
        return response(
            error_code=ErrorCode.INVALID_REQUEST, error_message="the filter has an entity type twice", entries=None
        )
    if not set(kinds) <= {USER, CLIENT, "ip"}:
        message = f"an entity type must be {USER} or {CLIENT}"
        return response(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=message, entries=None)
    rows = []
    for entity, values in request.cluster.quotas.values.items():
        if all(_matches(dict(entity), component) for component in asked.components) and (
            not asked.strict or len(entity) == len(kinds)
        ):
            names = tuple(
                response.EntityData(entity_type=kind, entity_name=name)
                for kind, name in sorted(entity, key=lambda one: one[0])
            )
            found = tuple(response.ValueData(key=key, value=value) for key, value in sorted(values.items()))
            rows.append(response.EntryData(entity=names, values=found))
    return response(error_message=None, entries=tuple(rows))


def _matches(entity: dict[str, str | None], component: messages.DescribeClientQuotasRequest.ComponentData) -> bool:
    if component.entity_type not in entity:
        return False
    name = entity[component.entity_type]
    if component.match_type == EXACT:
        return name is not None and name == component.match
    return name is None if component.match_type == DEFAULT else True


APIS = {  # what each version has changed
    # 1: flexible (KIP-482)
    "DescribeClientQuotas": ServedApi(0, 1, describe_client_quotas),
    # 1: flexible (KIP-482)
    "AlterClientQuotas": ServedApi(0, 1, alter_client_quotas),
}
