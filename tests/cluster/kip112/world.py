"""A world around a `JbodCluster`, for simulation: what can happen to it, and what must never be.

Each method is one thing that happens. Committed records are kept in a ledger beside the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

from kwire import messages
from kwire.cluster.kip112 import Fetch, Fetched, JbodCluster, KafkaBroker, Partition, TopicPartition
from kwire.cluster.kip112.log_manager import Record

BROKERS = (1, 2, 3)
DIRECTORIES = ("/a", "/b")


@dataclass(frozen=True)
class Fetching:
    """A fetch under way: the follower's question, and the leader's answer."""

    follower: KafkaBroker
    partition: TopicPartition
    asked: Fetch
    told: Fetched


class World:
    """A cluster, the fetches under way, and the records that were ever committed."""

    def __init__(self, protocol: str, behaviour: str = "kip") -> None:
        self.cluster = JbodCluster(
            dict.fromkeys(BROKERS, DIRECTORIES),
            protocol=protocol,
            behaviour="kip" if behaviour == "kip" else "released",
            release="3.9" if behaviour == "kip" else behaviour,
        )
        self.fetches: list[Fetching] = []
        self.ledger: dict[TopicPartition, list[Record]] = {}
        self.epochs: dict[TopicPartition, int] = {}
        self.leaving: set[int] = set()
        self.topics = self.records = 0
        for broker_id in BROKERS:
            self.cluster.start(broker_id)
        self.cluster.elect(1)

    def running(self) -> dict[int, KafkaBroker]:
        return {one: host.broker for one, host in self.cluster.hosts.items() if host.broker is not None}

    def partitions(self) -> list[TopicPartition]:
        return [(topic, index) for topic, told in self.cluster.client(1).topics().items() for index in told.partitions]

    def served(self) -> list[tuple[KafkaBroker, TopicPartition, Partition]]:
        """Return the replicas that brokers serve, as leader or follower."""
        return [
            (broker, one, partition)
            for broker in self.running().values()
            for one, partition in broker.replicas.partitions.items()
            if partition.log is not None
        ]

    def create_topic(self, replicas: tuple[int, ...]) -> None:
        self.topics += 1
        self.cluster.create_topic(f"t{self.topics}", [replicas])

    def delete_topic(self, topic: str) -> None:
        self.cluster.delete_topic(topic)

    def produce(self, broker: KafkaBroker, one: TopicPartition, partition: Partition) -> None:
        """Let a client write to a broker that believes to lead; the broker notices if its disk does not work."""
        if self.touch(broker, one):
            self.records += 1
            partition.append([self.records])

    def fetch(self, broker: KafkaBroker, one: TopicPartition, partition: Partition) -> None:
        """Let a follower ask its leader; the answer takes its time."""
        leader = self.running().get(partition.leader)
        source = leader.replicas.partitions.get(one) if leader else None
        if leader is None or source is None or not self.touch(leader, one):
            return
        asked = partition.fetch()
        told = source.answer(asked)
        if told is not None:
            self.fetches.append(Fetching(broker, one, asked, told))

    def finish_fetch(self, number: int) -> None:
        """Let an answer arrive, if there still is who asked."""
        done = self.fetches.pop(number)
        partition = done.follower.replicas.partitions.get(done.partition)
        if done.follower in self.running().values() and partition and self.touch(done.follower, done.partition):
            partition.follow(done.asked, done.told)

    def expand_isr(self, broker: KafkaBroker, one: TopicPartition, partition: Partition) -> None:
        """Let a leader take into the ISR who has caught up."""
        if partition.caught_up():
            broker.replicas.change_isr(one, (*partition.state.isr, *partition.caught_up()), broker.zk)
            broker.zk.notify_isr_change([one])
            self.cluster.after()

    def shrink_isr(self, broker: KafkaBroker, one: TopicPartition, partition: Partition) -> None:
        """Let a leader lose patience with its followers."""
        broker.replicas.change_isr(one, (broker.broker_id,), broker.zk)
        broker.zk.notify_isr_change([one])
        self.cluster.after()

    def catch_up(self, one: TopicPartition) -> None:
        """Let all followers of a partition fetch all there is, and its leader take them into the ISR."""
        for _ in range(3):
            for follower in [row for row in self.served() if row[1] == one and not row[2].is_leader]:
                self.fetch(*follower)
                if self.fetches and self.fetches[-1].follower is follower[0]:
                    self.finish_fetch(-1)
        for leader in [row for row in self.served() if row[1] == one and row[2].is_leader]:
            self.expand_isr(*leader)

    def depose(self, successor: int) -> None:
        """Let the controller lose its session, and another take over while old requests are under way."""
        controller = self.cluster.controller
        if controller is not None and controller.broker_id != successor:
            self.cluster.expire(controller.broker_id)
            self.cluster.elect(successor)

    def shut_down(self, broker_id: int) -> None:
        """Let a broker ask the controller to take its leaders away; it stops later, at the latest in `settle`."""
        if self.cluster.controller is not None and broker_id in self.running():
            request = messages.ControlledShutdownRequest(broker_id=broker_id)
            self.leaving.add(broker_id)
            self.cluster.controller.on_controlled_shutdown(request)
            self.cluster.after()

    def touch(self, broker: KafkaBroker, one: TopicPartition) -> bool:
        """Let a broker use the disk of a replica; returns whether that went well."""
        directory = broker.logs.directory_of(one)
        if directory is None or broker not in self.running().values():
            return False
        self.cluster.notice(broker.broker_id, directory)
        return directory in broker.logs.live and broker.running

    def mend(self, broker_id: int, directory: str, empty: bool) -> None:
        """Mend a disk of a broker that is down, or put an empty one in its place.

        An empty disk under a replica that is in the ISR, others being there too, is what KIP-112 has no answer to:
        the broker would come back with nothing and might be elected. Nobody does that here.
        """
        disk = self.cluster.hosts[broker_id].disks[directory]
        disk.works = True
        if not empty or any(len(self.isr(one)) > 1 and broker_id in self.isr(one) for one in disk.logs):
            return
        for one in disk.logs:
            if self.isr(one) == (broker_id,):  # the last replica in sync is destroyed, and what it alone had
                self.ledger.pop(one, None)
        disk.logs.clear()

    def isr(self, one: TopicPartition) -> tuple[int, ...]:
        state = self.cluster.client(1).state(one)
        return state.isr if state else ()

    def settle(self) -> None:
        """Let the cluster become quiet: the dead are known to be dead, failed disks are noticed, one controls."""
        while self.leaving:
            self.cluster.stop(self.leaving.pop())
        for _ in range(3):
            for broker_id, host in self.cluster.hosts.items():
                if host.broker is None:
                    self.cluster.expire(broker_id)
            for broker_id in self.running():
                for directory in DIRECTORIES:
                    self.cluster.notice(broker_id, directory)
            for broker_id in self.running():
                self.cluster.elect(broker_id)
            self.cluster.run()

    def check(self) -> None:
        """Check what must hold at every moment."""
        self._keep_ledger()
        for broker, one, partition in self.served():
            assert broker.logs.directory_of(one) in broker.logs.live, f"{one} is served from a bad directory"
            assert not (partition.is_leader and one in broker.replicas.offline), one
        for broker_id, host in self.cluster.hosts.items():
            logs = [one for disk in host.disks.values() for one in disk.logs]
            assert len(logs) == len(set(logs)), f"broker {broker_id} has made a replica twice"
        for one in self.partitions():
            self._check_state(one)

    def _keep_ledger(self) -> None:
        for _, one, partition in self.served():
            if partition.is_leader and partition.log is not None:
                committed = partition.log.records[: partition.log.high_watermark]
                known = self.ledger.setdefault(one, [])
                shared = min(len(known), len(committed))
                assert known[:shared] == committed[:shared], f"{one}: what was committed is another record now"
                known += committed[shared:]

    def _check_state(self, one: TopicPartition) -> None:
        state = self.cluster.client(1).state(one)
        if state is None:
            return
        assert state.isr, one
        assert state.leader == -1 or state.leader in state.isr, one
        assert state.leader_epoch >= self.epochs.get(one, 0), one
        self.epochs[one] = state.leader_epoch
        if one[0] in self.cluster.zk.children("/admin/delete_topics"):
            return
        for broker_id in state.isr:
            logs = [disk.logs[one] for disk in self.cluster.hosts[broker_id].disks.values() if one in disk.logs]
            known = self.ledger.get(one, [])
            for log in logs:
                assert log.records[: len(known)] == known, f"{one}: broker {broker_id} is in sync and lost a record"
            assert logs or not known, f"{one}: broker {broker_id} is in sync and has no log"

    def check_settled(self) -> None:
        """Check what must hold when the cluster is quiet: the controller knows which replicas are offline."""
        controller = self.cluster.controller
        if controller is None:
            assert not self.running()
            return
        for one, state in controller.context.leaders.items():
            if controller.context.is_deleted(one):
                continue
            truth = tuple(b for b in controller.context.assignments[one].replicas if not self._is_served(b, one))
            assert controller.context.offline_replicas(one) == truth, one
            assert self.cluster.client(1).state(one) == state, one
            nobody = not set(state.isr) - set(truth)
            # a new controller of Kafka 1.x leaves a partition alone whose replicas are all offline
            if not (nobody and self.cluster.behaviour.dead_stay_in_sync):
                assert (state.leader == -1) == nobody, f"{one}: {state}, offline {truth}"
                assert state.leader not in truth, one
            for broker in self.running().values():
                (told,) = broker.metadata_response([one[0]]).topics
                assert told.partitions[0].offline_replicas == truth, f"broker {broker.broker_id} of {one}"

    def _is_served(self, broker_id: int, one: TopicPartition) -> bool:
        broker = self.running().get(broker_id)
        return broker is not None and one not in broker.replicas.offline and broker.logs.get(one) is not None
