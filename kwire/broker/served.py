"""A served cluster: messages in, messages out, some of them later.

Knows which handler answers what; is told the time, and given its chance. Knows no bytes: `talking` does.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from random import Random
from typing import Any

from ..catalog import Catalog, catalog_for
from .apis import apis_by_key, handler_for, table_for
from .asks import Ask
from .controller import Controller
from .groups.coordinator import Groups
from .journal import cluster_record
from .nodes import LogDir, Node
from .recovery import recover
from .settings import Settings
from .topics import Topic
from .waiting import WaitingRoom


class ServedCluster:
    """Brokers that answer, with one controller, sharing all state.

    Args:
        nodes: the brokers, at least one.
        settings: what can be set.
        rng: chance for ids and placements.

    Attributes:
        catalog: the specs of what is served.
        table, apis: the served apis by name, and by key.
        groups: of consumers, and others.
        fetch_max_bytes: of one answer to Fetch; who runs the cluster may lower it for a while.
        waiting: requests that are answered later; who runs the cluster takes them out of `waiting.answered`.

    >>> from random import Random
    >>> from kwire import messages
    >>> cluster = ServedCluster([Node(1)], Settings(), Random(1))
    >>> found = cluster.answer(1, messages.MetadataRequest(topics=None), 12, now=0.0)
    >>> [broker.node_id for broker in found.brokers], found.topics
    ([1], ())
    """

    def __init__(self, nodes: Sequence[Node], settings: Settings, rng: Random) -> None:
        self.settings, self.rng = settings, rng
        self.fetch_max_bytes = settings.fetch_max_bytes
        self.catalog: Catalog = catalog_for("KIP-879" if settings.kip_879 else None)
        self.table = table_for(settings.kip_879)
        self.apis = apis_by_key(self.table, self.catalog)
        self.controller = Controller(nodes, settings, rng)
        recover(self.controller)
        self.waiting = WaitingRoom()
        self.groups = Groups(self.controller, self.waiting)
        self.producer_ids = rng.getrandbits(40)  # the last one given; those of an earlier run are in its logs
        cluster_id = urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("=")
        if not self.controller.cluster_id:
            self.controller.cluster_id = cluster_id
            self.controller.note([cluster_record(cluster_id)])

    @property
    def cluster_id(self) -> str:
        """What clients know the cluster by; the same after a restart with log directories."""
        return self.controller.cluster_id

    @property
    def notes(self) -> list[str]:
        """What an operator wants to know; who runs the cluster takes it out."""
        return self.controller.notes

    def answer(
        self, node_id: int, message: Any, version: int, *, now: float, client_id: str = "", client_host: str = ""
    ) -> Any:
        """Answer a request that one of the brokers got.

        Args:
            node_id: which broker.
            message: the request, of an api and version that is served.
            version: its version.
            now: the time, in seconds.
            client_id, client_host: who asks.

        Returns:
            The response; a `Parked` that will have one; or None if none is due (Produce with acks=0).
        """
        name = type(message).__name__.removesuffix("Request")
        handler = handler_for(self.table[name].handler)
        return handler(Ask(self, node_id, message, version, now, client_id, client_host))

    def fail(self, *log_dirs: LogDir) -> None:
        """Take log directories offline, and answer whoever waits for what was there."""
        if not log_dirs:
            return
        self.controller.fail(*log_dirs)
        for partition in self.controller.partitions():
            if partition.offline:
                self.waiting.changed((partition.topic, partition.index))

    def check(self) -> None:
        """Take directories offline that do not work any more."""
        for node in self.controller.nodes.values():
            for log_dir in node.log_dirs:
                try:
                    if not log_dir.is_offline:
                        log_dir.disk.check()
                except OSError:
                    self.fail(log_dir)

    def delete(self, topic: Topic) -> None:
        """Delete a topic, and answer whoever waits for its records."""
        self.controller.delete(topic)
        for partition in topic.partitions:
            self.waiting.changed((partition.topic, partition.index))

    def tick(self, now: float) -> None:
        """Let time pass."""
        self.waiting.tick(now)

    @property
    def next_deadline(self) -> float | None:
        """When to `tick` next; None if nothing waits."""
        return self.waiting.next_deadline
