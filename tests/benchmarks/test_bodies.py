"""The bodies that benchmarks measure with are what their labels say."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import ROOT

PROGRAM = """
import json, sys
import kwire
from benchmarks.lib.bodies import made
found = {}
for alike in (True, False):
    body = made("OffsetCommitRequest", 8, 3, 4, False, alike=alike)
    found[body.label] = [len(set(body.datas)), len({len(data) for data in body.datas})]
mixed = made("MetadataResponse", 12, 100, 10, True)
message = kwire.codec(mixed.message, mixed.version).decode(mixed.data)
partitions = [partition for topic in message.topics for partition in topic.partitions]
found["lengths"] = [[len(p.replica_nodes), len(p.isr_nodes), len(p.offline_replicas)] for p in partitions]
found["again"] = [made("MetadataResponse", 12, 100, 10, True).data == mixed.data]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    command = [sys.executable, "-c", PROGRAM]
    environment = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=environment)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_bodies_in_turn_differ_and_have_one_length_or_many(found: dict[str, Any]) -> None:
    assert found["OffsetCommitRequest v8 3x4 64 alike in turn"] == [64, 1]
    different, lengths = found["OffsetCommitRequest v8 3x4 64 unlike in turn"]
    assert (different, lengths > 40) == (64, True)


def test_where_bodies_are_mixed_one_partition_in_ten_lacks_a_replica(found: dict[str, Any]) -> None:
    usual, shrunken, offline = ([3, isr, gone] for isr, gone in ((3, 0), (2, 0), (2, 1)))
    counts = [found["lengths"].count(one) for one in (usual, shrunken, offline)]
    assert sum(counts) == 1000
    assert 70 < counts[1] + counts[2] < 130
    assert min(counts) > 30


def test_bodies_are_the_same_on_every_run(found: dict[str, Any]) -> None:
    assert found["again"] == [True]
