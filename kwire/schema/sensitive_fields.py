"""The fields that hold secrets, and the value that stands for a secret."""

from __future__ import annotations

# attribute of a message -> kind, of `kwire.redact.redaction_rules.REASONS`
SECRET_FIELDS: dict[str, str] = {
    "auth_bytes": "sasl",
    "salt": "scram",
    "salted_password": "scram",
    "stored_key": "scram",
    "server_key": "scram",
    "hmac": "token",
}
# The parts of a SASL token: attributes of `kwire.protocol.sasl_tokens.SaslMessage.fields`.
SECRET_PARTS = frozenset(("password", "salt", "proof", "signature", "token", "extra"))
# Fields that contain a forwarded message, which may contain any of these.
ENVELOPED = frozenset(("request_data", "response_data"))
HIDDEN = "_hidden"  # the member of a JSON object that replaces a secret


class Hidden:
    """Replaces a secret of `size` bytes. Two objects are equal if their secrets are; the secret itself is not stored.

    >>> Hidden(b"wonder"), Hidden(b"wonder") == Hidden(b"wander")
    ([hidden] (6 bytes), False)
    """

    __slots__ = ("_mark", "size")

    def __init__(self, value: bytes | str) -> None:
        self.size: int = len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else len(value)
        self._mark = hash(value)  # salted anew by every process

    def __repr__(self) -> str:
        return f"[hidden] ({self.size} byte{'s' * (self.size != 1)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hidden) and (self.size, self._mark) == (other.size, other._mark)

    def __hash__(self) -> int:
        return hash((self.size, self._mark))

    def __len__(self) -> int:
        return self.size
