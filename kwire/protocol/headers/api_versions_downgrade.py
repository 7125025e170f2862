"""ApiVersions responses in version 0, to requests of a version that the broker does not support (KIP-511)."""

from __future__ import annotations

API_VERSIONS = 18
UNSUPPORTED_VERSION = 35
REFUSED = UNSUPPORTED_VERSION.to_bytes(2, "big")  # first bytes of ApiVersions responses that may have version 0


def may_be_downgraded(api_key: int | None, data: bytes) -> bool:
    """Whether a response may be in version 0 instead of the requested version.

    KIP-511: a broker that does not support the version of an ApiVersions request responds in version 0, with error 35.
    """
    return api_key == API_VERSIONS and data.startswith(REFUSED, 8)
