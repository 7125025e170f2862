"""JSON files about clusters: brokers with their racks, and assignments in the form of kafka-reassign-partitions."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, TypeGuard

from ..cluster import Broker
from ..errors import DumpError, excerpt
from ..errors.refused import InvalidReplicaAssignment

Plan = dict[tuple[str, int], list[int]]
MOST = 2**31 - 1
_IDS = ("nodeId", "node_id", "id", "brokerId", "broker_id")
_DIGITS = re.compile("[0-9]{1,10}")
_FORMS = 'write [{"id": 1, "rack": "/DC1/R1"}, ...], {"1": "/DC1/R1", ...}, or what kwire cluster --json writes'
_PLAN = 'write {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}, ...]}'


def read_brokers(file: str) -> list[Broker]:
    """Read brokers out of a file; `-` is standard input. A rack may be missing or null, and "fenced" may stand there.

    Raises:
        DumpError: it is not JSON of brokers.
        OSError: it cannot be read.
    """
    value = _read(file, _FORMS)
    if isinstance(value, dict):
        value = value["brokers"] if "brokers" in value else [{"id": key, "rack": rack} for key, rack in value.items()]
    if not isinstance(value, list):
        raise DumpError("there is no list of brokers in it", file=file, hint=_FORMS)
    return [_broker(row, file) for row in value]


def read_plan(file: str) -> Plan:
    """Read an assignment out of a file, as kafka-reassign-partitions takes it; `-` is standard input.

    Raises:
        DumpError: it is not JSON of an assignment.
        InvalidReplicaAssignment: a partition has a broker twice.
        OSError: it cannot be read.
    """
    value = _read(file, _PLAN)
    rows = value.get("partitions") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not rows:
        raise DumpError("there are no partitions in it", file=file, hint=_PLAN)
    plan: Plan = {}
    for partition, replicas in (_partition(row, file) for row in rows):
        if partition in plan:
            raise DumpError(f"partition {partition[0]}-{partition[1]} is there twice", file=file)
        plan[partition] = replicas
    return plan


def _read(file: str, hint: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DumpError(f"it is not JSON: {error}", file=file, hint=hint) from None


def _broker(row: Any, file: str) -> Broker:
    if isinstance(row, list):
        row = dict(zip(("id", "rack"), row, strict=False))
    if isinstance(row, dict):
        node_id, rack = next((row[name] for name in _IDS if name in row), None), row.get("rack")
        if isinstance(node_id, str) and _DIGITS.fullmatch(node_id):
            node_id = int(node_id)
        if _is_id(node_id) and isinstance(rack, str | None):
            return Broker(node_id, rack=rack, fenced=row.get("fenced") is True)
    raise DumpError(f"{excerpt(row)} is no broker", file=file, hint=_FORMS)


def _partition(row: Any, file: str) -> tuple[tuple[str, int], list[int]]:
    if isinstance(row, dict):
        topic, index, replicas = row.get("topic"), row.get("partition"), row.get("replicas")
        if isinstance(topic, str) and _is_id(index) and isinstance(replicas, list) and all(map(_is_id, replicas)):
            if len(set(replicas)) < len(replicas):
                label = f"{topic}-{index}"
                raise InvalidReplicaAssignment("broker_twice_in_one_partition", partition=label, replicas=replicas)
            return (topic, index), replicas
    raise DumpError(f"{excerpt(row)} is no partition", file=file, hint=_PLAN)


def _is_id(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
