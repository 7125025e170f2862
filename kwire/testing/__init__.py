"""Kafka for tests: brokers on free ports of this machine, in a thread, in the running event loop, or as a process.

Any client in any language can connect to them. Nothing is left behind when the block ends.

    >>> from kwire import testing
    >>> with testing.Kafka(brokers=3, topics={"orders": 6}) as kafka:
    ...     len(kafka.bootstrap_servers.split(","))
    3
"""

from .backends import Tls
from .kafka import AsyncKafka, Kafka, Requests, Rule

__all__ = ["AsyncKafka", "Kafka", "Requests", "Rule", "Tls"]
