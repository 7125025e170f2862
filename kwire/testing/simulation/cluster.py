"""The simulated brokers: a `ServedCluster` on simulated disks, which can be restarted as a whole."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from ...broker import Node, ServedCluster, Settings
from ...broker.chaos import Chaos
from ...broker.fault_rules import Treatment
from ...broker.node import LogDir
from ...broker.request_context import RequestContext
from ...broker.request_frames import ServedRequest, read_request, write_response
from ...broker.security.sasl_session import SaslSession
from ...protocol import Frame
from .disk import SimulatedDisk
from .schedule import BROKERS, INTERNAL_PARTITIONS, PARTITIONS, TOPIC

SESSION_TIMEOUT = 6.0
TRANSACTION_TIMEOUT = 5.0
DELIVERY_LIMIT = 10
LOCK_SECONDS = 2.0
SHARE_GROUPS = {"share-uncommitted": "read_uncommitted", "share-committed": "read_committed"}


class HandledRequest(NamedTuple):
    """A request that a broker has handled: its response, perhaps parked, and how chaos treats it."""

    request: ServedRequest
    response: Any
    treatment: Treatment


class SimulatedCluster:
    """Three brokers with two disks each.

    Args:
        seed: the seed of the brokers' random choices.
        is_unclean: whether one in-sync replica is enough to acknowledge, as with unclean elections.
        has_chaos: whether requests meet the lawful chaos of this seed until `calm`.

    Attributes:
        served: the brokers; replaced by `restart`.
        stopped: how many faults stop each broker.
        now: the time in seconds, set by the simulation.
    """

    def __init__(self, seed: int, *, is_unclean: bool = False, has_chaos: bool = False) -> None:
        self._seed = seed
        self._starts = 0
        self._chaos: Chaos | None = Chaos(seed) if has_chaos else None
        self._settings = Settings(
            auto_create_topics=False,
            default_replication_factor=3,
            min_insync_replicas=1 if is_unclean else 2,
            internal_partitions=INTERNAL_PARTITIONS,
            consumer_session_timeout=SESSION_TIMEOUT,
        )
        self._disks = {node_id: [SimulatedDisk(f"/{node_id}/{name}") for name in "ab"] for node_id in BROKERS}
        self.stopped: dict[int, int] = dict.fromkeys(BROKERS, 0)
        self.now: float = 0.0
        self.served: ServedCluster = self._start()
        controller = self.served.controller
        placement = {index: [*BROKERS[index % 3 :], *BROKERS[: index % 3]] for index in range(PARTITIONS)}
        controller.create(TOPIC, placement)
        for group, isolation in SHARE_GROUPS.items():
            # shorter than Kafka's minimum, so that locks and sessions expire within a simulation
            configs = {
                "share.auto.offset.reset": "earliest",
                "share.delivery.count.limit": str(DELIVERY_LIMIT),
                "share.isolation.level": isolation,
                "share.record.lock.duration.ms": str(int(LOCK_SECONDS * 1000)),
                "share.session.timeout.ms": str(int(SESSION_TIMEOUT * 1000)),
            }
            controller.configure_group(group, configs)

    def _start(self) -> ServedCluster:
        self._starts += 1
        nodes = [Node(node_id, port=9092 + node_id, disks=disks) for node_id, disks in self._disks.items()]
        served = ServedCluster(nodes, self._settings, Random(f"{self._seed} brokers {self._starts}"))
        served.chaos = self._chaos
        served.time_ms = lambda: int(self.now * 1000)
        served.tick(self.now)
        return served

    def calm(self) -> None:
        """End chaos."""
        self._chaos = self.served.chaos = None

    def take_disturbances(self) -> list[str]:
        """Return what chaos did to requests since the last call."""
        if self._chaos is None:
            return []
        lines = list(self._chaos.noted)
        self._chaos.noted.clear()
        return lines

    def restart(self) -> None:
        """Kill all brokers at once, and start them again with the contents of their disks."""
        self.served = self._start()
        for node_id, count in self.stopped.items():
            if count:
                self.served.stop(node_id)

    def stop(self, node_id: int) -> None:
        """Stop a broker, or cut it off from the others."""
        self.stopped[node_id] += 1
        self.served.stop(node_id)

    def start(self, node_id: int) -> None:
        """End one reason for which a broker is stopped."""
        self.stopped[node_id] -= 1
        if not self.stopped[node_id]:
            self.served.start(node_id)

    def set_broken(self, node_id: int, number: int, is_broken: bool) -> None:
        """Break or repair a disk."""
        self._disks[node_id][number].is_broken = is_broken
        log_dir: LogDir = self.served.controller.nodes[node_id].log_dirs[number]
        if is_broken:
            self.served.fail(log_dir)
        elif log_dir.is_offline:
            self.served.heal(log_dir)

    def is_alive(self, node_id: int) -> bool:
        """Return whether a broker runs and has a working disk."""
        return self.served.controller.nodes[node_id].is_alive

    def expand_isrs(self) -> None:
        """Make all replicas catch up."""
        for partition in list(self.served.controller.partitions()):
            self.served.expand_isr(partition)

    def handle(self, node_id: int, data: bytes, session: SaslSession) -> HandledRequest | None:
        """Handle a request frame; None if it must be answered by closing the connection."""
        request = read_request(Frame(data), self.served.catalog, self.served.apis)
        if not isinstance(request, ServedRequest):
            return None
        context = RequestContext(
            self.served,
            node_id,
            request.message,
            request.version,
            self.now,
            request.client_id,
            request.client_id,
            session.principal,
            session,
        )
        if self.served.chaos is not None:
            context = self.served.chaos.disturb(context)
        treatment = self.served.rules.treat(context)
        if treatment.drop and not treatment.drop.is_handled:
            return None
        return HandledRequest(request, self.served.handle(context), treatment)

    def encode(self, handled: HandledRequest, response: Any) -> bytes:
        """Return the frame of a response, as chaos changes it."""
        if handled.treatment.change:
            response = handled.treatment.change.answer(handled.request.message, response)
        return write_response(handled.request, response, self.served.catalog)
