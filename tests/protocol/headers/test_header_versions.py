"""Header versions: the rule, and the exceptions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwire.protocol.headers.header_versions import EXCEPTIONS, header_version_for
from kwire.schema.catalog import catalog_for


@pytest.mark.parametrize(
    ("profile", "message", "version", "header"),
    [
        (None, "MetadataRequest", 8, 1),
        (None, "MetadataRequest", 9, 2),
        (None, "MetadataResponse", 8, 0),
        (None, "MetadataResponse", 9, 1),
        (None, "ControlledShutdownRequest", 0, 0),
        (None, "ControlledShutdownRequest", 1, 1),
        (None, "ControlledShutdownRequest", 3, 2),
        (None, "ControlledShutdownResponse", 0, 0),
        (None, "ApiVersionsRequest", 3, 2),
        (None, "ApiVersionsResponse", 3, 0),
        (None, "ApiVersionsResponse", 5, 0),
        ("KIP-36", "TopicMetadataRequest", 1, 1),
        ("KIP-36", "TopicMetadataResponse", 1, None),
        ("KIP-112", "MetadataResponse", 3, 0),
        ("KIP-879", "CreateReplicaAssignmentRequest", 0, 2),
        ("KIP-879", "CreateReplicaAssignmentResponse", 0, 1),
    ],
)
def test_the_header_before_a_body(profile: str | None, message: str, version: int, header: int | None) -> None:
    assert header_version_for(catalog_for(profile).spec(message, version), version) == header


def test_only_requests_and_responses_have_headers() -> None:
    with pytest.raises(ValueError, match="RequestHeader is header"):
        header_version_for(catalog_for().spec("RequestHeader"), 1)


def test_every_exception_is_a_message_that_exists() -> None:
    names = {name for profile in (None, "KIP-36") for name in catalog_for(profile).names()}
    assert set(EXCEPTIONS) <= names


def test_all_header_versions_are_kafkas(shared: Path) -> None:
    checked = 0
    for path in sorted((shared / "kafka/facts").glob("[A-Z]*.json")):
        facts = json.loads(path.read_text("utf-8"))
        for version, header in facts.get("headerVersions", {}).items():
            assert header_version_for(catalog_for().spec(facts["name"]), int(version)) == header, (path, version)
            checked += 1
    assert checked == 738
