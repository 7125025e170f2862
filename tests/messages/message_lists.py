"""Lists of messages that the cross-cutting tests run over."""

from __future__ import annotations

from kwire.schema.catalog import catalog_for, profiles

FOUNDING = (
    "RequestHeader",
    "ResponseHeader",
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "MetadataRequest",
    "MetadataResponse",
    "UpdateMetadataRequest",
    "UpdateMetadataResponse",
    "LeaderAndIsrRequest",
    "LeaderAndIsrResponse",
    "StopReplicaRequest",
    "StopReplicaResponse",
    "ControlledShutdownRequest",
    "ControlledShutdownResponse",
)


def released_pairs() -> list[tuple[str, int]]:
    """Return every (message, version) that Kafka released."""
    catalog = catalog_for()
    return [(name, version) for name in catalog.names() for version in catalog.spec(name).versions]


def founding_pairs() -> list[tuple[str, int]]:
    """Return the (message, version) pairs that the project was founded for."""
    return [(name, version) for name, version in released_pairs() if name in FOUNDING]


def draft_triples() -> list[tuple[str, str, int]]:
    """Return every (profile, message, version) that only a KIP proposed."""
    triples = []
    for profile in profiles():
        catalog = catalog_for(profile)
        for name in catalog.names():
            spec = catalog.spec(name)
            if spec.profile:
                triples += [(profile, name, version) for version in spec.versions]
    return triples
