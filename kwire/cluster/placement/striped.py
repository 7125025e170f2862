"""The striped placement of the KRaft controller, as Kafka's StripedReplicaPlacer does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, cycle, islice

from ...errors.refused import InvalidReplicationFactor
from ..java.hash_order import OPTIONAL_STRINGS, hash_order_of, utf16
from ..java.random import Rng
from ..state import Broker
from .rack_aware import check_distinct, check_factor


def place_striped(brokers: Sequence[Broker], num_partitions: int, replication_factor: int, rng: Rng) -> list[list[int]]:
    """Place the replicas of new partitions: first replicas in each rack in turn, the others in the following racks.

    Args:
        brokers: all brokers in the controller's order; fenced ones are used last.
        num_partitions: the number of partitions; below 1 the result is empty.
        replication_factor: replicas of each.
        rng: `java.Random(seed)` for the same numbers as Kafka. It advances even if the placement is refused.

    Returns:
        For each partition the ids of its brokers, the preferred leader first.

    Raises:
        InvalidReplicationFactor: the factor is not positive, or exceeds the number of brokers; or all are fenced.
        InvalidReplicaAssignment: a broker is listed twice.
    """
    check_distinct(broker.node_id for broker in brokers)
    racks = _Racks(brokers, rng)
    unfenced = sum(not broker.fenced for broker in brokers)
    if unfenced == 0 and replication_factor > 0:  # Kafka refuses a factor that is not positive first
        raise InvalidReplicationFactor("no_unfenced_broker")
    check_factor(replication_factor, len(brokers))
    return list(racks.place(num_partitions, replication_factor, unfenced))


class _Stripe:
    """The brokers of a rack, used in turn; each partition starts one broker later (StripedReplicaPlacer.BrokerList)."""

    def __init__(self, ids: Iterable[int], rng: Rng) -> None:
        self.ids = sorted(ids)
        self._offset = rng.randrange(len(self.ids)) if self.ids else 0
        self._taken = 0
        self._epoch = 0

    def take(self, epoch: int) -> int | None:
        """Return the next broker for the partition with this `epoch`; None if there is no other one."""
        if self._epoch != epoch and self.ids:
            self._epoch = epoch
            self._taken = 0
            self._offset = (self._offset + 1) % len(self.ids)
        if self._taken == len(self.ids):
            return None
        self._taken += 1
        return self.ids[(self._taken - 1 + self._offset) % len(self.ids)]


class _Racks:
    """The racks in random order, each with a stripe of fenced and one of unfenced brokers (RackList, Rack)."""

    def __init__(self, brokers: Sequence[Broker], rng: Rng) -> None:
        self._rng = rng
        members: dict[str | None, list[Broker]] = {}
        for broker in brokers:
            members.setdefault(broker.rack, []).append(broker)
        self._stripes = {
            name: (self._start_stripe(members[name], True), self._start_stripe(members[name], False))
            for name in hash_order_of(members, OPTIONAL_STRINGS)
        }
        self._names = sorted(members, key=lambda name: (name is not None, utf16(name or "")))
        self._offset = rng.randrange(len(self._names)) if self._names else 0

    def _start_stripe(self, brokers: list[Broker], fenced: bool) -> _Stripe:
        return _Stripe((broker.node_id for broker in brokers if broker.fenced == fenced), self._rng)

    def place(self, num_partitions: int, replication_factor: int, unfenced: int) -> Iterator[list[int]]:
        """Yield the replicas of each partition, as RackList.place does for one.

        1. After as many partitions as unfenced brokers, racks and brokers are shuffled: sets of replicas vary.
        2. The leader is an unfenced broker of the first rack that has one, from the current offset on.
        3. The other replicas come from the following racks, fenced brokers last.
        4. The next partition starts one rack later.
        """
        epoch = 0
        for _ in range(num_partitions):
            if epoch == unfenced > 1:
                self._shuffle()
                epoch = 0
            yield self._place_partition(replication_factor, epoch)
            epoch += 1
            self._offset = (self._offset + 1) % len(self._names)

    def _shuffle(self) -> None:
        self._rng.shuffle(self._names)
        for stripes in self._stripes.values():
            for stripe in stripes:
                self._rng.shuffle(stripe.ids)

    def _place_partition(self, count: int, epoch: int) -> list[int]:
        around = [*self._names[self._offset :], *self._names[: self._offset]]
        unfenced = ((name, self._stripes[name][1].take(epoch)) for name in around)
        leading, leader = next((name, broker) for name, broker in unfenced if broker is not None)
        # In the first round, the rack of the leader has already been used.
        turns = chain((name for name in around if name != leading), cycle(around))
        others = (broker for broker in (self._take(name, epoch) for name in turns) if broker is not None)
        return [leader, *islice(others, count - 1)]

    def _take(self, name: str | None, epoch: int) -> int | None:
        fenced, ready = self._stripes[name]
        broker = ready.take(epoch)
        return fenced.take(epoch) if broker is None else broker
