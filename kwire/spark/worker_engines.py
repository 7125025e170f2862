"""Which workers of a cluster decode without the native engine."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator
from typing import Any

PROBES = 4  # tasks per core of a cluster that report the engine
SERVER_PROBES = 32  # number of such tasks on a Spark Connect server, whose number of cores is unknown


def engine_notices(spark: Any) -> list[str]:
    """Return a sentence about the machines of a cluster that decode without the native engine.

    The list is empty if all machines have it.

    Args:
        spark: a session from `session`, after a job, so that executors are running.
    """
    from pyspark.sql.utils import is_remote

    if is_remote():
        tasks = SERVER_PROBES
    elif re.match(r"local(\[|$)", spark.sparkContext.master):
        return []
    else:
        tasks = PROBES * spark.sparkContext.defaultParallelism
    slow = sorted(host for host, engine in workers_engines(spark, tasks) if engine != "native")
    if not slow:
        return []
    return [f"without the native engine, slower: workers on {', '.join(slow)} (another platform, or another Python)"]


def workers_engines(spark: Any, tasks: int) -> set[tuple[str, str]]:
    """Return the names of machines that run tasks, each with kwire's engine there."""
    rows = spark.range(0, tasks, 1, tasks).mapInArrow(_engines, "host string, engine string")
    return {(row["host"], row["engine"]) for row in rows.distinct().collect()}


def _engines(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    import kwire

    for _ in batches:
        yield pa.RecordBatch.from_pylist([{"host": socket.gethostname(), "engine": kwire.engine}])
