"""Recognises configurations that hold secrets by their names."""

from __future__ import annotations

import re

from ..runtime.lazy_patterns import lazy_pattern

# Configurations that Kafka declares as PASSWORD, with the prefixes of listeners and the names that vendors give theirs;
# `{start}` and `{end}` are those of a part of the name.
_NAMES = (
    "password|passwd|passphrase|secret|jaas|credential|{start}(?:access|api|private)[._]?key|(?:store|master)[.]key{end}"
    "|keystore[.]certificate|truststore[.]certificates|assertion[.]private"
)
_SENSITIVE = lazy_pattern(_NAMES.format(start=r"(?:^|[.])", end="$"), re.IGNORECASE)
# Each of the names has one of these, and most bytes have none: to search for them takes a tenth of the time.
_STEMS = (b"pass", b"secret", b"jaas", b"credential", b"key", b"cert", b"assertion")
_SENSITIVE_BYTES = lazy_pattern(_NAMES.format(start="", end="").encode(), re.IGNORECASE)


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
    lowered = data.lower()
    return any(stem in lowered for stem in _STEMS) and _SENSITIVE_BYTES.search(lowered) is not None
