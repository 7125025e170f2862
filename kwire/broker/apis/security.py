"""SaslHandshake and SaslAuthenticate (KIP-43, KIP-152, KIP-368); SCRAM credentials (KIP-554); ACLs; delegation tokens.

This module handles requests and responses only: `kwire.broker.authentication_and_acls` has the SASL and SCRAM exchanges
and evaluates ACLs. Delegation tokens are refused, as by a Kafka broker without a secret key for them; ACLs are refused
if there is no authorizer.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ... import messages
from ...values import AclOperation, ErrorCode, ResourceType
from ..authentication_and_acls import (
    ALLOW,
    ANY,
    CLUSTER_NAME,
    DENY,
    LEAST_ITERATIONS,
    LITERAL,
    MOST_ACLS,
    MOST_ITERATIONS,
    MOST_USERS,
    PREFIXED,
    SCRAM,
    UNKNOWN,
    Acl,
    AuthenticationFailed,
    Credential,
    Filter,
    acl_of,
)
from ..cluster_state import RequestContext

TOO_LATE = "SaslAuthenticate request received after successful authentication"
NUMBERS = {name: number for number, name in SCRAM.items()}
NO_AUTHORIZER = "No Authorizer is configured."


def sasl_handshake(request: RequestContext) -> Any:
    """Handle SaslHandshake."""
    response, session = messages.SaslHandshakeResponse, request.session
    if session is None or not session.may_begin or session.is_under_way:
        return response(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    known = session.handshake(request.message.mechanism, request.version)
    code = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
    return response(error_code=code, mechanisms=tuple(session.mechanisms))


def sasl_authenticate(request: RequestContext) -> Any:
    """Handle SaslAuthenticate."""
    response, session = messages.SaslAuthenticateResponse, request.session
    if session is None or not session.is_under_way:
        if session is not None and not session.is_authenticated:
            session.has_failed = True
        return response(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=TOO_LATE)
    try:
        answer = session.authenticate(bytes(request.message.auth_bytes), request.now)
    except AuthenticationFailed as error:
        return response(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=str(error))
    lifetime = session.lifetime_ms(request.now)
    return response(error_message="", auth_bytes=answer, session_lifetime_ms=lifetime)


def describe_user_scram_credentials(request: RequestContext) -> Any:
    """Handle DescribeUserScramCredentials."""
    response, scram = messages.DescribeUserScramCredentialsResponse, request.cluster.controller.users.scram
    asked = request.message.users
    names = [one.name for one in asked] if asked else sorted({name for name, _ in scram})
    rows = (_scram_row(request, name, count) for name, count in Counter(names).items())
    return response(error_message=None, results=tuple(rows))


def _scram_row(request: RequestContext, name: str, count: int) -> Any:
    response, scram = messages.DescribeUserScramCredentialsResponse, request.cluster.controller.users.scram
    row = response.DescribeUserScramCredentialsResult
    if count > 1:
        twice = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        return row(user=name, error_code=ErrorCode.DUPLICATE_RESOURCE, error_message=twice)
    infos = tuple(
        response.CredentialInfo(mechanism=NUMBERS[mechanism], iterations=one.iterations)
        for (user, mechanism), one in sorted(scram.items(), key=lambda item: item[0])
        if user == name
    )
    if not infos:
        missing = f"Attempt to describe a user credential that does not exist: {name}"
        return row(user=name, error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message=missing)
    return row(user=name, error_message=None, credential_infos=infos)


def alter_user_scram_credentials(request: RequestContext) -> Any:
    """Handle AlterUserScramCredentials: make all changes of a user, or none."""
    response, asked = messages.AlterUserScramCredentialsResponse, request.message
    row = response.AlterUserScramCredentialsResult
    changes = [*asked.deletions, *asked.upsertions]
    names = list(dict.fromkeys(one.name for one in changes))
    refused = request.error()
    rows = []
    for name in names:
        own = [one for one in changes if one.name == name]
        code = refused or next((code for one in own if (code := _scram_problem(request, one))), ErrorCode.NONE)
        if len(own) > 1:
            code = ErrorCode.DUPLICATE_RESOURCE
        if code:
            rows.append(row(user=name, **request.denied(code)))
            continue
        for one in own:
            _change_scram(request, one)
        rows.append(row(user=name, error_message=None))
    return response(results=tuple(rows))


def _scram_problem(request: RequestContext, change: Any) -> int:
    """Return the error code if a change is invalid; 0 if it is valid."""
    users = request.cluster.controller.users
    if not change.name:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL
    if change.mechanism not in SCRAM:
        return ErrorCode.UNSUPPORTED_SASL_MECHANISM
    if not hasattr(change, "salted_password"):
        is_there = (change.name, SCRAM[change.mechanism]) in users.scram
        return ErrorCode.NONE if is_there else ErrorCode.RESOURCE_NOT_FOUND
    is_right = LEAST_ITERATIONS <= change.iterations <= MOST_ITERATIONS and change.salt and change.salted_password
    return ErrorCode.NONE if is_right and len(users.scram) < MOST_USERS else ErrorCode.UNACCEPTABLE_CREDENTIAL


def _change_scram(request: RequestContext, change: Any) -> None:
    key, credential = (change.name, SCRAM[change.mechanism]), None
    if hasattr(change, "salted_password"):
        salted, salt = bytes(change.salted_password), bytes(change.salt)
        credential = Credential.of(key[1], salted, salt, change.iterations)
    request.cluster.controller.set_credential(*key, credential)


def describe_acls(request: RequestContext) -> Any:
    """Handle DescribeAcls."""
    response, authorizer = messages.DescribeAclsResponse, request.cluster.authorizer
    if authorizer is None:
        message = "No Authorizer is configured on the broker"
        return response(error_code=ErrorCode.SECURITY_DISABLED, error_message=message)
    wanted = _acl_filter(request.message)
    if problem := _filter_problem(wanted):
        return response(error_code=ErrorCode.INVALID_REQUEST, error_message=problem)
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


def _acl_filter(row: Any) -> Filter:
    names = row.resource_type_filter, row.resource_name_filter, row.pattern_type_filter
    return Filter(*names, row.principal_filter, row.host_filter, row.operation, row.permission_type)


def _filter_problem(wanted: Filter) -> str:
    kinds = wanted.resource_type, wanted.pattern_type, wanted.operation, wanted.permission
    return "The filter has an unknown element." if UNKNOWN in kinds else ""


def create_acls(request: RequestContext) -> Any:
    """Handle CreateAcls."""
    row, rows = messages.CreateAclsResponse.AclCreationResult, []
    refused = request.error()
    for creation in request.message.creations:
        if request.cluster.authorizer is None:
            rows.append(row(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER))
            continue
        acl = acl_of(creation)
        problem = _acl_problem(request, acl)
        if refused or problem:
            invalid = {"error_code": ErrorCode.INVALID_REQUEST, "error_message": problem}
            rows.append(row(**request.denied(refused) if refused else invalid))
            continue
        request.cluster.controller.add_acl(acl)
        rows.append(row(error_message=None))
    return messages.CreateAclsResponse(results=tuple(rows))


def _acl_problem(request: RequestContext, acl: Acl) -> str:
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


def delete_acls(request: RequestContext) -> Any:
    """Handle DeleteAcls."""
    response, authorizer = messages.DeleteAclsResponse, request.cluster.authorizer
    rows, refused = [], request.error()
    for one in request.message.filters:
        row, wanted = response.DeleteAclsFilterResult, _acl_filter(one)
        if authorizer is None:
            rows.append(row(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER))
        elif refused:
            rows.append(row(**request.denied(refused)))
        elif problem := _filter_problem(wanted):
            rows.append(row(error_code=ErrorCode.INVALID_REQUEST, error_message=problem))
        else:
            matching = authorizer.matching(wanted)
            for acl in matching:
                request.cluster.controller.remove_acl(acl)
            rows.append(row(error_message=None, matching_acls=tuple(map(_deleted_acl, matching))))
    return response(filter_results=tuple(rows))


def _deleted_acl(acl: Acl) -> Any:
    fields = acl._asdict()
    fields["permission_type"] = fields.pop("permission")
    return messages.DeleteAclsResponse.DeleteAclsMatchingAcl(error_message=None, **fields)


def create_delegation_token(request: RequestContext) -> Any:
    """Handle CreateDelegationToken: refuse the request, as Kafka does for unauthenticated clients."""
    return messages.CreateDelegationTokenResponse(
        error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        principal_type="User",
        principal_name="ANONYMOUS",
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )


def renew_delegation_token(request: RequestContext) -> Any:
    """Handle RenewDelegationToken: refuse the request, as Kafka does for unauthenticated clients."""
    code = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return messages.RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1)


def expire_delegation_token(request: RequestContext) -> Any:
    """Handle ExpireDelegationToken: refuse the request, as Kafka does for unauthenticated clients."""
    code = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return messages.ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1)


def describe_delegation_token(request: RequestContext) -> Any:
    """Handle DescribeDelegationToken: refuse the request, as Kafka does for unauthenticated clients."""
    return messages.DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
