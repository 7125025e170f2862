"""A cluster for tests, in a thread or as a process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Self

from ..codecs.records import Record
from .as_process import AsProcess
from .in_thread import Backend, InThread
from .kafka_base import INTERVAL, NOT_YET, KafkaBase, Text
from .operations import Rule
from .running_clusters import note_stop


class Kafka(KafkaBase):
    """A Kafka cluster for tests, in a thread or as a process; a context manager.

    Args:
        brokers: the number of brokers; their ids are 1, 2 and so on.
        racks: the racks of the brokers, one for each broker; by default brokers have no rack.
        log_dirs: the number of log directories of each broker; they are in memory, unless `directory` is given.
        directory: where the log directories are created on disk; they remain after the test. With `process` and without
            `directory`, they are in a temporary directory.
        partitions: the number of partitions of a topic that is created without one.
        replication_factor: the replication factor of a topic that is created without one; by default 3, or the number
            of brokers if that is less.
        topics: names of topics to create, or a dict from names to numbers of partitions.
        auto_create_topics: whether a client's request for a missing topic creates it.
        seed: the seed of ids and placements; random by default.
        rack_aware_fetch: whether consumers are sent to a replica in their rack (KIP-392).
        users: a dict from names to passwords, with which clients authenticate (SASL); without users, clients do not
            authenticate.
        sasl_mechanisms: the mechanisms that clients may use: PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512, or some of them.
        max_reauth: seconds after which clients must authenticate again (KIP-368); 0 means never.
        acls: whether ACLs are enforced, as by Kafka's StandardAuthorizer: an operation without a matching ACL is
            denied.
        super_users: names or principals that may do everything without an ACL.
        tls: the files of a listener with TLS.
        release: a Kafka release such as `2.8`; the brokers serve only the apis and versions of this release.
        configs: broker configs by Kafka's names, such as `{"message.max.bytes": "2000"}`; a warning names those that
            have no effect, and the page "Configs" lists all.
        realistic: whether defaults are Kafka's where kwire has others, which suit tests: records are kept for 7 days,
            heartbeats of groups come every 5 s, and new groups wait 3 s for members.
        chaos: the seed of lawful disturbances: requests meet what is rare in Kafka, such as leaders that move, loading
            coordinators, rebalances and closed connections. `disturbances()` lists them.
        process: whether the cluster runs as a separate process, so that it takes no time from this process's threads.

    Raises:
        ValueError: an impossible number, such as zero brokers.
        CallError: a log directory is in use.

    >>> with Kafka(topics=["orders"]) as kafka:
    ...     _ = kafka.produce("orders", b"one", b"two")
    ...     [record.value for record in kafka.records("orders")]
    [b'one', b'two']
    """

    _backend: Backend | None = None

    def start(self) -> Self:
        """Start the cluster, if `with` cannot be used."""
        if self._backend is not None:
            raise RuntimeError("the cluster runs already")
        backend: Backend = AsProcess(self._plan) if self._is_process else InThread(self._plan)
        self._backend = backend
        self._begin(backend.addresses)
        return self

    def stop(self) -> None:
        """Stop the cluster, and remove its temporary files.

        Raises what a function of a rule has raised, or the broker's own code: clients get UNKNOWN_SERVER_ERROR,
        and the test gets the exception, with a note that names the request.
        """
        backend = self._backend
        if backend is not None:
            note_stop(self)
        self._backend = None
        self._addresses = ()
        if backend is not None:
            backend.stop()
            self._report(backend.failed())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _do(self, operation: str, **arguments: Any) -> Any:
        if self._backend is None:
            raise RuntimeError("the cluster does not run; enter it: with Kafka() as kafka")
        return self._backend.do(operation, arguments)

    def _failed(self) -> Exception | None:
        return self._backend.failed() if self._backend is not None else None

    def stop_broker(self, broker: int) -> None:
        """Stop a broker: its connections close, and other brokers lead its partitions."""
        self._do("stop_broker", broker=broker)

    def start_broker(self, broker: int) -> None:
        """Restart a stopped broker on its previous port; its replicas catch up."""
        self._do("start_broker", broker=broker)

    def wait_for(self, condition: Callable[[], Any], timeout: float = 30.0, what: Text = NOT_YET) -> None:
        """Wait until a condition holds; raises TimeoutError with the text `what` after `timeout` seconds."""
        until = time.monotonic() + timeout
        while not self._is_due(condition, until, what):
            time.sleep(INTERVAL)

    def wait_group(self, group: str, state: str, timeout: float = 30.0) -> None:
        """Wait until a group is in a state, such as `Stable` or `Empty`; `Dead` means that the group does not exist."""
        self.wait_for(self._is_in(group, state), timeout, self._state_text(group, state, timeout))

    def wait_hits(self, rule: Rule, hits: int = 1, timeout: float = 30.0) -> None:
        """Wait until a rule has applied to `hits` requests."""
        self.wait_for(lambda: rule.hits >= hits, timeout, self._hits_text(rule, hits, timeout))

    def wait_records(self, topic: str, count: int, timeout: float = 30.0) -> list[Record]:
        """Wait until a topic has at least `count` records; returns all its records."""
        self.wait_for(lambda: len(self.records(topic)) >= count, timeout, self._records_text(topic, count, timeout))
        return self.records(topic)
