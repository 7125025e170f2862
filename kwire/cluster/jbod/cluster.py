"""Brokers, controllers and ZooKeeper joined by bytes: a whole cluster that moves only when it is told to.

Deterministic: each method is one step. Knows no clock and no chance; whoever drives it decides what happens next.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...zookeeper import BrokerRegistration
from .behaviours import Name, behaviour_for, protocol_for
from .broker import KafkaBroker
from .controller import KafkaController
from .links import Link
from .log_manager import Disk
from .steps import Host, Steps
from .values import ReplicaAssignment, TopicPartition
from .znodes import BROKERS, CONTROLLER, DELETE_TOPICS, KafkaZkClient


class JbodCluster(Steps):
    """A cluster with several log directories on each broker (KIP-112).

    Args:
        brokers: broker id -> its log directories.
        behaviour: `"kip"`, the text of KIP-112, or `"released"`, what the brokers of a release do.
        release: that release.
        protocol: the `inter.broker.protocol.version` of all brokers.
        unclean: whether replicas that are not in sync may lead.

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
        super().__init__({one: Host({path: Disk() for path in paths}, spoken) for one, paths in brokers.items()})
        self.behaviour, self.unclean = behaviour_for(behaviour, release), unclean
        self._sessions = 0

    def client(self, broker_id: int) -> KafkaZkClient:
        """Return a broker's session with ZooKeeper."""
        return KafkaZkClient(self.zk, self.hosts[broker_id].session)

    def start(self, broker_id: int, registration: BrokerRegistration | None = None) -> None:
        """Start a broker on its host, under a new session; one that is left from before ends."""
        host = self.hosts[broker_id]
        self.zk.end_session(host.session)
        told = registration or BrokerRegistration(host=f"broker-{broker_id}", port=9092, version=1, timestamp="0")
        host.session = self._new_session()
        host.broker = KafkaBroker(
            broker_id, host.disks, self.client(broker_id), told, behaviour=self.behaviour, protocol=host.protocol
        )
        host.epochs, host.reigns = set(), set()
        self._registered(broker_id)

    def crash(self, broker_id: int) -> None:
        """Kill a broker: its connections are gone, its session with ZooKeeper lasts until `expire`."""
        host = self.hosts[broker_id]
        self.links = {
            key: link for key, link in self.links.items() if key[0] not in host.reigns and key[1] != broker_id
        }
        host.broker = host.controller = None
        host.epochs.clear()
        host.told.clear()

    def expire(self, broker_id: int) -> None:
        """End a broker's session. One that runs opens another, is the controller no more, and keeps its replicas."""
        host = self.hosts[broker_id]
        self.zk.end_session(host.session)
        host.controller = None
        host.told.clear()
        if host.broker is not None:
            host.session = self._new_session()
            host.broker.reconnect(self.client(broker_id))
        self._registered(broker_id)

    def stop(self, broker_id: int) -> None:
        """Kill a broker and end its session."""
        self.crash(broker_id)
        self.expire(broker_id)

    def elect(self, broker_id: int) -> bool:
        """Let a running broker try to become the controller; returns whether it did."""
        host = self.hosts[broker_id]
        epoch = self.client(broker_id).elect_controller(broker_id) if host.broker else None
        if epoch is None:
            return False
        host.reigns.add(epoch)
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
        """Let the controller be it no more, while its broker and its session go on."""
        self.hosts[broker_id].controller = None
        self.hosts[broker_id].told.clear()
        self.zk.delete(CONTROLLER)
        self.after()

    @property
    def controller(self) -> KafkaController | None:
        """The controller, if there is one."""
        return next((host.controller for host in self.hosts.values() if host.controller), None)

    def fail_disk(self, broker_id: int, directory: str) -> None:
        """Let a disk fail. The broker notices when it next touches it: see `notice`."""
        self.hosts[broker_id].disks[directory].works = False

    def notice(self, broker_id: int, directory: str) -> list[TopicPartition]:
        """Let a broker touch a log directory; returns the partitions it loses, if the disk has failed."""
        host = self.hosts[broker_id]
        if host.broker is None or host.disks[directory].works:
            return []
        lost = host.broker.log_dir_failed(directory)
        self._stop_if_done(broker_id)
        return lost

    def create_topic(self, topic: str, replicas: Sequence[tuple[int, ...]]) -> None:
        """Write a topic's assignment, partition by partition, as the command line does."""
        KafkaZkClient(self.zk, -1).write_topic(topic, {n: ReplicaAssignment(one) for n, one in enumerate(replicas)})
        self.after()

    def delete_topic(self, topic: str) -> None:
        """Ask for the deletion of a topic."""
        self.zk.create(f"{DELETE_TOPICS}/{topic}")
        self.after()

    def _deliver(self, link: Link) -> None:
        """Let a request reach a broker. One that loses its last log directory by it stops before it answers."""
        super()._deliver(link)
        self._stop_if_done(link.broker_id)

    def _new_session(self) -> int:
        self._sessions += 1
        return self._sessions

    def _registered(self, broker_id: int) -> None:
        node = self.zk.get(f"{BROKERS}/{broker_id}")
        if node is not None:
            self.hosts[broker_id].epochs.add(node.czxid)
        self._stop_if_done(broker_id)

    def _stop_if_done(self, broker_id: int) -> None:
        broker = self.hosts[broker_id].broker
        if broker is not None and not broker.running:
            self.stop(broker_id)
        self.after()
