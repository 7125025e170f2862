"""CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken and DescribeDelegationToken (KIP-48), which this
broker refuses.
"""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
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
