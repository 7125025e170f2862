"""The table of releases, against Kafka's own, the specs, and what real brokers were captured to speak."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

import kwire
from kwire.schema.catalog import catalog_for
from kwire.schema.releases import first_release, release, releases, removed_in
from kwire.schema.version_ranges import Versions
from tests.conftest import SHARED, needs_shared

FACTS = SHARED / "kafka" / "facts"

# Read off captures: brokers of 0.8.2 speak them, though their clients' jar has no schemas for them.
SPOKEN_BY_0_8_2 = {4, 5, 6, 7}


def steps_of(api: Any) -> dict[str, dict[str, Any]]:
    return {"names": api.names, "changes": api.changes, "stable": api.stable}


@needs_shared
def test_the_table_is_that_of_kafkas_jars() -> None:
    facts = json.loads((FACTS / "_apis.json").read_bytes())
    assert list(releases().names) == facts["releases"]
    assert list(releases().apis) == [api["key"] for api in facts["apis"]]
    for fact in facts["apis"]:
        for name in facts["releases"]:
            spoken = fact["releases"].get(name)
            if name == "0.8.2.2" and fact["key"] in SPOKEN_BY_0_8_2:
                spoken = [0, 0]
            low, high, *stable = spoken or [0, -1]
            expected = list(range(low, high + 1))
            assert list(release(name).versions(fact["key"])) == expected, (fact["name"], name)
            newest_stable = stable[0] if stable else high
            assert list(release(name).stable_versions(fact["key"])) == [v for v in expected if v <= newest_stable]


def test_an_api_is_called_what_it_is_called_now_unless_a_release_is_named() -> None:
    assert [releases().name_of(name, 74) for name in (None, "4.1.1", "4.0.0")] == [
        "ListConfigResources",
        "ListConfigResources",
        "ListClientMetricsResources",
    ]
    assert [releases().name_of(name, 999) for name in (None, "4.1.1")] == ["", ""]


@needs_shared
def test_names_are_those_of_kafkas_jars() -> None:
    for fact in json.loads((FACTS / "_apis.json").read_bytes())["apis"]:
        api = releases().api(fact["key"])
        assert api.name == fact["name"]
        began: dict[str, str] = {}
        for since, name in api.names.items():
            began.setdefault(name, since)
        assert began == fact.get("names", {fact["name"]: "0.8.2.2"})


@needs_shared
def test_list_offsets_has_its_name_since_the_release_whose_classes_have_it() -> None:
    seen = json.loads((FACTS / "ListOffsetsRequest.json").read_bytes())["seenIn"]
    again = [since for since, name in releases().api(2).names.items() if name == "ListOffsets"][-1]
    assert again == min(first for first, _ in seen.values()) == "2.8.2"


@needs_shared
def test_brokers_supported_the_versions_of_their_release() -> None:
    summaries = sorted((SHARED / "captures").glob("*.summary.json"))
    assert len(summaries) > 10
    for path in summaries:
        summary = json.loads(path.read_bytes())
        line = release(summary["release"].rpartition(".")[0])
        for pair in summary["capture_as_a_whole"]["by_api_and_version"]:
            key, version = map(int, pair.split("/"))
            # KIP-511: a client may ask for ApiVersions in a version that the broker does not speak.
            assert version in line.versions(key) or key == 18, (path.name, pair)


def test_the_specs_have_every_version_that_a_release_supports() -> None:
    catalog = catalog_for()
    for api in releases().apis.values():
        spoken = {version for versions in api.changes.values() for version in versions}
        for kind in ("Request", "Response"):
            spec = catalog.spec(api.name + kind)
            assert (spec.api_key, set(spec.versions)) == (api.key, spoken)
    for spec in map(catalog.spec, catalog.names()):
        if spec.type == "request":
            assert releases().api(spec.api_name).key == spec.api_key


def test_steps_are_at_known_releases_in_order() -> None:
    order = {name: index for index, name in enumerate(releases().names)}
    for api in releases().apis.values():
        for steps in steps_of(api).values():
            places = [order[name] for name in steps]
            assert places == sorted(places)
        assert all(before != after for before, after in pairwise(api.changes.values())), api.name
        assert all(api.changes.values()) or api.changes["4.0.2"] == Versions()
        assert list(api.names.values())[-1] == api.name
        for name, stable in api.stable.items():
            spoken = release(name).versions(api.key)
            assert stable != spoken and spoken.covers(stable), (api.name, name)


def test_no_name_is_anothers_former_name() -> None:
    owners: dict[str, int] = {}
    for api in releases().apis.values():
        for name in {api.name, *api.names.values()}:
            assert owners.setdefault(name, api.key) == api.key
    for name, key in owners.items():
        assert releases().api(name).key == key


def test_brokers_of_0_8_2_speak_the_controllers_first_versions() -> None:
    for key in SPOKEN_BY_0_8_2:
        assert str(release("0.8.2").versions(key)) == "0"
        assert first_release(key, 0) == "0.8.2.2"


@pytest.mark.parametrize(
    ("api", "version", "first", "removed"),
    [
        ("Fetch", 0, "0.8.2.2", "4.0.2"),
        ("Fetch", 18, "4.1.2", None),
        ("ControlledShutdown", 0, "0.8.2.2", "4.0.2"),  # 0.9 had only version 1; 0 came back in 1.0
        ("ControlledShutdown", 3, "2.4.1", "4.0.2"),
        ("UpdateMetadata", None, "0.8.2.2", "4.0.2"),
        ("ShareFetch", 0, "3.9.2", "4.1.2"),
        ("ShareFetch", None, "3.9.2", None),
        ("AlterIsr", 0, "2.7.2", "4.0.2"),
        (58, None, "2.8.2", None),
        ("DescribeLogDirs", None, "1.0.2", None),
    ],
)
def test_an_apis_first_release_and_the_one_that_removed_it(
    api: int | str, version: int | None, first: str, removed: str | None
) -> None:
    assert first_release(api, version) == first
    assert removed_in(api, version) == removed


def test_controlled_shutdown_0_was_away_in_the_releases_between() -> None:
    assert [0 in release(name).versions("ControlledShutdown") for name in ("0.8.2", "0.9", "0.11", "1.0")] == [
        True,
        False,
        False,
        True,
    ]


def test_a_release_names_its_apis_as_it_did() -> None:
    names = [release(name).name_of("ListOffsets") for name in ("0.8.2", "0.9", "1.0", "2.4", "2.7", "2.8", "4.4")]
    assert names == ["list_offsets", "Offsets", "ListOffsets", "ListOffset", "ListOffset", "ListOffsets", "ListOffsets"]
    assert release("0.9").name_of("AlterPartition") == "AlterIsr"  # before it was there: its first name


def test_apis_are_those_with_versions() -> None:
    assert "UpdateMetadata" in release("3.9").apis()
    assert "UpdateMetadata" not in release("4.0").apis()
    assert len(release("0.8.2").apis()) == 13
    assert release("4.4").apis()[:3] == ("Produce", "Fetch", "ListOffsets")


def test_a_line_is_its_newest_release() -> None:
    assert release("3.9") == release("3.9.2")
    assert release("4").name == "4.4.0"
    assert repr(release("0.10.0")) == "Release(name='0.10.0.1')"


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda: release("3.99"), "there is no release '3.99'; did you mean 3.9.2?"),
        (lambda: release("5.0"), "there is no release '5.0'"),
        (lambda: release("3.9").versions("Fetsch"), "there is no api 'Fetsch'; did you mean Fetch?"),
        (lambda: first_release(4711), "there is no api '4711'"),
        (lambda: first_release("Fetch", 99), "Fetch has no version 99 in any release of Kafka; versions: 0-18"),
        (lambda: removed_in("Fetch", -1), "Fetch has no version -1 in any release of Kafka; versions: 0-18"),
    ],
)
def test_what_is_not_there_is_named(ask: Any, text: str) -> None:
    with pytest.raises(kwire.KwireError) as caught:
        ask()
    assert str(caught.value) == text


def test_a_catalog_of_a_release_has_its_versions_only() -> None:
    assert kwire.codec("FetchRequest", 17, release="3.9").version == 17
    with pytest.raises(kwire.UnsupportedVersion, match=r"FetchRequest has no version 18 in Kafka 3\.9\.2"):
        kwire.codec("FetchRequest", 18, release="3.9")


def test_the_facade_has_release() -> None:
    assert kwire.release("3.9").name == "3.9.2"
    assert "release" in dir(kwire)


def test_a_patch_release_is_found_by_its_line() -> None:
    assert [releases().find(name) for name in ("3.9", "3.9.1", "0.10.2.1", "0.10.2")] == [
        "3.9.2",
        "3.9.2",
        "0.10.2.2",
        "0.10.2.2",
    ]
    for name in ("3.10.1", "", "0.10.9.1"):
        with pytest.raises(kwire.UnknownMessage):
            releases().find(name)
