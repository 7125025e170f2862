"""What is under way in a cluster, and the steps in which it goes on: bytes on connections, changes to be seen.

Deterministic: a step happens when it is taken, `run` takes them in a fixed order. Knows no world that acts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from .behaviours import InterBrokerProtocol
from .broker import KafkaBroker
from .controller import KafkaController
from .ensemble import Ensemble
from .links import Exchange, Link
from .log_manager import Disk
from .request_batch import Send

LinkKey = tuple[int, int, int]  # controller epoch, broker, epoch of the broker
Step = tuple[str, LinkKey | int]


@dataclass(slots=True)
class Host:
    """What a broker runs on: its disks by log directory, its session, and broker and controller while they run.

    `epochs` are the registrations of this start, `reigns` its epochs as the controller; `told` are the changed znodes
    that the controller has not seen.
    """

    disks: dict[str, Disk]
    protocol: InterBrokerProtocol
    session: int = -1
    broker: KafkaBroker | None = None
    controller: KafkaController | None = None
    epochs: set[int] = field(default_factory=set)
    reigns: set[int] = field(default_factory=set)
    told: deque[str] = field(default_factory=deque)


class Steps:
    """Hosts, their ZooKeeper and the connections between them. `journal` has what was delivered, in its order."""

    def __init__(self, hosts: dict[int, Host]) -> None:
        self.hosts = hosts
        self.zk = Ensemble()
        self.links: dict[LinkKey, Link] = {}
        self.journal: list[Exchange] = []

    def after(self) -> None:
        """Bring on what a step left behind: changes to who watches, requests to their connections."""
        for path in self.zk.take_changes():
            for host in self.hosts.values():
                if host.controller is not None:
                    host.told.append(path)
        for host in self.hosts.values():
            if host.controller is not None:
                for sent in host.controller.take_requests():
                    self._send(sent, host.controller)

    def steps(self) -> Iterator[Step]:
        """Yield what can happen next: `request` and `answer` with the key of a link, `znode` with a broker's id."""
        for key, link in self.links.items():
            if link.can_deliver:
                yield "request", key
            if link.answer is not None:
                yield "answer", key
        for broker_id, host in self.hosts.items():
            if host.told:
                yield "znode", broker_id

    def take(self, step: Step) -> None:
        """Let one of the `steps` happen."""
        kind, which = step
        if isinstance(which, int):
            self._see_change(which)
        elif kind == "request":
            self._deliver(self.links[which])
        else:
            self._answer(self.links[which], which)

    def drop(self, key: LinkKey) -> None:
        """Lose a connection: what was not answered is sent again."""
        self.links[key].drop()

    def run(self) -> None:
        """Let everything happen that can, in a fixed order, until the cluster is quiet."""
        while (step := next(self.steps(), None)) is not None:
            self.take(step)

    def _see_change(self, broker_id: int) -> None:
        host = self.hosts[broker_id]
        path = host.told.popleft()
        if host.controller is not None:
            host.controller.on_change(path)
        self.after()

    def _deliver(self, link: Link) -> None:
        broker = self.hosts[link.broker_id].broker
        assert broker is not None  # a link goes when its broker does
        self.journal.append(link.waiting[0][0])
        link.deliver(broker.handle)
        self.after()

    def _answer(self, link: Link, key: LinkKey) -> None:
        exchange = link.take_answer()
        for host in self.hosts.values():
            if host.controller is not None and host.controller.context.epoch == link.controller_epoch:
                host.controller.on_response(link.broker_id, key[2], exchange.request, exchange.response)
        self.after()

    def _send(self, sent: Send, controller: KafkaController) -> None:
        epoch, broker_id = controller.context.epoch, sent.broker_id
        if sent.broker_epoch not in self.hosts[broker_id].epochs:
            return  # to a start of the broker that is over: the connection is refused
        self.links = {
            key: link
            for key, link in self.links.items()
            if key[:2] != (epoch, broker_id) or key[2] == sent.broker_epoch
        }
        self.links.setdefault((epoch, broker_id, sent.broker_epoch), Link(broker_id, epoch)).send(sent)
