"""Partitions with replicas on brokers that are missing, fenced or not listed: these stay, and others may leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...cluster import Broker
from ...cluster.placement.rack_spread import is_even
from ...cluster.placement.rack_tree import RackTree
from ...cluster.plan.reassignment_json import Plan
from ...cluster.plan.replica_plan import Goals, plan_replicas

Key = tuple[str, int]


class MissingBrokers:
    """The brokers that cannot take replicas now, and keep those that they have.

    Args:
        listed: all brokers that are known, with the racks of fenced ones.
        left: those that may hold replicas after the plan.
        removed: those that are to be emptied.
    """

    def __init__(self, listed: Sequence[Broker], left: Sequence[Broker], removed: set[int]) -> None:
        self._left = left
        self._ids = {broker.node_id for broker in left}
        self._removed = removed
        with_racks = any(broker.rack for broker in left)
        self._known = {broker.node_id: broker if with_racks else replace(broker, rack=None) for broker in listed}
        self._trees: dict[frozenset[int], RackTree] = {}

    def of(self, replicas: Sequence[int]) -> frozenset[int]:
        """Return the missing brokers among those of a partition."""
        return frozenset(replicas) - self._ids - self._removed

    def is_even(self, replicas: Sequence[int]) -> bool:
        """Return whether replicas are spread evenly over the brokers that are left and the missing ones of theirs."""
        return is_even(self._tree(self.of(replicas)), replicas)

    def empty_removed(self, everything: Plan, allowed: set[Key], sizes: Mapping[Key, int]) -> Plan:
        """Return new replicas for partitions on removed and on missing brokers: only the removed ones lose theirs.

        A partition that could be even only without a missing broker is left out.

        Args:
            everything: the replicas of all partitions.
            allowed: the partitions that may change.
            sizes: the bytes of one replica of each partition, as far as known.
        """
        groups: dict[tuple[frozenset[int], bool], set[Key]] = {}
        for key in sorted(allowed):
            missing = self.of(everything[key])
            if missing and self._removed.intersection(everything[key]):
                groups.setdefault((missing, everything[key][0] in self._removed), set()).add(key)
        emptied: Plan = {}
        for (missing, needs_leader), keys in groups.items():
            goals = Goals(demoted=missing if needs_leader else frozenset())  # a new leader is one that is there
            plan = plan_replicas(self._tree(missing), {**everything, **emptied}, goals, only=keys, sizes=sizes)
            emptied |= {key: list(plan.after[key]) for key in keys if missing <= set(plan.after[key])}
        return emptied

    def _tree(self, missing: frozenset[int]) -> RackTree:
        if missing not in self._trees:
            brokers = [*self._left, *(self._known.get(node_id, Broker(node_id)) for node_id in sorted(missing))]
            self._trees[missing] = RackTree(brokers, strict=False)
        return self._trees[missing]
