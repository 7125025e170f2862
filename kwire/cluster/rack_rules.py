"""Whether the replicas of a partition lie on racks as they should: KIP-36 for racks, KIP-879 for racks of many levels.

Knows brokers as far as somebody told of them: a broker that nobody listed may be on any rack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .racks import RackTree
from .spread import is_even
from .state import Broker


class RackRule:
    """What racks ask of replicas.

    KIP-36: no two replicas are on one rack while another rack has none. KIP-879, where all racks are paths and some
    have two levels or more: replicas are as even as they can be at every level.

    Args:
        brokers: those that are known, by id. Some may have no rack.

    >>> rule = RackRule({id: Broker(id, rack=f"r{id // 2}") for id in range(6)})
    >>> rule.is_violated([0, 2, 4]), rule.is_violated([0, 1, 4]), rule.is_violated([0, 1, 2, 4])
    (False, True, False)
    """

    def __init__(self, brokers: Mapping[int, Broker]) -> None:
        self.racks = {node_id: broker.rack for node_id, broker in brokers.items() if broker.rack is not None}
        self._count = len(set(self.racks.values()))
        is_deep = len(self.racks) == len(brokers) and _is_deep(self.racks.values())
        self._tree = RackTree(list(brokers.values()), strict=False) if is_deep else None

    def is_violated(self, replicas: Sequence[int]) -> bool | None:
        """Whether replicas break the rule for certain; None where no rack is known."""
        if not self.racks:
            return None
        holders = set(replicas)
        known = [node_id for node_id in holders if node_id in self.racks]
        if self._tree is not None and len(known) == len(holders):
            return not is_even(self._tree, known)
        used = len({self.racks[node_id] for node_id in known})
        return used + len(holders) - len(known) < min(len(holders), self._count)


def _is_deep(racks: Iterable[str]) -> bool:
    found = list(racks)
    return all(rack.startswith("/") for rack in found) and any(rack.count("/") > 1 for rack in found)
