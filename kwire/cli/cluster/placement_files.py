"""Files of `kwire place`: brokers as JSON, plans of kafka-reassign-partitions, sizes from kafka-log-dirs.

The format of a plan is in `kwire.cluster.plan.reassignment_json`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...cluster import Broker, LogDir
from ...cluster.plan.reassignment_json import REASSIGNMENT_FORM, Plan, is_id, read_reassignment
from ...errors import DumpError, excerpt

Sizes = dict[tuple[str, int], int]
_IDS = ("nodeId", "node_id", "id", "brokerId", "broker_id")
DIGITS = re.compile("[0-9]{1,10}")
FORMS = 'write [{"id": 1, "rack": "/DC1/R1"}, ...], {"1": "/DC1/R1", ...}, or what kwire cluster --json writes'
_SIZES = "it takes what kafka-log-dirs --describe prints"


def read_sizes(file: str) -> Sizes:
    """Read the sizes of partitions from the output of kafka-log-dirs --describe; the size is the largest replica's.

    Raises:
        DumpError: the file is not such output.
        OSError: the file cannot be read.
    """
    text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    try:
        brokers = json.loads(text[text.find("{") :])["brokers"]  # after the tool's own status lines
        rows = [row for broker in brokers for folder in broker["logDirs"] for row in folder["partitions"]]
        named = [(row["partition"], row["size"], row.get("isFuture", False)) for row in rows]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise DumpError("it has no sizes of partitions", file=file, hint=_SIZES) from None
    sizes: Sizes = {}
    for name, size, is_future in named:
        topic, _, index = str(name).rpartition("-")
        if not topic or not DIGITS.fullmatch(index) or not isinstance(size, int) or size < 0:
            raise DumpError(f"{excerpt(name)} is not a partition with a size", file=file, hint=_SIZES)
        if not is_future:
            sizes[topic, int(index)] = max(size, sizes.get((topic, int(index)), 0))
    return sizes


def read_brokers(file: str) -> list[Broker]:
    """Read brokers from a JSON file; `-` is standard input. A rack may be missing or null; "fenced" is optional.

    Raises:
        DumpError: the file is not JSON that describes brokers.
        OSError: the file cannot be read.
    """
    return brokers_in(read_json(file, FORMS), file)


def brokers_in(value: Any, file: str) -> list[Broker]:
    """Return the brokers that a JSON value describes; raises DumpError."""
    if isinstance(value, dict):
        value = value.get("brokers", value)
    if isinstance(value, dict):
        value = [{"id": key, "rack": rack} for key, rack in value.items()]
    if not isinstance(value, list):
        raise DumpError("there is no list of brokers in it", file=file, hint=FORMS)
    return [_broker(row, file) for row in value]


def log_dirs_in(value: Any, file: str) -> dict[int, dict[str, LogDir]]:
    """Return the log directories in what `kwire cluster --json` writes; none in other JSON. Raises DumpError."""
    rows = value.get("logDirs") if isinstance(value, dict) else None
    log_dirs: dict[int, dict[str, LogDir]] = {}
    try:
        for row in rows or ():
            sizes = {(replica["topic"], replica["partition"]): replica["bytes"] for replica in row["replicas"]}
            log_dir = LogDir(row["path"], row["errorCode"], row["totalBytes"], row["usableBytes"], sizes)
            if not all(is_id(size) or size > 0 for size in (row["broker"], *sizes.values())):
                raise TypeError
            log_dirs.setdefault(row["broker"], {})[row["path"]] = log_dir
    except (LookupError, TypeError, AttributeError):
        raise DumpError("its logDirs are not those of kwire cluster --json", file=file, hint=FORMS) from None
    return log_dirs


def sizes_of(log_dirs: Mapping[int, Mapping[str, LogDir]]) -> Sizes:
    """Return the size of each partition in log directories: that of its largest replica."""
    sizes: Sizes = {}
    for log_dir in (log_dir for directories in log_dirs.values() for log_dir in directories.values()):
        for key, size in log_dir.sizes.items():
            sizes[key] = max(size, sizes.get(key, 0))
    return sizes


def read_plan(file: str) -> Plan:
    """Read an assignment from a file in the format of kafka-reassign-partitions; `-` is standard input.

    Raises:
        DumpError: the file is not JSON of an assignment.
        InvalidReplicaAssignment: a partition lists a broker twice.
        OSError: the file cannot be read.
    """
    return read_reassignment(read_json(file, REASSIGNMENT_FORM), file)


def read_json(file: str, hint: str) -> Any:
    """Return the value of a JSON file, or of standard input; raises DumpError with the hint."""
    try:
        return json.loads(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DumpError(f"it is not JSON: {error}", file=file, hint=hint) from None


def _broker(row: Any, file: str) -> Broker:
    if isinstance(row, list):
        row = dict(zip(("id", "rack"), row, strict=False))
    if isinstance(row, dict):
        node_id, rack = next((row[name] for name in _IDS if name in row), None), row.get("rack")
        if isinstance(node_id, str) and DIGITS.fullmatch(node_id):
            node_id = int(node_id)
        if is_id(node_id) and isinstance(rack, str | None):
            return Broker(node_id, rack=rack, fenced=row.get("fenced") is True)
    raise DumpError(f"{excerpt(row)} is not a broker", file=file, hint=FORMS)
