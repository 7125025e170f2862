"""Specs by name and by api key; profiles and releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwire.errors import SpecError, UnknownMessage, UnsupportedVersion
from kwire.schema.catalog import Catalog, catalog_for, overlays_for, profiles
from kwire.schema.data_files import SCHEMAS
from kwire.schema.message_classes import message_class
from kwire.schema.message_spec import MessageSpec
from kwire.schema.spec_layers import Layer, shipped_layer
from tests.messages.small_specs import document, field


def layer(folder: Path, profile: str = "", **versions: str) -> Layer:
    """Write specs of the given names and versions into a folder; api keys are 900, 901 and so on by name."""
    folder.mkdir()
    for name, valid in versions.items():
        keys: dict[str, Any] = (
            {"type": "request", "apiKey": 900 + ord(name[0]) - ord("A")} if name.endswith("Request") else {}
        )
        text = document(field(), valid=valid, name=name, **keys).replace(', "', ',\n"').replace('{"type', '{\n"type')
        (folder / f"{name}.json").write_text(text)
    return Layer.of_folder(folder, profile)


def place(spec: MessageSpec | None) -> tuple[str, str] | None:
    return None if spec is None else (Path(spec.file).parent.name, spec.name)


def test_the_catalog_has_every_message_that_kafka_released() -> None:
    names = catalog_for().names()
    assert len(names) == 294
    assert names == sorted(names)
    assert {"MetadataRequest", "RequestHeader", "ConsumerProtocolAssignment", "TopicRecord"} <= set(names)


@pytest.mark.parametrize(
    ("name", "versions", "flexible", "api_key"),
    [
        ("MetadataResponse", "0-13", "9+", 3),
        ("LeaderAndIsrRequest", "0-7", "4+", 4),
        ("UpdateMetadataRequest", "0-8", "6+", 6),
        ("ApiVersionsResponse", "0-5", "3+", 18),
        ("RequestHeader", "0-2", "2+", None),
    ],
)
def test_a_spec_is_found_by_its_name(name: str, versions: str, flexible: str, api_key: int | None) -> None:
    spec = catalog_for().spec(name)
    assert (spec.name, str(spec.versions), str(spec.flexible_versions), spec.api_key) == (
        name,
        versions,
        flexible,
        api_key,
    )
    assert catalog_for().spec(name, 2) is spec
    assert name in catalog_for()


def test_an_unknown_name_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(UnknownMessage) as caught:
        catalog_for().spec("MetadataRespons", 0)
    assert str(caught.value) == "there is no message 'MetadataRespons'; did you mean MetadataResponse?"
    assert "MetadataRespons" not in catalog_for()


@pytest.mark.parametrize("version", [-1, 14, 32767])
def test_an_unknown_version_is_refused_with_the_known_ones(version: int) -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        catalog_for().spec("MetadataResponse", version)
    assert str(caught.value) == f"MetadataResponse has no version {version}; versions: 0-13"


@pytest.mark.parametrize(
    ("api_key", "type_name", "version", "name"),
    [
        (3, "request", None, "MetadataRequest"),
        (3, "response", 13, "MetadataResponse"),
        (3, "response", 14, None),
        (3, "header", None, None),
        (68, "request", 0, "ConsumerGroupHeartbeatRequest"),
        (999, "request", None, None),
        (-1, "request", None, None),
    ],
)
def test_a_message_is_found_by_its_api_key(api_key: int, type_name: str, version: int | None, name: str | None) -> None:
    spec = catalog_for().find(api_key, type_name, version)
    assert (spec.name if spec else None) == name


def test_the_head_of_a_message_is_told_without_reading_it() -> None:
    heads = catalog_for().heads()
    assert len(heads) == 294
    assert (heads["MetadataRequest"], heads["RequestHeader"]) == (("request", 3), ("header", None))
    assert catalog_for("KIP-879").heads()["CreateReplicaAssignmentRequest"] == ("request", 68)


def test_a_profile_has_its_own_messages_before_the_released_ones() -> None:
    assert profiles() == ["KIP-112", "KIP-36", "KIP-879"]
    draft, released = catalog_for("KIP-112"), catalog_for()
    assert (draft.spec("MetadataResponse", 3).profile, draft.spec("MetadataResponse").profile) == ("KIP-112", "KIP-112")
    assert draft.spec("MetadataResponse", 12) is released.spec("MetadataResponse")
    assert draft.spec("ApiVersionsRequest") is released.spec("ApiVersionsRequest")
    assert place(catalog_for("KIP-879").find(68, "request", 0)) == ("KIP-879", "CreateReplicaAssignmentRequest")
    assert place(catalog_for("KIP-36").find(3, "request", 1)) == ("KIP-36", "TopicMetadataRequest")
    assert place(catalog_for("KIP-36").find(3, "request", 2)) == ("kafka", "MetadataRequest")


def test_a_message_is_one_class_in_every_catalog() -> None:
    catalogs = [catalog_for(), catalog_for(None, None), catalog_for("KIP-36"), catalog_for(release="3.9")]
    assert len({message_class(catalog.spec("MetadataRequest", 4)) for catalog in catalogs}) == 1
    assert catalogs[0] is catalogs[1]
    assert catalog_for("", "3.9") is catalog_for(None, "3.9.2")


@pytest.mark.parametrize(
    ("profile", "release", "text"),
    [
        ("KIP-37", None, "there is no profile 'KIP-37'; did you mean KIP-36?"),
        ("kafka", None, "there is no profile 'kafka'; known: KIP-112, KIP-36, KIP-879"),
        ("../kafka", None, "there is no profile '../kafka'; known: KIP-112, KIP-36, KIP-879"),
        (None, "99.9", "there is no release '99.9'"),
    ],
)
def test_an_unknown_profile_or_release_is_refused(profile: str | None, release: str | None, text: str) -> None:
    with pytest.raises(UnknownMessage) as caught:
        catalog_for(profile, release)
    assert str(caught.value).startswith(text)


def test_a_release_limits_apis_to_its_supported_versions() -> None:
    old = catalog_for(release="0.9")
    assert str(old.spec("MetadataRequest", 0).versions) == "0-13"
    with pytest.raises(UnsupportedVersion) as caught:
        old.spec("MetadataRequest", 1)
    assert str(caught.value) == "MetadataRequest has no version 1 in Kafka 0.9.0.1; versions: 0"
    with pytest.raises(UnsupportedVersion, match=r"has no version 0 in Kafka 0\.9\.0\.1; versions: none"):
        old.spec("ConsumerGroupHeartbeatRequest", 0)
    assert old.spec("RequestHeader", 2).name == "RequestHeader"
    assert catalog_for("KIP-879", "0.9").spec("CreateReplicaAssignmentRequest", 0).profile == "KIP-879"


def test_a_release_looks_into_the_overlays_from_its_own_on() -> None:
    assert overlays_for(None) == []
    assert overlays_for("4.4.0") == []
    assert overlays_for("3.5.2") == ["3.5", "3.6", "3.7", "3.9", "4.0"]
    assert overlays_for("3.8.1") == ["3.9", "4.0"]
    assert [layer.release for layer in catalog_for(release="3.8").layers] == ["3.9", "4.0", ""]
    early = catalog_for(release="3.6").spec("ConsumerGroupHeartbeatRequest", 0)
    assert (place(early), early.release) == (("3.6", "ConsumerGroupHeartbeatRequest"), "3.6")


def test_the_first_layer_hides_later_ones_at_its_versions_only(tmp_path: Path) -> None:
    front = layer(tmp_path / "front", "mine", ARequest="2-3", Both="1")
    catalog = Catalog([front, layer(tmp_path / "back", ARequest="0-2", BRequest="5", Both="0-1")], "mine")
    assert catalog.names() == ["ARequest", "BRequest", "Both"]
    places = [place(catalog.find(900, "request", version)) for version in (None, 0, 2, 3, 4)]
    assert places == [(f, "ARequest") for f in ("front", "back", "front", "front")] + [None]
    assert [place(catalog.spec("Both", version)) for version in (None, 0, 1)] == [
        ("front", "Both"),
        ("back", "Both"),
        ("front", "Both"),
    ]
    assert (catalog.spec("Both", 1).profile, catalog.spec("Both", 0).profile) == ("mine", "")
    with pytest.raises(UnsupportedVersion) as caught:
        catalog.spec("ARequest", 9)
    assert str(caught.value) == "ARequest has no version 9 in mine; versions: 2-3 and 0-2"


def test_a_folder_precedes_the_released_messages_or_is_alone(tmp_path: Path) -> None:
    layer(tmp_path / "specs", CRequest="0")
    assert Catalog.from_directory(str(tmp_path / "specs"), alone=True).names() == ["CRequest"]
    beside = Catalog.from_directory(tmp_path / "specs")
    assert len(beside.names()) == 295
    assert place(beside.find(902, "request", 0)) == ("specs", "CRequest")
    assert beside.spec("MetadataRequest") is catalog_for().spec("MetadataRequest")


def test_an_api_key_names_the_messages_that_have_the_version() -> None:
    catalog = catalog_for("KIP-36")
    drafts = ["TopicMetadataRequest", "TopicMetadataResponse"]
    assert catalog.named("3") == catalog.named("3", 1) == drafts
    assert catalog.named("3", 0) == catalog.named("3", 12) == ["MetadataRequest", "MetadataResponse"]


def test_a_former_name_is_a_name_unless_a_message_has_it_now(tmp_path: Path) -> None:
    assert catalog_for().spec("AlterIsrRequest", 0).name == "AlterPartitionRequest"
    assert "AlterIsrRequest" in catalog_for()
    own = Catalog([layer(tmp_path / "own", AlterIsrRequest="0"), *catalog_for().layers])
    assert place(own.spec("AlterIsrRequest", 0)) == ("own", "AlterIsrRequest")


def test_a_spec_that_is_not_valid_is_refused_when_it_is_asked_for(tmp_path: Path) -> None:
    catalog = Catalog([layer(tmp_path / "specs", ARequest="0", BRequest="x")])
    assert catalog.spec("ARequest", 0).name == "ARequest"
    with pytest.raises(SpecError, match=r"BRequest.json:\d+: \$.validVersions: 'x' is not a version range"):
        catalog.spec("BRequest", 0)


def test_what_was_found_by_its_key_is_kept_and_what_is_not_there_is_not() -> None:
    catalog = Catalog.from_directory(SCHEMAS / "drafts" / "KIP-879")
    found = catalog.find(68, "request", 0)
    assert found is not None
    assert catalog.find(68, "request", 0) is found
    assert all(catalog.find(key, "request", 0) is None for key in range(5000, 5100))
    assert list(catalog._found) == [(68, "request", 0)]


def test_messages_of_an_api_key_are_found_without_looking_into_the_files() -> None:
    shipped = shipped_layer("", "")
    assert len(shipped.keys) > 180
    for (api_key, type_name), names in shipped.keys.items():
        assert shipped._names_for(api_key, type_name) == names
    assert shipped._names_for(32_000, "request") == []
