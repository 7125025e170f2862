"""SaslHandshake and SaslAuthenticate (KIP-43, KIP-152, KIP-368)."""

from __future__ import annotations

from .... import messages
from ....protocol.sasl.mechanisms import AuthenticationFailed
from ....values import ErrorCode
from ...api import ServedApi
from ...request_context import RequestContext

TOO_LATE = "SaslAuthenticate request received after successful authentication"


def sasl_handshake(request: RequestContext[messages.SaslHandshakeRequest]) -> messages.SaslHandshakeResponse:
    """Handle SaslHandshake."""
    response = messages.SaslHandshakeResponse
    session = request.session
    if session is None or not session.may_begin or session.is_under_way:
        return response(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    known = session.handshake(request.message.mechanism, request.version)
    code = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
    return response(error_code=code, mechanisms=tuple(session.mechanisms))


def sasl_authenticate(request: RequestContext[messages.SaslAuthenticateRequest]) -> messages.SaslAuthenticateResponse:
    """Handle SaslAuthenticate."""
    response = messages.SaslAuthenticateResponse
    session = request.session
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


APIS = {  # what each version has changed
    # 0: bare tokens follow (KIP-43)
    # 1: SaslAuthenticate follows (KIP-152)
    "SaslHandshake": ServedApi(0, 1, sasl_handshake),
    # 1: the lifetime of a session (KIP-368)
    # 2: flexible (KIP-482)
    "SaslAuthenticate": ServedApi(0, 2, sasl_authenticate),
}
