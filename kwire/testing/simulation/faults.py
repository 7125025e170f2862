"""How the faults of a schedule begin and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .cluster import SimulatedCluster
from .network import Network
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
        """Start another instance of a client; `undo` ends the older one."""


def begin_fault(fault: PlannedFault, cluster: SimulatedCluster, network: Network, clients: ClientFaults) -> Undo:
    """Begin a fault; returns the function that ends it."""
    partition = cluster.served.controller.partition(fault.topic, fault.target) if fault.topic else None
    if fault.topic and partition is None:
        return _nothing  # an internal topic that is not created yet
    match fault.kind:
        case "stop":
            cluster.stop(fault.target)
            network.reset(fault.target)
            return lambda: cluster.start(fault.target)
        case "isolate":
            cluster.stop(fault.target)
            network.reset(fault.target, silently=True)
            end = _unreachable(network, fault.target)
            return lambda: (end(), cluster.start(fault.target))[0]
        case "unreachable":
            return _unreachable(network, fault.target)
        case "fail-disk":
            number = round(fault.at * 100) % 2
            cluster.set_broken(fault.target, number, True)
            if not cluster.is_alive(fault.target):
                network.reset(fault.target)
            return lambda: cluster.set_broken(fault.target, number, False)
        case "restart":
            network.reset()
            cluster.restart()
        case "disconnect":
            network.reset(fault.target)
        case "lose":
            return _add_loss(network, fault.amount)
        case "delay":
            return _add_delay(network, fault.amount)
        case "crash":
            return clients.crash(fault.target)
        case "pause":
            return clients.pause(fault.target)
        case "twin":
            return clients.start_twin(fault.target)
        case "leave":
            return clients.leave(fault.target)
        case "move-leader":
            assert partition is not None
            others = [one for one in partition.isr if one != partition.leader and partition.replicas[one].is_online]
            if others:
                cluster.served.move_leader(partition, others[int(fault.amount) % len(others)])
        case "shrink-isr":
            assert partition is not None
            broker = int(fault.amount)
            if [one for one in partition.isr if one != broker]:
                cluster.served.shrink_isr(partition, [broker])
            return cluster.expand_isrs
        case "elect-unclean":
            assert partition is not None
            return _elect_unclean(fault, cluster)
        case _:
            raise ValueError(f"no fault is called {fault.kind!r}")
    return _nothing


def _nothing() -> None:
    pass


def _unreachable(network: Network, broker: int) -> Undo:
    network.unreachable[broker] = network.unreachable.get(broker, 0) + 1

    def end() -> None:
        network.unreachable[broker] -= 1

    return end


def _add_loss(network: Network, probability: float) -> Undo:
    network.loss += probability

    def end() -> None:
        network.loss = max(0.0, round(network.loss - probability, 6))

    return end


def _add_delay(network: Network, seconds: float) -> Undo:
    network.delay += seconds

    def end() -> None:
        network.delay = max(0.0, round(network.delay - seconds, 6))

    return end


def _elect_unclean(fault: PlannedFault, cluster: SimulatedCluster) -> Undo:
    """Remove two replicas from the ISR; at the end, elect one of them although it lacks records."""
    partition = cluster.served.controller.partition(fault.topic, fault.target)
    assert partition is not None
    behind = [one for one in partition.isr if one != partition.leader]
    if behind:
        cluster.served.shrink_isr(partition, behind)

    def end() -> None:
        current = cluster.served.controller.partition(fault.topic, fault.target)
        if current is not None:
            online = [one for one in behind if current.replicas[one].is_online]
            if online:
                cluster.served.elect_unclean_leader(current, online[0])

    return end
