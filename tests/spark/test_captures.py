"""Every captured run, through Spark: as many messages of each api and version as were sent, file by file."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.conftest import SHARED, each_of, needs_shared
from tests.spark.test_data_source import load

CAPTURES = SHARED / "captures"
SUMMARIES = {
    path.name.removesuffix(".summary.json"): json.loads(path.read_text("utf-8"))
    for path in sorted(CAPTURES.glob("*.summary.json"))
}
Key = tuple[str | None, int | None, int | None]  # direction, api key and version
Counts = dict[str, Counter[Key]]
pytestmark = needs_shared


@pytest.fixture(scope="module")
def counted(spark: Any) -> Counts:
    """The rows of each file by direction, api key and version; one job of Spark."""
    keys = ["path", "direction", "api_key", "api_version"]
    names = [name for summary in SUMMARIES.values() for name in summary["files"]]
    frames = load(spark, *(CAPTURES / name for name in names), body="none", openCostInBytes=0)
    found: Counts = {name: Counter() for name in names}
    for path, *key, count in frames.where("_error is null").groupBy(*keys).count().collect():
        found[path.rpartition("/")[2]][tuple(key)] += count
    return found


def requests(counts: Counter[Key]) -> dict[str, int]:
    """Requests as a summary has them; tokens of SASL have no api."""
    return {
        f"{key}/{version}": count
        for (way, key, version), count in counts.items()
        if way == "request" and key is not None
    }


@each_of("run", SUMMARIES)
def test_messages_are_as_many_as_were_sent(run: str, counted: Counts) -> None:
    told, whole = SUMMARIES[run]["files"], SUMMARIES[run]["capture_as_a_whole"]
    for name, expected in told.items():
        assert requests(counted[name]) == expected.get("by_api_and_version", {}), name
        answers = sum(count for (way, _, _), count in counted[name].items() if way == "response")
        assert answers == expected.get("responses", 0), name
    together = sum((counted[name] for name in told), Counter[Key]())
    assert requests(together) == whole["by_api_and_version"]
    tokens = sum(count for (way, key, _), count in together.items() if way == "request" and key is None)
    assert tokens == whole["sasl_tokens_without_header"]


def test_there_is_every_run(counted: Counts) -> None:
    assert len(SUMMARIES) > 15
    assert sum(map(Counter.total, counted.values())) > 25_000
