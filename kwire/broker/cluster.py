"""The state of a served cluster, and the request context that is passed to handlers. Knows no handlers and no
bytes.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from ..spec.catalog import Catalog, catalog_for
from .configs import LogDir, Node, Settings
from .controller import Controller
from .groups.coordinator import Groups
from .metadata_journal import cluster_record
from .purgatory import Purgatory
from .recovery import recover
from .topics import Topic


class Api(NamedTuple):
    """The versions of an api that are served, and its handler.

    Attributes:
        first, last: the lowest and the highest version.
        handler: returns the response; a `Parked` that will have one; or None if none is due.
    """

    first: int
    last: int
    handler: Callable[[RequestContext], Any]


@dataclass(frozen=True, slots=True)
class RequestContext:
    """A request to a served cluster.

    Attributes:
        cluster: the cluster.
        node_id: the broker that received the request.
        message: the request.
        version: its version.
        now: when it was received, in seconds of any clock.
        client_id, client_host: who sent it.
    """

    cluster: Cluster
    node_id: int
    message: Any
    version: int
    now: float
    client_id: str
    client_host: str


class Cluster:
    """Brokers with one controller, sharing all state.

    Args:
        nodes: the brokers, at least one.
        settings: what can be set.
        rng: chance for ids and placements.
        table: the served apis by name.

    Attributes:
        catalog: the specs of what is served.
        table, apis: the served apis by name, and by key.
        groups: of consumers, and others.
        fetch_max_bytes: of one response to Fetch; who runs the cluster may lower it for a while.
        waiting: requests that are answered later; who runs the cluster takes them out of `waiting.answered`.
    """

    def __init__(self, nodes: Sequence[Node], settings: Settings, rng: Random, table: Mapping[str, Api]) -> None:
        self.settings: Settings = settings
        self.rng: Random = rng
        self.fetch_max_bytes: int = settings.fetch_max_bytes
        self.catalog: Catalog = catalog_for("KIP-879" if settings.kip_879 else None)
        self.table = table
        self.apis: dict[int, Api] = {self._api_key(name, api): api for name, api in table.items()}
        self.controller: Controller = Controller(nodes, settings, rng)
        recover(self.controller)
        self.waiting: Purgatory = Purgatory()
        self.groups: Groups = Groups(self.controller, self.waiting)
        self.producer_ids: int = rng.getrandbits(40)  # the last one given; those of an earlier run are in its logs
        cluster_id = urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("=")
        if not self.controller.cluster_id:
            self.controller.cluster_id = cluster_id
            self.controller.note([cluster_record(cluster_id)])

    def _api_key(self, name: str, api: Api) -> int:
        key = self.catalog.spec(f"{name}Request", api.last).api_key
        assert key is not None
        return key

    @property
    def cluster_id(self) -> str:
        """What clients know the cluster by; the same after a restart with log directories."""
        return self.controller.cluster_id

    @property
    def notes(self) -> list[str]:
        """What an operator wants to know; who runs the cluster takes it out."""
        return self.controller.notes

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
