"""Specs by name and by api key; collisions are refused, renamings are not."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwire
from kwire.schema.catalog import Catalog, catalog_for
from kwire.schema.data_files import SCHEMAS
from kwire.schema.spec_layers import Layer
from kwire.schema.spec_reader import read_spec

DATA = '{{"type": "{}", {}"name": "{}", "validVersions": "{}", "flexibleVersions": "none", "fields": []}}'


def written(folder: Path, name: str, versions: str = "0", key: int | None = None, type_name: str = "request") -> None:
    api_key = "" if key is None else f'\n"apiKey": {key}, '
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(DATA.format(type_name, api_key, name, versions).replace('"type"', '\n"type"'))


def test_the_head_of_a_file_agrees_with_the_complete_spec() -> None:
    layer = Layer.of_folder(SCHEMAS / "kafka")
    for name, path in layer.files.items():
        spec = read_spec(path.read_text("utf-8"))
        assert layer.heads[name] == (spec.type, spec.api_key)


def test_our_own_keys_do_not_collide() -> None:
    for profile in (None, "KIP-36", "KIP-112", "KIP-879"):
        for layer in catalog_for(profile).layers:
            layer.check_keys()


def test_a_renamed_api_goes_by_its_newest_name_or_the_releases() -> None:
    for release, name in (
        (None, "ListConfigResources"),
        ("4.1", "ListConfigResources"),
        ("3.9", "ListClientMetricsResources"),
    ):
        spec = catalog_for(None, release).find(74, "request", 0)
        assert spec is not None
        assert spec.api_name == name


def test_two_messages_may_share_a_key_at_different_versions(tmp_path: Path) -> None:
    written(tmp_path, "OldRequest", "0-1", 900)
    written(tmp_path, "NewRequest", "2-3", 900)
    catalog = Catalog.from_directory(tmp_path)
    assert [getattr(catalog.find(900, "request", version), "name", None) for version in (1, 2, 4)] == [
        "OldRequest",
        "NewRequest",
        None,
    ]


def test_two_messages_with_one_key_and_version_are_refused(tmp_path: Path) -> None:
    written(tmp_path, "OneRequest", "0-2", 900)
    written(tmp_path, "TwoRequest", "2-3", 900)
    with pytest.raises(kwire.SpecError, match="api key 900 version 2 is OneRequest and TwoRequest"):
        Catalog.from_directory(tmp_path)


def test_a_message_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "a/src/main/resources/common/message", "Thing", type_name="data")
    written(tmp_path / "b/src/main/resources/common/message", "Thing", type_name="data")
    with pytest.raises(kwire.SpecError, match="Thing is in"):
        Catalog.from_directory(tmp_path)


def test_a_checkout_is_read_unchanged_before_our_specs(tmp_path: Path) -> None:
    written(tmp_path / "clients/src/main/resources/common/message", "MetadataRequest", "99", 3)
    written(tmp_path / "clients/src/test/resources/common/message", "Hidden", type_name="data")
    catalog = Catalog.from_directory(tmp_path)
    assert catalog.spec("MetadataRequest", 99).file.startswith(str(tmp_path))
    assert kwire.codec("MetadataRequest", 12, catalog=catalog).name == "MetadataRequest"
    assert "Hidden" not in catalog.names()
    assert Catalog.from_directory(tmp_path, alone=True).names() == ["MetadataRequest"]


def test_no_folder_and_no_specs_are_errors(tmp_path: Path) -> None:
    for folder, text in ((tmp_path / "none", "there is no such folder"), (tmp_path, "there are no specs in it")):
        with pytest.raises(kwire.SpecError, match=text):
            Catalog.from_directory(folder)


def test_a_file_that_is_no_text_is_an_error_of_its_spec(tmp_path: Path) -> None:
    (tmp_path / "Thing.json").write_bytes(b"// \xe9\n{}")
    with pytest.raises(kwire.SpecError, match=r"Thing\.json:1: \$: not UTF-8: invalid continuation byte"):
        Catalog.from_directory(tmp_path)
    with pytest.raises(kwire.SpecError, match="not UTF-8"):
        Layer.of_folder(tmp_path).spec("Thing")
    with pytest.raises(kwire.SpecError, match="not UTF-8"):
        assert Layer.of_folder(tmp_path).heads
