"""Which rule of racks an assignment follows or violates: that of KIP-36, or that of KIP-879."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..state import Broker
from .rack_spread import is_even
from .rack_tree import RackTree

KIP_36, KIP_879 = "KIP-36", "KIP-879"


class RackRule:
    """The rack rule for the replicas of a partition.

    KIP-36: no two replicas are on one rack while another rack has none. KIP-879, if all racks are paths and some have
    at least two levels: replicas are as even as possible at every level. A violation of KIP-879 is a finding; Kafka
    does not guarantee this rule.

    Args:
        brokers: the known brokers by id. Some may have no rack.

    >>> rule = RackRule({id: Broker(id, rack=f"r{id // 2}") for id in range(6)})
    >>> rule.is_violated([0, 2, 4]), rule.is_violated([0, 1, 4]), rule.is_violated([0, 1, 2, 4])
    (False, True, False)
    >>> deep = RackRule({1: Broker(1, rack="/a/1"), 2: Broker(2, rack="/a/2"), 3: Broker(3, rack="/b/1")})
    >>> deep.broken_by([1, 2]), deep.broken_by([1, 3])
    ('KIP-879', None)
    """

    def __init__(self, brokers: Mapping[int, Broker]) -> None:
        self.racks: dict[int, str] = {
            node_id: broker.rack for node_id, broker in brokers.items() if broker.rack is not None
        }
        self._count = len(set(self.racks.values()))
        is_deep = len(self.racks) == len(brokers) and _is_deep(self.racks.values())
        self._tree = RackTree(list(brokers.values()), strict=False) if is_deep else None

    def is_violated(self, replicas: Sequence[int]) -> bool | None:
        """Whether replicas certainly violate one of the rules; None if no rack is known."""
        return self.broken_by(replicas) is not None if self.racks else None

    def broken_by(self, replicas: Sequence[int]) -> str | None:
        """Return the rule that replicas certainly violate, `KIP-36` before `KIP-879`; None if there is none."""
        holders = set(replicas)
        known = [node_id for node_id in holders if node_id in self.racks]
        used = len({self.racks[node_id] for node_id in known})
        if used + len(holders) - len(known) < min(len(holders), self._count):
            return KIP_36
        if self._tree is not None and len(known) == len(holders) and not is_even(self._tree, known):
            return KIP_879
        return None


def _is_deep(racks: Iterable[str]) -> bool:
    paths = list(racks)
    return all(rack.startswith("/") for rack in paths) and any(rack.count("/") > 1 for rack in paths)
