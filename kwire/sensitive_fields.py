"""The list of fields that hold secrets, and the values printed in their place."""

from __future__ import annotations

import re

# attribute of a message -> kind, of `kwire.redaction.REASONS`
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
# Configurations that Kafka declares as PASSWORD, with the prefixes of listeners and the names that vendors give theirs;
# `{start}` and `{end}` are those of a part of the name.
_NAMES = (
    "password|passwd|passphrase|secret|jaas|credential|{start}(?:access|api|private)[._]?key|(?:store|master)[.]key{end}"
    "|keystore[.]certificate|truststore[.]certificates|assertion[.]private"
)
_SENSITIVE = re.compile(_NAMES.format(start=r"(?:^|[.])", end="$"), re.IGNORECASE)
_SENSITIVE_BYTES = re.compile(_NAMES.format(start="", end="").encode(), re.IGNORECASE)
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


def is_sensitive(config: str) -> bool:
    """Whether the value of a configuration is a secret, judging by its name.

    >>> is_sensitive("ssl.keystore.password"), is_sensitive("retention.ms"), is_sensitive("cleanup.key.policy")
    (True, False, False)
    """
    return _SENSITIVE.search(config) is not None


def names_sensitive(data: bytes) -> bool:
    """Whether bytes of an unknown message contain the name of a sensitive configuration.

    >>> names_sensitive(b"\\x10ssl.keystore.key\\x05-----"), names_sensitive(b"retention.ms")
    (True, False)
    """
    return _SENSITIVE_BYTES.search(data) is not None
