"""The principals of clients: `User:` and a name, or the subject of a client's certificate (RFC 2253)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

ANONYMOUS = "User:ANONYMOUS"  # the principal of a client that did not authenticate
# The abbreviations of attribute types in a distinguished name (RFC 2253, as in Java); other types keep their long
# names.
_ATTRIBUTES = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}


def principal(name: str) -> str:
    """Return the principal for a user name; a name that starts with `User:` is returned unchanged.

    >>> principal("alice"), principal("User:CN=alice")
    ('User:alice', 'User:CN=alice')
    """
    return name if name.startswith("User:") else f"User:{name}"


def principal_of(certificate: Mapping[str, Any] | None) -> str:
    """Return the principal of a client certificate, a dict from `ssl.SSLSocket.getpeercert`: the subject as X.500 name.

    >>> print(principal_of({"subject": ((("countryName", "SE"),), (("commonName", "a, b"),))}))
    User:CN=a\\, b,C=SE
    """
    if not certificate:
        return ANONYMOUS
    rows = [[(_ATTRIBUTES.get(name, name), value) for name, value in row] for row in certificate.get("subject", ())]
    parts = ["+".join(f"{name}={_escape(value)}" for name, value in row) for row in reversed(rows)]
    return f"User:{','.join(parts)}"


def _escape(value: str) -> str:
    text = re.sub(r'([,+"\\<>;])', r"\\\1", value)
    return re.sub(r"^([ #])|( )$", r"\\\g<0>", text)
