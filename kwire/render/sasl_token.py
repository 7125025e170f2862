"""The content of a SASL token as text and as JSON."""

from __future__ import annotations

from typing import Any

from ..protocol import SaslMessage
from ..schema.sensitive_fields import HIDDEN, Hidden
from .value_text import count_text, value_text


def token_text(content: SaslMessage, *, short: bool = False) -> str:
    """Describe the content of a SASL token.

    Args:
        content: the token.
        short: whether to show only the user, for a line.

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
    """Return a token as JSON: mechanism, phase, size in bytes, parts; a hidden part becomes an object with its size."""
    parts = {name: _part(value) for name, value in content.fields.items()}
    return {"mechanism": content.mechanism, "phase": content.phase, "size": content.size, "parts": parts}


def _part(value: object) -> object:
    if isinstance(value, Hidden):
        return {HIDDEN: value.size}
    return value.hex() if isinstance(value, bytes) else value
