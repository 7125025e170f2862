"""Paths and data of ZooKeeper's nodes, against every node that real brokers wrote."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire import zookeeper
from kwire.errors import ZnodeError
from kwire.zookeeper import node_type, read_znode, write_znode
from kwire.zookeeper.znode_struct import ZnodeStruct
from tests.conftest import SHARED, needs_shared

DATA = Path(__file__).parent.parent / "data"
SAMPLE = [json.loads(line) for line in (DATA / "znodes.jsonl").read_text("utf-8").splitlines()]

# Nodes with data that is no JSON object, by their reason to be left out.
PLAIN = (
    r"/consumers/[^/]+/owners/.+",  # a consumer's name
    r"/kafka-acl(-extended)?-changes/.+",  # a resource's type and name
    r"/delegation_token/token_changes/.+",  # a token's id
)
BROKER = "/brokers/ids/1"


def captured() -> Iterator[tuple[str, str, str | None]]:
    """Yield (run, path, data) of every node in every capture: the trees as they ended, and all changes."""
    for path in sorted((SHARED / "captures").glob("*.znodes.json")):
        for znode, data in json.loads(path.read_bytes()).items():
            yield path.name, znode, data
    for path in sorted((SHARED / "captures").glob("*.znodes.history.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            change = json.loads(line)
            if "data" in change:
                yield path.name, change["path"], change["data"]


def check(path: str, data: str) -> Any:
    """Read and write a node: the bytes are the same; or say why it has no class."""
    value = read_znode(path, data)
    if value is None:
        assert any(re.fullmatch(pattern, path) for pattern in PLAIN), path
        assert not data.startswith("{")
        return None
    assert write_znode(value) == data.encode(), path
    assert read_znode(path, data.encode()) == value
    return value


def classes() -> list[type[ZnodeStruct]]:
    found = [getattr(zookeeper, name) for name in zookeeper.__all__]
    return [
        kind for kind in found if isinstance(kind, type) and issubclass(kind, ZnodeStruct) and kind is not ZnodeStruct
    ]


@pytest.mark.ci
@needs_shared
def test_every_node_of_every_capture_is_written_to_the_same_bytes() -> None:
    counts: Counter[str] = Counter()
    for _, path, data in captured():
        if data:
            counts[type(check(path, data)).__name__] += 1
        else:
            assert read_znode(path, data) is None
    assert counts.pop("NoneType") == 19
    assert counts["BrokerRegistration"] > 50 and counts["PartitionState"] > 1300 and counts["LogDirEvent"] == 9
    assert set(counts) == {kind.__name__ for kind in classes()} - {
        "AclEntry",
        "AssignedPartition",
        "ZnodePartition",
        "ControllerManagedState",
    } | {"int"}


@pytest.mark.parametrize("row", SAMPLE, ids=[f"{row['run']}:{row['path']}" for row in SAMPLE])
def test_a_node_is_written_to_the_same_bytes(row: Any) -> None:
    check(row["path"], row["data"])


@pytest.mark.parametrize("path", ["/brokers", "/brokers/ids", "/brokers/ids/x", "/controller/x", "/elsewhere", ""])
def test_folders_and_foreign_nodes_have_no_value(path: str) -> None:
    assert node_type(path) is None
    assert read_znode(path, b"anything") is None


def test_an_empty_node_has_no_value() -> None:
    assert read_znode(BROKER, None) is None  # created first, filled in the same transaction
    assert read_znode(BROKER, b"") is None


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([row["path"] for row in SAMPLE]), st.text() | st.binary())
def test_hostile_data_is_an_error_of_ours(path: str, data: str | bytes) -> None:
    try:
        read_znode(path, data)
    except ZnodeError as error:
        assert str(error).startswith(path)
