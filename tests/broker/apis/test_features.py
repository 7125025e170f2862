"""The features of each release, as Kafka 4.1.0 and 4.4.0 answered ApiVersions."""

from __future__ import annotations

import gzip
import json

import pytest

from kwire.broker import Settings
from tests.broker.served import M, cluster_of
from tests.conftest import ROOT

# What is different on purpose: share groups are on in every release that has them.
DIFFERENT = {"4.1": {"share.version": (0, 1, 1)}, "4.4": {}}


def recorded(release: str) -> dict[str, tuple[int, int, int]]:
    with gzip.open(ROOT / f"tests/data/conformance-kafka-{release}.0.txt.gz", "rt", encoding="utf-8") as lines:
        line = next(line for line in lines if line.startswith("ApiVersions-v4: "))
    answer = json.JSONDecoder().raw_decode(line, line.index("{"))[0]
    levels = {row["name"]: row["max_version_level"] for row in answer["finalized_features"]}
    return {
        row["name"]: (row.get("min_version", 0), row["max_version"], levels.get(row["name"], 0))
        for row in answer["supported_features"]
    }


def features(release: str) -> dict[str, tuple[int, int, int]]:
    cluster = cluster_of(settings=Settings(release=release))
    request = M.ApiVersionsRequest(client_software_name="a", client_software_version="1")
    answer = cluster.answer(1, request, min(4, cluster.table["ApiVersions"].last), now=0.0)
    levels = {row.name: row.max_version_level for row in answer.finalized_features}
    return {row.name: (row.min_version, row.max_version, levels.get(row.name, 0)) for row in answer.supported_features}


@pytest.mark.parametrize("release", ["4.1", "4.4"])
def test_a_release_has_its_features(release: str) -> None:
    assert features(release) == recorded(release) | DIFFERENT[release]


def test_other_releases_have_what_was_there_before() -> None:
    assert features("3.9") == {}
    assert features("4.0") == {
        "eligible.leader.replicas.version": (0, 1, 0),
        "group.version": (0, 1, 1),
        "kraft.version": (0, 1, 0),
        "metadata.version": (7, 25, 25),
        "transaction.version": (0, 2, 2),
    }
    assert features("4.3")["metadata.version"] == (7, 30, 30)
    assert features("4.3")["share.version"] == (0, 1, 1)
    assert features("4.2")["streams.version"] == (0, 1, 1)
    assert "streams.version" not in features("4.1")
