"""Which version of RequestHeader or ResponseHeader a message has (KIP-482).

A flexible body has the newer header, request header 2 and response header 1; any other body has request header 1 and
response header 0. The exceptions are in one table with their reasons.
"""

from __future__ import annotations

from ...schema.message_spec import MessageSpec
from ...schema.version_ranges import Versions

# message -> (versions, header version); None means no header
EXCEPTIONS: dict[str, tuple[Versions, int | None]] = {
    # The first brokers sent their shutdown requests to the controller without a client id.
    "ControlledShutdownRequest": (Versions.parse("0"), 0),
    # KIP-511: a client must be able to read it before it knows the broker's versions.
    "ApiVersionsResponse": (Versions.parse("0+"), 0),
    # KIP-36 defines the correlation id as the body's first field, without a header.
    "TopicMetadataResponse": (Versions.parse("1"), None),
}


def header_version_for(spec: MessageSpec, version: int) -> int | None:
    """Return the version of RequestHeader or ResponseHeader that precedes a body.

    Args:
        spec: a request or a response.
        version: the version of the body.

    Returns:
        0 to 2 for requests, 0 or 1 for responses; None if there is no header.

    Raises:
        ValueError: the message is neither a request nor a response.

    >>> from kwire.schema.catalog import catalog_for
    >>> [header_version_for(catalog_for().spec("ApiVersionsResponse"), version) for version in (0, 3)]
    [0, 0]
    >>> [header_version_for(catalog_for().spec("MetadataRequest"), version) for version in (8, 9)]
    [1, 2]
    """
    if spec.type not in ("request", "response"):
        raise ValueError(f"{spec.name} is {spec.type}; only requests and responses have headers")
    versions, header_version = EXCEPTIONS.get(spec.name, (Versions(), None))
    if version in versions:
        return header_version
    return (version in spec.flexible_versions) + (spec.type == "request")
