"""DescribeUserScramCredentials and AlterUserScramCredentials (KIP-554)."""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias, Union

from .... import messages
from ....protocol.sasl.mechanisms import LEAST_ITERATIONS, MOST_ITERATIONS, SCRAM
from ....protocol.sasl.scram_credentials import ScramCredential
from ....values import ErrorCode
from ...api import ServedApi
from ...request_context import RequestContext

ScramChange: TypeAlias = Union[
    "messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion",
    "messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion",
]
MOST_USERS = 10_000
NUMBERS = {name: number for number, name in SCRAM.items()}


def describe_user_scram_credentials(
    request: RequestContext[messages.DescribeUserScramCredentialsRequest],
) -> messages.DescribeUserScramCredentialsResponse:
    """Handle DescribeUserScramCredentials."""
    response = messages.DescribeUserScramCredentialsResponse
    scram = request.cluster.controller.users.scram
    users = request.message.users
    names = [user.name for user in users] if users else sorted({name for name, _ in scram})
    rows = (_scram_row(request, name, count) for name, count in Counter(names).items())
    return response(error_message=None, results=tuple(rows))


def _scram_row(
    request: RequestContext[messages.DescribeUserScramCredentialsRequest], name: str, count: int
) -> messages.DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult:
    response = messages.DescribeUserScramCredentialsResponse
    scram = request.cluster.controller.users.scram
    row = response.DescribeUserScramCredentialsResult
    if count > 1:
        twice = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        return row(user=name, error_code=ErrorCode.DUPLICATE_RESOURCE, error_message=twice)
    infos = tuple(
        response.CredentialInfo(mechanism=NUMBERS[mechanism], iterations=credential.iterations)
        for (user, mechanism), credential in sorted(scram.items(), key=lambda item: item[0])
        if user == name
    )
    if not infos:
        missing = f"Attempt to describe a user credential that does not exist: {name}"
        return row(user=name, error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message=missing)
    return row(user=name, error_message=None, credential_infos=infos)


def alter_user_scram_credentials(
    request: RequestContext[messages.AlterUserScramCredentialsRequest],
) -> messages.AlterUserScramCredentialsResponse:
    """Handle AlterUserScramCredentials: make all changes of a user, or none."""
    # Kafka: ScramControlManager.alterCredentials
    response = messages.AlterUserScramCredentialsResponse
    message = request.message
    row = response.AlterUserScramCredentialsResult
    changes: list[ScramChange] = [*message.deletions, *message.upsertions]
    names = list(dict.fromkeys(change.name for change in changes))
    refused = request.error()
    rows = []
    for name in names:
        own = [change for change in changes if change.name == name]
        code = refused or next(
            (code for alteration in own if (code := _scram_problem(request, alteration))), ErrorCode.NONE
        )
        if len(own) > 1:
            code = ErrorCode.DUPLICATE_RESOURCE
        if code:
            rows.append(row(user=name, **request.describe_denial(code)))
            continue
        for alteration in own:
            _change_scram(request, alteration)
        rows.append(row(user=name, error_message=None))
    return response(results=tuple(rows))


def _scram_problem(request: RequestContext[messages.AlterUserScramCredentialsRequest], change: ScramChange) -> int:
    """Return the error code if a change is invalid; 0 if it is valid."""
    users = request.cluster.controller.users
    if not change.name:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL
    if change.mechanism not in SCRAM:
        return ErrorCode.UNSUPPORTED_SASL_MECHANISM
    if isinstance(change, messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion):
        is_there = (change.name, SCRAM[change.mechanism]) in users.scram
        return ErrorCode.NONE if is_there else ErrorCode.RESOURCE_NOT_FOUND
    is_right = LEAST_ITERATIONS <= change.iterations <= MOST_ITERATIONS and change.salt and change.salted_password
    return ErrorCode.NONE if is_right and len(users.scram) < MOST_USERS else ErrorCode.UNACCEPTABLE_CREDENTIAL


def _change_scram(request: RequestContext[messages.AlterUserScramCredentialsRequest], change: ScramChange) -> None:
    key = (change.name, SCRAM[change.mechanism])
    credential = None
    if isinstance(change, messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion):
        salted = bytes(change.salted_password)
        salt = bytes(change.salt)
        credential = ScramCredential.of(key[1], salted, salt, change.iterations)
    request.cluster.controller.set_credential(*key, credential)


APIS = {
    "DescribeUserScramCredentials": ServedApi(0, 0, describe_user_scram_credentials),
    "AlterUserScramCredentials": ServedApi(0, 0, alter_user_scram_credentials),
}
