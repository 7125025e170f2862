"""Kafka for tests: brokers on free ports of this machine, in a thread, in the running event loop, or as a process.

Any client in any language can connect to them. The brokers and their temporary files are removed when the block ends.
`Kafka` runs in a thread or as a process, `AsyncKafka` in the running event loop. Their methods control rules for
requests, brokers, leaders, disks, the clock and records.

    >>> from kwire import testing
    >>> with testing.Kafka(brokers=3, topics={"orders": 6}) as kafka:
    ...     len(kafka.bootstrap_servers.split(","))
    3
"""

from ..runtime.lazy_names import attach_stub

__getattr__, __dir__ = attach_stub(__name__)  # the names are in `__init__.pyi`
