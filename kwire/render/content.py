"""What a message carries, in words and in JSON: a SASL token, a forwarded request with who sent it.

Knows what is inside messages; knows no trees and no files.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from ..frames import SaslMessage
from ..internal.envelope import principal_of
from ..secrets import HIDDEN, Hidden
from .values import count_text, value_text


def token_text(content: SaslMessage, *, short: bool = False) -> str:
    """Say what a SASL token holds.

    Args:
        content: the token.
        short: who it is only, for a line.

    >>> token_text(SaslMessage("PLAIN", "credentials", 15, {"user": "alice"}))
    'SASL PLAIN credentials, 15 bytes, user "alice"'
    """
    words = f"{content.mechanism or 'an unknown mechanism'} {content.phase}"
    if short:
        user = content.fields.get("user")
        return words if user is None else f"{words} {user}"
    words = f"SASL {words}"
    parts = [f"{name} {value_text(value)}" for name, value in content.fields.items()]
    return ", ".join([words, count_text(content.size, "byte"), *parts])


def token_json(content: SaslMessage) -> dict[str, Any]:
    """Return a token as JSON: mechanism, phase, size in bytes, parts; a hidden part is an object with its size."""
    parts = {name: _part(value) for name, value in content.fields.items()}
    return {"mechanism": content.mechanism, "phase": content.phase, "size": content.size, "parts": parts}


def sender_of(envelope: Any) -> tuple[str | None, str]:
    """Return who sent what is inside an envelope, and from where.

    Args:
        envelope: an `EnvelopeRequest`.

    Returns:
        The principal, such as `User:alice`, None where none is named or it is not Kafka's own kind; the address.
    """
    principal = principal_of(envelope)
    message = None if principal is None else principal.message
    address = envelope.client_host_address
    host = str(ipaddress.ip_address(address)) if len(address) in (4, 16) else address.hex()
    return None if message is None else f"{message.type}:{message.name}", host


def _part(value: object) -> object:
    if isinstance(value, Hidden):
        return {HIDDEN: value.size}
    return value.hex() if isinstance(value, bytes) else value
