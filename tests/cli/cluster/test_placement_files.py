"""Brokers and assignments out of JSON files: each form is read, all others are refused with a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwire.cli.cluster.placement_files import read_brokers, read_plan
from kwire.cluster import Broker
from kwire.errors import DumpError
from kwire.errors.refused import InvalidReplicaAssignment


def written(folder: Path, value: Any) -> str:
    file = folder / "x.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return str(file)


@pytest.mark.parametrize(
    "value",
    [
        [{"id": 1, "rack": "/a"}, {"id": 2}],
        [{"broker_id": 1, "rack": "/a"}, {"nodeId": 2, "rack": None}],
        {"1": "/a", "2": None},
        [[1, "/a"], [2, None]],
        {"kwire": 1, "brokers": [{"nodeId": 1, "host": "h", "rack": "/a", "fenced": False}, {"nodeId": 2}]},
    ],
)
def test_forms_of_brokers(tmp_path: Path, value: Any) -> None:
    assert read_brokers(written(tmp_path, value)) == [Broker(1, rack="/a"), Broker(2)]


def test_fenced_brokers(tmp_path: Path) -> None:
    assert read_brokers(written(tmp_path, [{"id": 0, "fenced": True}])) == [Broker(0, fenced=True)]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("nonsense", "it is not JSON"),
        (7, "there is no list of brokers in it"),
        ({"brokers": 7}, "there is no list of brokers in it"),
        ([7], "7 is not a broker"),
        ([[]], r"\{\} is not a broker"),
        ([{"id": True}], "is not a broker"),
        ([{"id": -1}], "is not a broker"),
        ([{"id": 2**31}], "is not a broker"),
        ([{"id": 1, "rack": 7}], "is not a broker"),
        ({"x": "/a"}, "is not a broker"),
        ({"\u0661": "/a"}, "is not a broker"),
    ],
)
def test_what_are_no_brokers(tmp_path: Path, value: Any, problem: str) -> None:
    with pytest.raises(DumpError, match=problem):
        read_brokers(written(tmp_path, value))


def test_an_assignment(tmp_path: Path) -> None:
    rows = [
        {"topic": "t", "partition": 1, "replicas": [2, 1], "log_dirs": ["any"]},
        {"topic": "u", "partition": 0, "replicas": []},
    ]
    assert read_plan(written(tmp_path, {"version": 1, "partitions": rows})) == {("t", 1): [2, 1], ("u", 0): []}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "there are no partitions in it"),
        ({"partitions": []}, "there are no partitions in it"),
        ({"partitions": [7]}, "7 is not a partition"),
        ({"partitions": [{"topic": 7, "partition": 0, "replicas": []}]}, "is not a partition"),
        ({"partitions": [{"topic": "t", "partition": "0", "replicas": []}]}, "is not a partition"),
        ({"partitions": [{"topic": "t", "partition": 0, "replicas": [1.5]}]}, "is not a partition"),
        ({"partitions": [{"topic": "t", "partition": 0, "replicas": [1]}] * 2}, "partition t-0 occurs twice"),
    ],
)
def test_what_is_no_assignment(tmp_path: Path, value: Any, problem: str) -> None:
    with pytest.raises(DumpError, match=problem):
        read_plan(written(tmp_path, value))


def test_an_assignment_with_a_broker_twice(tmp_path: Path) -> None:
    rows = [{"topic": "t", "partition": 0, "replicas": [1, 2, 1]}]
    with pytest.raises(InvalidReplicaAssignment, match=r"partition t-0 lists a broker twice: \[1, 2, 1\]"):
        read_plan(written(tmp_path, {"partitions": rows}))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(DumpError, match="it is not JSON"):
        read_brokers(str(file))
