"""SaslHandshake and SaslAuthenticate (KIP-43, KIP-152, KIP-368); credentials for SCRAM (KIP-554)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ... import messages
from .. import codes
from ..authentication import LEAST_ITERATIONS, MOST_ITERATIONS, MOST_USERS, SCRAM, AuthenticationFailed, Credential
from ..authorizer import denied
from ..cluster import RequestContext

TOO_LATE = "SaslAuthenticate request received after successful authentication"
NUMBERS = {name: number for number, name in SCRAM.items()}


def sasl_handshake(request: RequestContext) -> Any:
    """Answer SaslHandshake."""
    response, session = messages.SaslHandshakeResponse, request.session
    if session is None or not session.may_begin or session.is_under_way:
        return response(error_code=codes.ILLEGAL_SASL_STATE)
    known = session.handshake(request.message.mechanism, request.version)
    code = codes.NONE if known else codes.UNSUPPORTED_SASL_MECHANISM
    return response(error_code=code, mechanisms=tuple(session.mechanisms))


def sasl_authenticate(request: RequestContext) -> Any:
    """Answer SaslAuthenticate."""
    response, session = messages.SaslAuthenticateResponse, request.session
    if session is None or not session.is_under_way:
        if session is not None and not session.is_authenticated:
            session.has_failed = True
        return response(error_code=codes.ILLEGAL_SASL_STATE, error_message=TOO_LATE)
    try:
        answer = session.authenticate(bytes(request.message.auth_bytes), request.now)
    except AuthenticationFailed as error:
        return response(error_code=codes.SASL_AUTHENTICATION_FAILED, error_message=str(error))
    lifetime = session.lifetime_ms(request.now)
    return response(error_message="", auth_bytes=answer, session_lifetime_ms=lifetime)


def describe_user_scram_credentials(request: RequestContext) -> Any:
    """Answer DescribeUserScramCredentials."""
    response, scram = messages.DescribeUserScramCredentialsResponse, request.cluster.controller.users.scram
    asked = request.message.users
    names = [one.name for one in asked] if asked else sorted({name for name, _ in scram})
    rows = (_described(request, name, count) for name, count in Counter(names).items())
    return response(error_message=None, results=tuple(rows))


def _described(request: RequestContext, name: str, count: int) -> Any:
    response, scram = messages.DescribeUserScramCredentialsResponse, request.cluster.controller.users.scram
    row = response.DescribeUserScramCredentialsResult
    if count > 1:
        twice = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        return row(user=name, error_code=codes.DUPLICATE_RESOURCE, error_message=twice)
    infos = tuple(
        response.CredentialInfo(mechanism=NUMBERS[mechanism], iterations=one.iterations)
        for (user, mechanism), one in sorted(scram.items(), key=lambda item: item[0])
        if user == name
    )
    if not infos:
        missing = f"Attempt to describe a user credential that does not exist: {name}"
        return row(user=name, error_code=codes.RESOURCE_NOT_FOUND, error_message=missing)
    return row(user=name, error_message=None, credential_infos=infos)


def alter_user_scram_credentials(request: RequestContext) -> Any:
    """Answer AlterUserScramCredentials: all changes of a user are made, or none."""
    response, asked = messages.AlterUserScramCredentialsResponse, request.message
    row = response.AlterUserScramCredentialsResult
    changes = [*asked.deletions, *asked.upsertions]
    names = list(dict.fromkeys(one.name for one in changes))
    refused = request.error()
    rows = []
    for name in names:
        own = [one for one in changes if one.name == name]
        code = refused or next((code for one in own if (code := _problem(request, one))), codes.NONE)
        if len(own) > 1:
            code = codes.DUPLICATE_RESOURCE
        if code:
            rows.append(row(user=name, **denied(code)))
            continue
        for one in own:
            _change(request, one)
        rows.append(row(user=name, error_message=None))
    return response(results=tuple(rows))


def _problem(request: RequestContext, change: Any) -> int:
    """Return the error code of a change that cannot be made; 0 if it can."""
    users = request.cluster.controller.users
    if not change.name:
        return codes.UNACCEPTABLE_CREDENTIAL
    if change.mechanism not in SCRAM:
        return codes.UNSUPPORTED_SASL_MECHANISM
    if not hasattr(change, "salted_password"):
        is_there = (change.name, SCRAM[change.mechanism]) in users.scram
        return codes.NONE if is_there else codes.RESOURCE_NOT_FOUND
    is_right = LEAST_ITERATIONS <= change.iterations <= MOST_ITERATIONS and change.salt and change.salted_password
    return codes.NONE if is_right and len(users.scram) < MOST_USERS else codes.UNACCEPTABLE_CREDENTIAL


def _change(request: RequestContext, change: Any) -> None:
    key, credential = (change.name, SCRAM[change.mechanism]), None
    if hasattr(change, "salted_password"):
        salted, salt = bytes(change.salted_password), bytes(change.salt)
        credential = Credential.of(key[1], salted, salt, change.iterations)
    request.cluster.controller.set_credential(*key, credential)
