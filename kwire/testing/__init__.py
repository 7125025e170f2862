"""Kafka for tests: brokers on free ports of this machine, in a thread, in the running event loop, or as a process.

Any client in any language can connect to them. The brokers and their temporary files are removed when the block ends.
`Kafka` runs in a thread or as a process, `AsyncKafka` in the running event loop. Their methods control rules for
requests, brokers, leaders, disks, the clock and records.

    >>> from kwire import testing
    >>> with testing.Kafka(brokers=3, topics={"orders": 6}) as kafka:
    ...     len(kafka.bootstrap_servers.split(","))
    3
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .async_kafka import AsyncKafka
from .cluster_options import Tls
from .hostile.hostile_broker import HostileBroker
from .kafka import Kafka
from .operations import Requests, Rule

if TYPE_CHECKING:
    from .simulation import SimulationFailure, SimulationResult, simulate

__all__ = [
    "AsyncKafka",
    "HostileBroker",
    "Kafka",
    "Requests",
    "Rule",
    "SimulationFailure",
    "SimulationResult",
    "Tls",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import what simulates only when it is used."""
    if name in ("SimulationFailure", "SimulationResult", "simulate"):
        return getattr(import_module(".simulation", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
