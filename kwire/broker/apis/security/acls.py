"""DescribeAcls, CreateAcls and DeleteAcls (KIP-140)."""

from __future__ import annotations

from .... import messages
from ....values import AclOperation, ErrorCode, ResourceType
from ...api import ServedApi
from ...request_context import RequestContext
from ...security.acls import ALLOW, ANY, DENY, LITERAL, PREFIXED, UNKNOWN, AclBinding, AclBindingFilter, acl_of
from ...security.api_permissions import CLUSTER_NAME

MOST_ACLS = 100_000
NO_AUTHORIZER = "No Authorizer is configured."


def describe_acls(request: RequestContext[messages.DescribeAclsRequest]) -> messages.DescribeAclsResponse:
    """Handle DescribeAcls."""
    response = messages.DescribeAclsResponse
    authorizer = request.cluster.authorizer
    if authorizer is None:
        message = "No Authorizer is configured on the broker"
        return response(error_code=ErrorCode.SECURITY_DISABLED, error_message=message)
    wanted = _acl_filter(request.message)
    if problem := _filter_problem(wanted):
        return response(error_code=ErrorCode.INVALID_REQUEST, error_message=problem)
    by_pattern: dict[tuple[int, str, int], list[AclBinding]] = {}
    for acl in authorizer.matching(wanted):
        by_pattern.setdefault(acl[:3], []).append(acl)
    resources = tuple(
        response.DescribeAclsResource(
            resource_type=kind,
            resource_name=name,
            pattern_type=pattern,
            acls=tuple(
                response.AclDescription(
                    principal=row.principal, host=row.host, operation=row.operation, permission_type=row.permission
                )
                for row in rows
            ),
        )
        for (kind, name, pattern), rows in by_pattern.items()
    )
    return response(error_message=None, resources=resources)


def _acl_filter(row: messages.DeleteAclsRequest.DeleteAclsFilter | messages.DescribeAclsRequest) -> AclBindingFilter:
    names = row.resource_type_filter, row.resource_name_filter, row.pattern_type_filter
    return AclBindingFilter(*names, row.principal_filter, row.host_filter, row.operation, row.permission_type)


def _filter_problem(wanted: AclBindingFilter) -> str:
    kinds = wanted.resource_type, wanted.pattern_type, wanted.operation, wanted.permission
    return "The filter has an unknown element." if UNKNOWN in kinds else ""


def create_acls(request: RequestContext[messages.CreateAclsRequest]) -> messages.CreateAclsResponse:
    """Handle CreateAcls."""
    # Kafka: AclControlManager.createAcls
    row = messages.CreateAclsResponse.AclCreationResult
    rows = []
    refused = request.error()
    for creation in request.message.creations:
        if request.cluster.authorizer is None:
            rows.append(row(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER))
            continue
        acl = acl_of(creation)
        problem = _acl_problem(request, acl)
        if refused or problem:
            invalid = {"error_code": ErrorCode.INVALID_REQUEST, "error_message": problem}
            rows.append(row(**request.describe_denial(refused) if refused else invalid))
            continue
        request.cluster.controller.add_acl(acl)
        rows.append(row(error_message=None))
    return messages.CreateAclsResponse(results=tuple(rows))


def _acl_problem(request: RequestContext[messages.CreateAclsRequest], acl: AclBinding) -> str:
    """Return why an ACL is invalid; the empty string if it is valid."""
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
    return f"the limit of {MOST_ACLS} ACLs is reached" if is_full else ""


def delete_acls(request: RequestContext[messages.DeleteAclsRequest]) -> messages.DeleteAclsResponse:
    """Handle DeleteAcls."""
    # Kafka: AclControlManager.deleteAcls
    response = messages.DeleteAclsResponse
    authorizer = request.cluster.authorizer
    rows = []
    refused = request.error()
    for acl_filter in request.message.filters:
        row = response.DeleteAclsFilterResult
        wanted = _acl_filter(acl_filter)
        if authorizer is None:
            rows.append(row(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER))
        elif refused:
            rows.append(row(**request.describe_denial(refused)))
        elif problem := _filter_problem(wanted):
            rows.append(row(error_code=ErrorCode.INVALID_REQUEST, error_message=problem))
        else:
            matching = authorizer.matching(wanted)
            for acl in matching:
                request.cluster.controller.remove_acl(acl)
            rows.append(row(error_message=None, matching_acls=tuple(map(_make_deleted_acl, matching))))
    return response(filter_results=tuple(rows))


def _make_deleted_acl(acl: AclBinding) -> messages.DeleteAclsResponse.DeleteAclsMatchingAcl:
    fields = acl._asdict()
    fields["permission_type"] = fields.pop("permission")
    return messages.DeleteAclsResponse.DeleteAclsMatchingAcl(error_message=None, **fields)


APIS = {  # what each version has changed
    # 1: patterns of names (KIP-290)
    # 2: flexible (KIP-482)
    # 3: users as resources (KIP-373)
    "DescribeAcls": ServedApi(1, 3, describe_acls),
    # as DescribeAcls
    "CreateAcls": ServedApi(1, 3, create_acls),
    # as DescribeAcls
    "DeleteAcls": ServedApi(1, 3, delete_acls),
}
