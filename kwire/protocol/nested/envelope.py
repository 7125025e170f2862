"""Requests and responses that a broker forwards to the controller in an Envelope (KIP-590)."""

from __future__ import annotations

import ipaddress
from typing import Any

import msgspec

from ... import messages
from ...errors import DecodeError
from ...runtime.former_dataclasses import was_dataclass
from .. import Frame, FrameDecoder, Request, Response, Token, Undecodable, encode_request, encode_response
from .versioned_message import Embedded, read_newest, write_newest

PRINCIPAL = "DefaultPrincipal"
SIZE = 4  # bytes of the size that is left out


@was_dataclass
class Enveloped(msgspec.Struct, frozen=True):
    """The content of an envelope.

    Attributes:
        request: the request, with header, codec and message.
        principal: the client's principal, with `DefaultPrincipal` as message; None if there is none. A principal in
            another format is kept as bytes in `rest`.
        client_address: the client's address in 4 or 16 bytes.
    """

    request: Request
    principal: Embedded | None
    client_address: bytes

    @property
    def client_host(self) -> str:
        """The client's address as text, or as hex if it is invalid."""
        if len(self.client_address) in (4, 16):
            return str(ipaddress.ip_address(self.client_address))
        return self.client_address.hex()


def decode_enveloped_request(envelope: Any) -> Enveloped:
    """Open an envelope.

    Args:
        envelope: a decoded `EnvelopeRequest`.

    Raises:
        DecodeError: the content is not a request, or an unknown one; offsets are counted as if a size field preceded
            it.

    >>> inner = bytes.fromhex("0003 0001 00000007 ffff ffffffff")
    >>> envelope = messages.EnvelopeRequest(request_data=inner, client_host_address=bytes([127, 0, 0, 1]))
    >>> found = decode_enveloped_request(envelope)
    >>> found.request.codec.name, found.request.correlation_id, found.request.message.topics, found.client_host
    ('MetadataRequest', 7, None, '127.0.0.1')
    """
    request = _open_envelope(envelope.request_data)
    assert isinstance(request, Request)
    return Enveloped(request, _decode_principal(envelope.request_principal), envelope.client_host_address)


def decode_enveloped_response(envelope: Any, request: Request) -> Response | None:
    """Open the response to an envelope.

    Args:
        envelope: a decoded `EnvelopeResponse`.
        request: the request that was inside the envelope.

    Returns:
        The response; None if the envelope itself failed (`error_code` is the reason).

    Raises:
        DecodeError: the content is not a response to that request.
    """
    if envelope.response_data is None:
        return None
    response = _open_envelope(
        envelope.response_data, message=f"{request.api_name}Response", version=request.api_version
    )
    assert isinstance(response, Response)
    return response


def encode_enveloped_request(content: Enveloped) -> Any:
    """Put a request into an envelope: the opposite of `decode_enveloped_request`. Raises EncodeError."""
    request = content.request
    frame = encode_request(
        request.message,
        request.api_version,
        correlation_id=request.header.correlation_id,
        client_id=request.header.client_id,
        header_tags=request.header.unknown_tags,
    )
    principal = None if content.principal is None else write_newest(content.principal)
    return messages.EnvelopeRequest(
        request_data=frame[SIZE:], request_principal=principal, client_host_address=content.client_address
    )


def encode_enveloped_response(response: Response | None, error_code: int = 0) -> Any:
    """Wrap a response as the response to an envelope, or an error code if there is none. Raises EncodeError."""
    data = None
    if response is not None:
        header = response.header
        tags = header.unknown_tags if header else None
        frame = encode_response(
            response.message, response.codec.version, correlation_id=response.correlation_id or 0, header_tags=tags
        )
        data = frame[SIZE:]
    return messages.EnvelopeResponse(response_data=data, error_code=error_code)


def _open_envelope(data: bytes, **what: Any) -> Request | Response:
    frame = Frame(len(data).to_bytes(SIZE, "big") + data, **what)
    result = FrameDecoder(salvage=False).decode(frame)
    if isinstance(result, Undecodable):
        raise result.error
    assert not isinstance(result, Token)  # which follows a SaslHandshake
    return result


def principal_of(envelope: Any) -> Embedded | None:
    """Return the principal of a decoded `EnvelopeRequest`, as in `Enveloped.principal`."""
    return _decode_principal(envelope.request_principal)


def _decode_principal(data: bytes | None) -> Embedded | None:
    if data is None:
        return None
    try:
        return read_newest(data, PRINCIPAL)
    except DecodeError:
        return Embedded(None, None, None, data)  # from a custom principal builder
