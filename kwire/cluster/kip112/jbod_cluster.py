"""A cluster of brokers with JBOD disks, their controller and ZooKeeper, simulated step by step (KIP-112).

Controller and brokers exchange encoded bytes. The caller chooses each step: which message arrives, which disk fails,
which broker restarts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...zookeeper import BrokerRegistration
from .controller.kafka_controller import KafkaController
from .controller.request_batch import SendRequest
from .ensemble import Ensemble
from .kafka_broker import KafkaBroker
from .kafka_zk_client import BROKERS, CONTROLLER, DELETE_TOPICS, KafkaZkClient
from .links import Link, LinkKey, RequestExchange
from .log_manager import JbodDisk
from .releases import Behaviour, InterBrokerProtocol, Name, behaviour_for, protocol_for
from .values import ReplicaAssignment, TopicPartition

Step = tuple[str, LinkKey | int]


@dataclass(slots=True)
class Host:
    """The host of a broker: disks by log directory, its session, and the broker and controller while they run.

    `epochs` are the registrations of this incarnation, `controller_epochs` those in which it was the
    controller; `changes` are changed znodes that the controller has not seen.
    """

    disks: dict[str, JbodDisk]
    protocol: InterBrokerProtocol
    session: int = -1
    broker: KafkaBroker | None = None
    controller: KafkaController | None = None
    epochs: set[int] = field(default_factory=set)
    controller_epochs: set[int] = field(default_factory=set)
    changes: deque[str] = field(default_factory=deque)


class Steps:
    """The hosts, their ZooKeeper and the connections between them. `journal` lists the deliveries in order."""

    def __init__(self, hosts: dict[int, Host]) -> None:
        self.hosts = hosts
        self.zk: Ensemble = Ensemble()
        self.links: dict[LinkKey, Link] = {}
        self.journal: list[RequestExchange] = []

    def after(self) -> None:
        """Deliver the effects of a step: changed znodes to their watchers, requests to their connections."""
        for path in self.zk.take_changes():
            for host in self.hosts.values():
                if host.controller is not None:
                    host.changes.append(path)
        for host in self.hosts.values():
            if host.controller is not None:
                for sent in host.controller.take_requests():
                    self._send(sent, host.controller)

    def steps(self) -> Iterator[Step]:
        """Yield the possible next steps: `request` and `answer` with the key of a link, `znode` with a broker id."""
        for key, link in self.links.items():
            if link.can_deliver:
                yield "request", key
            if link.answer is not None:
                yield "answer", key
        for broker_id, host in self.hosts.items():
            if host.changes:
                yield "znode", broker_id

    def take(self, step: Step) -> None:
        """Perform one of the `steps`."""
        kind, which = step
        if isinstance(which, int):
            self._see_change(which)
        elif kind == "request":
            self._deliver(self.links[which])
        else:
            self._answer(self.links[which], which)

    def drop(self, key: LinkKey) -> None:
        """Close a connection: requests without a response are sent again."""
        self.links[key].drop()

    def run(self) -> None:
        """Perform all possible steps, in a fixed order, until the cluster is quiet."""
        while (step := next(self.steps(), None)) is not None:
            self.take(step)

    def _see_change(self, broker_id: int) -> None:
        host = self.hosts[broker_id]
        path = host.changes.popleft()
        if host.controller is not None:
            host.controller.on_change(path)
        self.after()

    def _deliver(self, link: Link) -> None:
        broker = self.hosts[link.broker_id].broker
        assert broker is not None  # the link is removed together with its broker
        self.journal.append(link.waiting[0][0])
        link.deliver(broker.handle)
        self.after()

    def _answer(self, link: Link, key: LinkKey) -> None:
        exchange = link.take_answer()
        for host in self.hosts.values():
            if host.controller is not None and host.controller.context.epoch == link.controller_epoch:
                host.controller.on_response(link.broker_id, key[2], exchange.request, exchange.response)
        self.after()

    def _send(self, sent: SendRequest, controller: KafkaController) -> None:
        epoch = controller.context.epoch
        broker_id = sent.broker_id
        if sent.broker_epoch not in self.hosts[broker_id].epochs:
            return  # addressed to an earlier incarnation of the broker: the connection is refused
        self.links = {
            key: link
            for key, link in self.links.items()
            if key[:2] != (epoch, broker_id) or key[2] == sent.broker_epoch
        }
        self.links.setdefault((epoch, broker_id, sent.broker_epoch), Link(broker_id, epoch)).send(sent)


class JbodCluster(Steps):
    """A cluster with several log directories on each broker (KIP-112).

    Args:
        brokers: broker id -> its log directories.
        behaviour: `"kip"` follows the text of KIP-112, `"released"` the brokers of a release.
        release: the release.
        protocol: the `inter.broker.protocol.version` of all brokers.
        unclean: whether out-of-sync replicas may become leaders.

    >>> cluster = JbodCluster({1: ["/a", "/b"], 2: ["/a", "/b"]})
    >>> for broker_id in (1, 2):
    ...     cluster.start(broker_id)
    >>> cluster.elect(1)
    True
    >>> cluster.create_topic("orders", [(1, 2)])
    >>> cluster.run()
    >>> cluster.client(1).state(("orders", 0)).isr
    (1, 2)
    """

    def __init__(
        self,
        brokers: dict[int, Sequence[str]],
        *,
        behaviour: Name = "kip",
        release: str = "3.9",
        protocol: str = "3.9",
        unclean: bool = False,
    ) -> None:
        spoken = protocol_for(protocol)
        hosts = {broker_id: Host({path: JbodDisk() for path in paths}, spoken) for broker_id, paths in brokers.items()}
        super().__init__(hosts)
        self.unclean: bool = unclean
        self.behaviour: Behaviour = behaviour_for(behaviour, release)
        self._sessions = 0

    def client(self, broker_id: int) -> KafkaZkClient:
        """Return the ZooKeeper session of a broker."""
        return KafkaZkClient(self.zk, self.hosts[broker_id].session)

    def start(self, broker_id: int, registration: BrokerRegistration | None = None) -> None:
        """Start a broker on its host, with a new session; an earlier session ends."""
        host = self.hosts[broker_id]
        self.zk.end_session(host.session)
        registered = registration or BrokerRegistration(host=f"broker-{broker_id}", port=9092, version=1, timestamp="0")
        host.session = self._new_session()
        host.broker = KafkaBroker(
            broker_id, host.disks, self.client(broker_id), registered, behaviour=self.behaviour, protocol=host.protocol
        )
        host.epochs = set()
        host.controller_epochs = set()
        self._note_registration(broker_id)

    def crash(self, broker_id: int) -> None:
        """Kill a broker: its connections break; its session with ZooKeeper lasts until `expire`."""
        host = self.hosts[broker_id]
        self.links: dict[LinkKey, Link] = {
            key: link
            for key, link in self.links.items()
            if key[0] not in host.controller_epochs and key[1] != broker_id
        }
        host.broker = host.controller = None
        host.epochs.clear()
        host.changes.clear()

    def expire(self, broker_id: int) -> None:
        """End the session of a broker.

        A running broker opens a new session and keeps its replicas, but is no longer the controller.
        """
        host = self.hosts[broker_id]
        self.zk.end_session(host.session)
        host.controller = None
        host.changes.clear()
        if host.broker is not None:
            host.session = self._new_session()
            host.broker.reconnect(self.client(broker_id))
        self._note_registration(broker_id)

    def stop(self, broker_id: int) -> None:
        """Kill a broker and end its session."""
        self.crash(broker_id)
        self.expire(broker_id)

    def elect(self, broker_id: int) -> bool:
        """Make a running broker try to become the controller; return whether it succeeded."""
        host = self.hosts[broker_id]
        epoch = self.client(broker_id).elect_controller(broker_id) if host.broker else None
        if epoch is None:
            return False
        host.controller_epochs.add(epoch)
        host.controller = KafkaController(
            broker_id,
            epoch,
            self.client(broker_id),
            behaviour=self.behaviour,
            protocol=host.protocol,
            unclean=self.unclean,
        )
        self.zk.take_changes()
        host.controller.on_failover()
        self.after()
        return True

    def resign(self, broker_id: int) -> None:
        """End the controller's term, while its broker and its session continue."""
        self.hosts[broker_id].controller = None
        self.hosts[broker_id].changes.clear()
        self.zk.delete(CONTROLLER)
        self.after()

    @property
    def controller(self) -> KafkaController | None:
        """The controller; None if there is none."""
        return next((host.controller for host in self.hosts.values() if host.controller), None)

    def fail_disk(self, broker_id: int, directory: str) -> None:
        """Make a disk fail. The broker detects this when it next uses the disk: see `notice`."""
        self.hosts[broker_id].disks[directory].works = False

    def notice(self, broker_id: int, directory: str) -> list[TopicPartition]:
        """Make a broker use a log directory; return the partitions that it loses if the disk has failed."""
        host = self.hosts[broker_id]
        if host.broker is None or host.disks[directory].works:
            return []
        lost = host.broker.log_dir_failed(directory)
        self._stop_if_done(broker_id)
        return lost

    def create_topic(self, topic: str, replicas: Sequence[tuple[int, ...]]) -> None:
        """Write the assignment of a topic, partition by partition, as the command-line tool does."""
        assignments = {index: ReplicaAssignment(broker_ids) for index, broker_ids in enumerate(replicas)}
        KafkaZkClient(self.zk, -1).write_topic(topic, assignments)
        self.after()

    def delete_topic(self, topic: str) -> None:
        """Request the deletion of a topic."""
        self.zk.create(f"{DELETE_TOPICS}/{topic}")
        self.after()

    def replicate(self, partition: TopicPartition) -> None:
        """Replicate a partition as live brokers do.

        All followers fetch until they have all records; the leader adds them to the ISR.
        """
        served = {
            broker_id: host.broker.replicas.partitions.get(partition)
            for broker_id, host in self.hosts.items()
            if host.broker
        }
        for _ in range(4):  # an epoch, the records, and the high watermark twice
            for follower in served.values():
                if follower is None or follower.log is None or follower.is_leader:
                    continue
                source = served.get(follower.leader)
                if source is None:
                    continue
                request = follower.fetch()
                response = source.answer(request)
                if response is not None:
                    follower.follow(request, response)
        for broker_id, source in served.items():
            broker = self.hosts[broker_id].broker
            if broker is not None and source is not None and source.is_leader and source.caught_up():
                broker.replicas.change_isr(partition, (*source.state.isr, *source.caught_up()), broker.zk)
                broker.zk.notify_isr_change([partition])
        self.after()
        self.run()

    def _deliver(self, link: Link) -> None:
        """Deliver a request to a broker. If it then loses its last log directory, it stops before it responds."""
        super()._deliver(link)
        self._stop_if_done(link.broker_id)

    def _new_session(self) -> int:
        self._sessions += 1
        return self._sessions

    def _note_registration(self, broker_id: int) -> None:
        node = self.zk.get(f"{BROKERS}/{broker_id}")
        if node is not None:
            self.hosts[broker_id].epochs.add(node.czxid)
        self._stop_if_done(broker_id)

    def _stop_if_done(self, broker_id: int) -> None:
        broker = self.hosts[broker_id].broker
        if broker is not None and not broker.running:
            self.stop(broker_id)
        self.after()
