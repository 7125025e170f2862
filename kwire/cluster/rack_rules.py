"""Whether the replicas of a partition lie on racks as they should, and by which rule: KIP-36, which Kafka places by, or
KIP-879, a draft for racks of many levels that Kafka never took.

Knows brokers as far as somebody told of them: a broker that nobody listed may be on any rack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .racks import RackTree
from .spread import is_even
from .state import Broker

KIP_36, KIP_879 = "KIP-36", "KIP-879"


class RackRule:
    """What racks ask of replicas.

    KIP-36: no two replicas are on one rack while another rack has none. KIP-879, where all racks are paths and some
    have two levels or more: replicas are as even as they can be at every level. That is a finding, and no violation of
    what Kafka promises.

    Args:
        brokers: those that are known, by id. Some may have no rack.

    >>> rule = RackRule({id: Broker(id, rack=f"r{id // 2}") for id in range(6)})
    >>> rule.is_violated([0, 2, 4]), rule.is_violated([0, 1, 4]), rule.is_violated([0, 1, 2, 4])
    (False, True, False)
    >>> deep = RackRule({1: Broker(1, rack="/a/1"), 2: Broker(2, rack="/a/2"), 3: Broker(3, rack="/b/1")})
    >>> deep.broken_by([1, 2]), deep.broken_by([1, 3])
    ('KIP-879', None)
    """

    def __init__(self, brokers: Mapping[int, Broker]) -> None:
        self.racks = {node_id: broker.rack for node_id, broker in brokers.items() if broker.rack is not None}
        self._count = len(set(self.racks.values()))
        is_deep = len(self.racks) == len(brokers) and _is_deep(self.racks.values())
        self._tree = RackTree(list(brokers.values()), strict=False) if is_deep else None

    def is_violated(self, replicas: Sequence[int]) -> bool | None:
        """Whether replicas break one of the rules for certain; None where no rack is known."""
        return self.broken_by(replicas) is not None if self.racks else None

    def broken_by(self, replicas: Sequence[int]) -> str | None:
        """Return the rule that replicas break for certain, `KIP-36` before `KIP-879`; None if they break none."""
        holders = set(replicas)
        known = [node_id for node_id in holders if node_id in self.racks]
        used = len({self.racks[node_id] for node_id in known})
        if used + len(holders) - len(known) < min(len(holders), self._count):
            return KIP_36
        if self._tree is not None and len(known) == len(holders) and not is_even(self._tree, known):
            return KIP_879
        return None


def _is_deep(racks: Iterable[str]) -> bool:
    found = list(racks)
    return all(rack.startswith("/") for rack in found) and any(rack.count("/") > 1 for rack in found)
