"""CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken and DescribeDelegationToken (KIP-48), which this
broker refuses.
"""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...request_context import RequestContext


def create_delegation_token(
    request: RequestContext[messages.CreateDelegationTokenRequest],
) -> messages.CreateDelegationTokenResponse:
    """Handle CreateDelegationToken: refuse the request, as Kafka does for unauthenticated clients."""
    return messages.CreateDelegationTokenResponse(
        error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        principal_type="User",
        principal_name="ANONYMOUS",
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )


def renew_delegation_token(
    request: RequestContext[messages.RenewDelegationTokenRequest],
) -> messages.RenewDelegationTokenResponse:
    """Handle RenewDelegationToken: refuse the request, as Kafka does for unauthenticated clients."""
    code = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return messages.RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1)


def expire_delegation_token(
    request: RequestContext[messages.ExpireDelegationTokenRequest],
) -> messages.ExpireDelegationTokenResponse:
    """Handle ExpireDelegationToken: refuse the request, as Kafka does for unauthenticated clients."""
    code = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return messages.ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1)


def describe_delegation_token(
    request: RequestContext[messages.DescribeDelegationTokenRequest],
) -> messages.DescribeDelegationTokenResponse:
    """Handle DescribeDelegationToken: refuse the request, as Kafka does for unauthenticated clients."""
    return messages.DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


APIS = {  # what each version has changed
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: flexible (KIP-482)
    # 3: owners that are not the requester (KIP-373)
    "CreateDelegationToken": ServedApi(1, 3, create_delegation_token),
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: flexible (KIP-482)
    "RenewDelegationToken": ServedApi(1, 2, renew_delegation_token),
    # as RenewDelegationToken
    "ExpireDelegationToken": ServedApi(1, 2, expire_delegation_token),
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: flexible (KIP-482)
    # 3: the requester of a token (KIP-373)
    "DescribeDelegationToken": ServedApi(1, 3, describe_delegation_token),
}
