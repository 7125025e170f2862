"""The JSON that `kafka-reassign-partitions` reads and writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from ...errors import DumpError, excerpt
from ...errors.refused import InvalidReplicaAssignment
from ..placement.rack_aware import Replicas

Plan = dict[tuple[str, int], list[int]]
MOST = 2**31 - 1
ANY_DIRECTORY = "any"
REASSIGNMENT_FORM = 'write {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}, ...]}'


def reassignment_json(topics: Mapping[str, Replicas]) -> dict[str, Any]:
    """Return the JSON input of `kafka-reassign-partitions --reassignment-json-file`.

    >>> reassignment_json({"orders": {0: [1, 2]}})
    {'version': 1, 'partitions': [{'topic': 'orders', 'partition': 0, 'replicas': [1, 2]}]}
    """
    partitions = [
        {"topic": topic, "partition": index, "replicas": list(replicas)}
        for topic, assignment in topics.items()
        for index, replicas in sorted(assignment.items())
    ]
    return {"version": 1, "partitions": partitions}


def read_reassignment(value: Any, file: str) -> Plan:
    """Return the replicas of each partition from the JSON input of `kafka-reassign-partitions`.

    Args:
        value: the parsed JSON.
        file: the name of the file, for errors.

    Raises:
        DumpError: the value is not the JSON of a reassignment.
        InvalidReplicaAssignment: a partition lists a broker twice.

    >>> read_reassignment(reassignment_json({"orders": {0: [1, 2]}}), "plan.json")
    {('orders', 0): [1, 2]}
    """
    rows = value.get("partitions") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not rows:
        raise DumpError("there are no partitions in it", file=file, hint=REASSIGNMENT_FORM)
    plan: Plan = {}
    for partition, replicas in (_partition(row, file) for row in rows):
        if partition in plan:
            raise DumpError(f"partition {partition[0]}-{partition[1]} occurs twice", file=file)
        plan[partition] = replicas
    return plan


def read_log_dirs(value: Any, file: str) -> dict[tuple[int, str, int], str]:
    """Return the directories in the JSON of a reassignment, by broker, topic and partition; `any` is left out.

    Args:
        value: the parsed JSON, from which `read_reassignment` has read the replicas.
        file: the name of the file, for errors.

    Raises:
        DumpError: `log_dirs` does not have a directory for each replica.

    >>> row = {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/data/a", "any"]}
    >>> read_log_dirs({"partitions": [row]}, "plan.json")
    {(1, 't', 0): '/data/a'}
    """
    directories: dict[tuple[int, str, int], str] = {}
    for row in value["partitions"]:
        paths = row.get("log_dirs", [])
        is_list = isinstance(paths, list) and all(isinstance(path, str) for path in paths)
        if not is_list or (paths and len(paths) != len(row["replicas"])):
            raise DumpError(
                f"log_dirs of {row['topic']}-{row['partition']} does not have a directory for each replica",
                file=file,
                hint='write one path for each replica, or "any"',
            )
        for broker, path in zip(row["replicas"], paths, strict=False):
            if path != ANY_DIRECTORY:
                directories[broker, row["topic"], row["partition"]] = path
    return directories


def _partition(row: Any, file: str) -> tuple[tuple[str, int], list[int]]:
    if isinstance(row, dict):
        topic = row.get("topic")
        index = row.get("partition")
        replicas = row.get("replicas")
        if isinstance(topic, str) and is_id(index) and isinstance(replicas, list) and all(map(is_id, replicas)):
            if len(set(replicas)) < len(replicas):
                label = f"{topic}-{index}"
                raise InvalidReplicaAssignment("broker_twice_in_one_partition", partition=label, replicas=replicas)
            return (topic, index), replicas
    raise DumpError(f"{excerpt(row)} is not a partition", file=file, hint=REASSIGNMENT_FORM)


def is_id(value: Any) -> TypeGuard[int]:
    """Whether a JSON value is a broker id or a partition index."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
