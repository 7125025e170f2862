"""DescribeClientQuotas and AlterClientQuotas (KIP-546); `client_quota_manager` applies them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from ipaddress import ip_address

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...client_quota_manager import CLIENT, IP, IP_KEYS, KEYS, MOST_QUOTAS, USER, WHOLE, QuotaEntity
from ...request_context import RequestContext

EXACT, DEFAULT, ANY = 0, 1, 2  # how a component of a quota filter matches


def alter_client_quotas(
    request: RequestContext[messages.AlterClientQuotasRequest],
) -> messages.AlterClientQuotasResponse:
    """Handle AlterClientQuotas."""
    # Kafka: ClientQuotaControlManager.alterClientQuotas
    response = messages.AlterClientQuotasResponse
    refused = request.error()
    counts = Counter(map(_entity, request.message.entries))
    entries = {_entity(entry): entry for entry in request.message.entries}
    rows = []
    for names, entry in entries.items():
        if refused:
            problem = request.describe_denial(refused)["error_message"]
        else:
            problem = "an entity is in the request twice" if counts[names] > 1 else _quota_problem(request, entry)
        if not problem and not request.message.validate_only:
            _set_quotas(request, entry)
        entity = tuple(response.EntityData(entity_type=kind, entity_name=name) for kind, name in _unique_names(entry))
        code = refused or (ErrorCode.INVALID_REQUEST if problem else ErrorCode.NONE)
        rows.append(response.EntryData(error_code=code, error_message=problem or None, entity=entity))
    return response(entries=tuple(rows))


def _unique_names(entry: messages.AlterClientQuotasRequest.EntryData) -> list[tuple[str, str | None]]:
    return list({entity.entity_type: entity.entity_name for entity in entry.entity}.items())


def _entity(entry: messages.AlterClientQuotasRequest.EntryData) -> QuotaEntity:
    return frozenset(_unique_names(entry))


def _quota_problem(
    request: RequestContext[messages.AlterClientQuotasRequest], entry: messages.AlterClientQuotasRequest.EntryData
) -> str:
    # Kafka: ClientQuotaControlManager.validateEntity, validateQuotaKeyValue
    if problem := _entity_problem(dict(_unique_names(entry))):
        return problem
    keys = [op.key for op in entry.ops]
    if len(set(keys)) < len(keys):
        return "a quota is in an entry twice"
    known = IP_KEYS if any(entity.entity_type == IP for entity in entry.entity) else KEYS
    if unknown := [key for key in keys if key not in known]:
        return f"unknown quota {unknown[0]!r}"
    if len(request.cluster.quotas.values) >= MOST_QUOTAS:
        return f"the limit of {MOST_QUOTAS} quotas is reached"
    return next(filter(None, map(_value_problem, entry.ops)), "")


def _value_problem(op: messages.AlterClientQuotasRequest.OpData) -> str:
    if op.remove:
        return ""
    if not op.value > 0:
        return "a quota must be positive"
    return f"{op.key} must be a whole number" if op.key in WHOLE and not float(op.value).is_integer() else ""


def _entity_problem(names: Mapping[str, str | None]) -> str:
    kinds = set(names)
    if not kinds or not (kinds <= {USER, CLIENT} or kinds == {IP}):
        return f"an entity must have a {USER}, a {CLIENT} or both, or an {IP}, not {sorted(kinds)}"
    if "" in names.values():
        return "an entity name is empty"
    if IP in kinds and names[IP] is not None and not _is_address(names[IP] or ""):
        return f"{names[IP]!r} is no address"
    return ""


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


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
    body = request.message
    kinds = [component.entity_type for component in body.components]
    if problem := _filter_problem(body.components):
        return response(error_code=ErrorCode.INVALID_REQUEST, error_message=problem, entries=None)
    if not set(kinds) <= {USER, CLIENT, IP}:
        message = f"an entity type must be {USER}, {CLIENT} or {IP}"
        return response(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=message, entries=None)
    rows = []
    for entity, values in request.cluster.quotas.values.items():
        if all(_matches(dict(entity), component) for component in body.components) and (
            not body.strict or len(entity) == len(kinds)
        ):
            names = tuple(
                response.EntityData(entity_type=kind, entity_name=name)
                for kind, name in sorted(entity, key=lambda pair: pair[0])
            )
            data = tuple(response.ValueData(key=key, value=value) for key, value in sorted(values.items()))
            rows.append(response.EntryData(entity=names, values=data))
    return response(error_message=None, entries=tuple(rows))


def _filter_problem(components: Sequence[messages.DescribeClientQuotasRequest.ComponentData]) -> str:
    # Kafka: ClientQuotasImage.describe
    kinds = [component.entity_type for component in components]
    if len(set(kinds)) < len(kinds):
        return "the filter has an entity type twice"
    if "" in kinds:
        return "an entity type is empty"
    if IP in kinds and len(kinds) > 1:
        return f"an {IP} cannot be combined with other entity types"
    for component in components:
        if component.match_type not in (EXACT, DEFAULT, ANY):
            return f"there is no match type {component.match_type}"
        if (component.match is None) == (component.match_type == EXACT):
            return "an exact match needs a name, and others must not have one"
    return ""


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
