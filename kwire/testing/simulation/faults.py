"""How the faults of a schedule begin and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...broker.controller.partition import Partition
from .cluster import SimulatedCluster
from .network import SimulatedNetwork
from .schedule import PlannedFault

Undo = Callable[[], None]


class ClientFaults(Protocol):
    """What faults can do to clients, which are given by their number."""

    def crash(self, number: int) -> Undo:
        """End a client without a word; `undo` starts it again."""

    def leave(self, number: int) -> Undo:
        """Let a client leave properly; `undo` starts it again."""

    def pause(self, number: int) -> Undo:
        """Let a client do nothing until `undo`."""

    def start_twin(self, number: int) -> Undo:
        """Start another instance of a client; the older one ends once it is fenced."""


def nothing() -> None:
    """Do nothing: the end of a fault that lasts no time."""


class FaultInjector:
    """Begins faults. Each method begins the faults of one kind, and returns the function that ends the fault."""

    def __init__(self, cluster: SimulatedCluster, network: SimulatedNetwork, clients: ClientFaults) -> None:
        self._cluster, self._network = cluster, network
        self._kinds: dict[str, Callable[[PlannedFault], Undo]] = {
            "stop": self._stop,
            "isolate": self._isolate,
            "unreachable": self._cut_off,
            "fail-disk": self._fail_disk,
            "restart": self._restart,
            "disconnect": self._disconnect,
            "lose": self._lose,
            "delay": self._delay,
            "crash": lambda fault: clients.crash(fault.target),
            "pause": lambda fault: clients.pause(fault.target),
            "twin": lambda fault: clients.start_twin(fault.target),
            "leave": lambda fault: clients.leave(fault.target),
            "move-leader": self._move_leader,
            "shrink-isr": self._shrink_isr,
            "elect-unclean": self._elect_unclean,
        }

    def begin(self, fault: PlannedFault) -> Undo:
        """Begin a fault; returns the function that ends it. Raises ValueError for an unknown kind."""
        if fault.kind not in self._kinds:
            raise ValueError(f"no fault is called {fault.kind!r}; there are {', '.join(self._kinds)}")
        if fault.topic and self._partition(fault) is None:
            return nothing  # an internal topic that is not created yet
        return self._kinds[fault.kind](fault)

    def _partition(self, fault: PlannedFault) -> Partition | None:
        return self._cluster.served.controller.partition(fault.topic, fault.target)

    def _stop(self, fault: PlannedFault) -> Undo:
        self._cluster.stop(fault.target)
        self._network.reset(fault.target)
        return lambda: self._cluster.start(fault.target)

    def _isolate(self, fault: PlannedFault) -> Undo:
        """Cut a broker off from the others and from clients, whose connections hang."""
        self._cluster.stop(fault.target)
        self._network.reset(fault.target, silently=True)
        reconnect = self._cut_off(fault)

        def end() -> None:
            reconnect()
            self._cluster.start(fault.target)

        return end

    def _cut_off(self, fault: PlannedFault) -> Undo:
        unreachable = self._network.unreachable
        unreachable[fault.target] = unreachable.get(fault.target, 0) + 1

        def end() -> None:
            unreachable[fault.target] -= 1

        return end

    def _fail_disk(self, fault: PlannedFault) -> Undo:
        number = round(fault.at * 100) % 2
        self._cluster.set_broken(fault.target, number, True)
        if not self._cluster.is_alive(fault.target):
            self._network.reset(fault.target)
        return lambda: self._cluster.set_broken(fault.target, number, False)

    def _restart(self, fault: PlannedFault) -> Undo:
        self._network.reset()
        self._cluster.restart()
        return nothing

    def _disconnect(self, fault: PlannedFault) -> Undo:
        self._network.reset(fault.target)
        return nothing

    def _lose(self, fault: PlannedFault) -> Undo:
        self._network.loss += fault.amount

        def end() -> None:
            self._network.loss = max(0.0, round(self._network.loss - fault.amount, 6))

        return end

    def _delay(self, fault: PlannedFault) -> Undo:
        self._network.delay += fault.amount

        def end() -> None:
            self._network.delay = max(0.0, round(self._network.delay - fault.amount, 6))

        return end

    def _move_leader(self, fault: PlannedFault) -> Undo:
        partition = self._partition(fault)
        assert partition is not None
        online = [broker for broker in partition.isr if partition.replicas[broker].is_online]
        others = [broker for broker in online if broker != partition.leader]
        if others:
            self._cluster.served.move_leader(partition, others[int(fault.amount) % len(others)])
        return nothing

    def _shrink_isr(self, fault: PlannedFault) -> Undo:
        partition = self._partition(fault)
        assert partition is not None
        broker = int(fault.amount)
        if any(replica != broker for replica in partition.isr):
            self._cluster.served.shrink_isr(partition, [broker])
        return self._cluster.expand_isrs

    def _elect_unclean(self, fault: PlannedFault) -> Undo:
        """Leave only the leader in the ISR; at the end, elect another replica, which lacks records."""
        partition = self._partition(fault)
        assert partition is not None
        behind = [broker for broker in partition.isr if broker != partition.leader]
        if behind:
            self._cluster.served.shrink_isr(partition, behind)

        def end() -> None:
            current = self._partition(fault)
            online = [broker for broker in behind if current is not None and current.replicas[broker].is_online]
            if current is not None and online:
                self._cluster.served.elect_unclean_leader(current, online[0])

        return end
