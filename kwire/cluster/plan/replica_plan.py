"""Plans that repair and balance replicas, evenly over all rack levels and with the fewest moves.

The algorithm is explained in `docs/explanation/placement.md`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ...errors.refused import InvalidReplicaAssignment
from ...runtime.earlier_pickles import restore_slots
from ..placement.rack_aware import check_factor
from ..placement.rack_tree import RackTree
from .broker_masks import bits
from .even_bytes import EvenBytes
from .even_loads import INFINITE, EvenLoads
from .even_sets import EvenSets
from .even_topics import EvenTopics

K = TypeVar("K", bound=Hashable)
MOST_EXACT = 1000  # partitions that may change; for more, bytes are rounded, so that fewer different costs exist


@dataclass(frozen=True, slots=True)
class Goals:
    """The goals of a plan, in addition to necessary changes (replicas on removed brokers, other replication factors).

    Args:
        repair: make partitions as even as possible.
        balance: make the numbers of replicas per broker as even as even partitions allow; implies `repair`.
        by_bytes: make the bytes on brokers even, within 2 % if partitions allow it.
        leaders: make preferred leaders, and the followers at each later position, as even as possible (KAFKA-19048).
        topics: also spread the replicas of each topic over the brokers, if partitions are (topic, index); implies
            `balance`.
        weights: the weight of each broker in whole numbers, 1 by default: it should hold so many times more replicas,
            leaders and bytes.
        demoted: brokers that lead no partition if another replica can.
    """

    repair: bool = False
    balance: bool = False
    leaders: bool = False
    by_bytes: bool = False
    topics: bool = False
    weights: Mapping[int, int] = field(default_factory=dict)
    demoted: frozenset[int] = frozenset()

    def __setstate__(self, state: Sequence[object]) -> None:
        """Load a pickle, also of a version with fewer fields."""
        restore_slots(self, state)

    @property
    def is_balanced(self) -> bool:
        """Whether loads of brokers are to be even."""
        return self.balance or self.topics


@dataclass(frozen=True, slots=True)
class ReplicaPlan(Generic[K]):
    """The replicas of partitions before and after the plan; the preferred leader is first.

    Args:
        before: the current replicas; empty for a partition to be created.
        after: the planned replicas, with the same keys.
        sizes: the bytes of one replica of each partition, if known.

    >>> plan = ReplicaPlan({"a": [1, 2], "b": [2, 1]}, {"a": [1, 3], "b": [1, 2]}, {"a": 500})
    >>> plan.changed(), plan.moves(), plan.moved_bytes(), plan.new_leaders()
    (['a', 'b'], {'a': [3]}, 500, ['b'])
    """

    before: Mapping[K, Sequence[int]]
    after: Mapping[K, Sequence[int]]
    sizes: Mapping[K, int] = field(default_factory=dict)

    def changed(self) -> list[K]:
        """Return the partitions whose replica lists differ."""
        return [key for key, replicas in self.after.items() if list(replicas) != list(self.before[key])]

    def moves(self) -> dict[K, list[int]]:
        """Return the brokers that get a new replica, by partition."""
        new_replicas = {
            key: [node_id for node_id in ids if node_id not in self.before[key]] for key, ids in self.after.items()
        }
        return {key: ids for key, ids in new_replicas.items() if ids}

    def moved_bytes(self) -> int | None:
        """Return the number of bytes that brokers copy; None if the size of a moved partition is unknown."""
        moves = {key: ids for key, ids in self.moves().items() if self.before[key]}
        if not moves.keys() <= self.sizes.keys():
            return None
        return sum(self.sizes[key] * len(ids) for key, ids in moves.items())

    def new_leaders(self) -> list[K]:
        """Return the partitions whose preferred leader changes."""
        return [key for key in self.changed() if self.before[key] and self.after[key][:1] != self.before[key][:1]]


def plan_replicas(
    tree: RackTree,
    current: Mapping[K, Sequence[int]],
    goals: Goals | None = None,
    *,
    factors: Mapping[K, int] | None = None,
    only: Collection[K] | None = None,
    sizes: Mapping[K, int] | None = None,
) -> ReplicaPlan[K]:
    """Return a plan for the replicas of partitions, with the fewest moves.

    Args:
        tree: the brokers that may hold replicas. Replicas on other brokers move.
        current: the replicas of all partitions, the preferred leader first; empty for a partition to be created.
        goals: additional goals; by default, only necessary changes are made, as evenly as possible.
        factors: the new replication factors of partitions; other partitions keep theirs.
        only: the partitions that may change; by default all. The others count as load.
        sizes: the bytes of one replica of each partition, to move the fewest bytes instead of the fewest replicas.
            Unknown sizes are replaced by the mean. If more than `MOST_EXACT` partitions may change, sizes are rounded
            to six binary digits.

    Raises:
        InvalidReplicationFactor: a factor is not positive, or exceeds the number of brokers.
        InvalidReplicaAssignment: a partition lists a broker twice.

    >>> from kwire.cluster.state import Broker
    >>> tree = RackTree([Broker(id, rack=f"/DC{id // 2}") for id in range(6)])
    >>> plan_replicas(tree, {"a": [0, 1, 4], "b": [3, 5, 0]}, Goals(repair=True)).after
    {'a': [0, 2, 4], 'b': [3, 5, 0]}
    """
    planning = _Planning(tree, current, goals or Goals(), factors or {}, sizes or {})
    allowed = [key for key in current if only is None or key in only]
    for key in allowed:
        _check(key, current[key], (factors or {}).get(key, len(current[key])), len(tree.brokers))
    planning.place(allowed)
    planning.lead(allowed)
    return ReplicaPlan(dict(current), planning.after, sizes or {})


class _Planning(Generic[K]):
    """The replica lists during planning."""

    def __init__(
        self,
        tree: RackTree,
        current: Mapping[K, Sequence[int]],
        goals: Goals,
        factors: Mapping[K, int],
        sizes: Mapping[K, int],
    ) -> None:
        self._sets = EvenSets(tree)
        self._current = current
        self._goals = goals
        self._sizes = sizes
        self._counts = {key: factors.get(key, len(replicas)) for key, replicas in current.items()}
        self.after: dict[K, list[int]] = {key: list(replicas) for key, replicas in current.items()}

    def place(self, allowed: Sequence[K]) -> None:
        """Choose the brokers of each partition."""
        sets = self._sets
        goals = self._goals
        free = [key for key in allowed if goals.is_balanced or self._must_change(key)]
        loads = [0] * len(sets.sizes)
        for key in self.after.keys() - set(free):
            self._add_load(loads, sets.mask(self.after[key]))
        wanted = [sets.mask(self._current[key]) for key in free]
        chosen = []
        for turn, (key, mask) in enumerate(zip(free, wanted, strict=True)):
            count = self._counts[key]
            is_good = mask.bit_count() == count and sets.is_even(mask)
            first = sets.mask(self._current[key][:1])
            chosen.append(mask if is_good else sets.nearest(mask, first, count, loads, turn))
            self._add_load(loads, chosen[-1])
        if not free:
            return
        costs = [self._costs(key, weight, len(free)) for key, weight in zip(free, self._weights(free), strict=True)]
        weights = [goals.weights.get(node_id, 1) for node_id in sets.ids]
        choice = EvenLoads(chosen, costs, loads[: len(sets.ids)], self._targets, weights)
        choice.even_out(INFINITE if goals.is_balanced and not goals.by_bytes else 0)
        masks = choice.chosen
        if goals.is_balanced and goals.by_bytes:
            masks = self._even_bytes(free, masks)
        if goals.topics:
            masks = self._even_topics(free, masks, costs)
        for key, mask in zip(free, masks, strict=True):
            self.after[key] = _in_order(self._current[key], sets.brokers(mask))

    def _even_bytes(self, free: Sequence[K], chosen: Sequence[int]) -> list[int]:
        """Balance the bytes of brokers by exchanges, starting from a choice of sets."""
        sets = self._sets
        sizes = self._known_sizes()
        loads = [0] * len(sets.ids)
        for key, mask in self._all_masks(free, chosen).items():
            for index in bits(mask):
                loads[index] += sizes[key]
        weights = [self._goals.weights.get(node_id, 1) for node_id in sets.ids]
        choice = EvenBytes(chosen, [sizes[key] for key in free], loads, self._targets, weights)
        choice.even_out()
        return choice.chosen

    def _even_topics(
        self, free: Sequence[K], chosen: Sequence[int], costs: Sequence[Sequence[tuple[int, int]]]
    ) -> list[int]:
        """Spread each topic over the brokers by exchanges, starting from a choice of sets."""
        numbers: dict[object, int] = {}
        loads: list[list[int]] = []
        for key, mask in self._all_masks(free, chosen).items():
            number = numbers.setdefault(_topic_of(key), len(numbers))
            if number == len(loads):
                loads.append([0] * len(self._sets.ids))
            for index in bits(mask):
                loads[number][index] += 1
        weights = [self._goals.weights.get(node_id, 1) for node_id in self._sets.ids]
        topics = [numbers[_topic_of(key)] for key in free]
        choice = EvenTopics(chosen, topics, costs, loads, self._targets, weights)
        choice.even_out()
        return choice.chosen

    def _all_masks(self, free: Sequence[K], chosen: Sequence[int]) -> dict[K, int]:
        masks = {key: self._sets.mask(replicas) for key, replicas in self.after.items()}
        return masks | dict(zip(free, chosen, strict=True))

    def _targets(self, _: int, mask: int, broker: int) -> int:
        return self._sets.targets(mask, broker)

    def _must_change(self, key: K) -> bool:
        mask = self._sets.mask(self._current[key])
        count = self._counts[key]
        goes = mask.bit_count() != len(self._current[key])
        return goes or mask.bit_count() != count or (self._goals.repair and not self._sets.is_even(mask))

    def _add_load(self, loads: list[int], mask: int) -> None:
        for index in bits(mask):
            for node in self._sets.upwards(index):
                loads[node] += 1

    def _costs(self, key: K, weight: int, keys: int) -> list[tuple[int, int]]:
        """Return the cost of each broker for a partition: moves count first, then lost leaders, over all partitions."""
        first = self._sets.mask(self._current[key][:1])
        wanted = self._sets.mask(self._current[key])
        others = ~wanted & (1 << len(self._sets.ids)) - 1
        return [(first, 0), (wanted & ~first, 1), (others, 1 + weight * (keys + 1))]

    def _weights(self, keys: Sequence[K]) -> list[int]:
        """Return the cost of moving each partition: its bytes, if sizes are known, plus one for the move."""
        sizes = self._known_sizes()
        weights = [sizes[key] + 1 for key in keys]
        return weights if len(keys) <= MOST_EXACT else [_round_weight(weight) for weight in weights]

    def _known_sizes(self) -> dict[K, int]:
        """Return the bytes of one replica of each partition; the mean if the size is unknown."""
        known = [self._sizes[key] for key in self.after if key in self._sizes]
        mean = sum(known) // len(known) if known else 0
        return {key: self._sizes.get(key, mean) for key in self.after}

    def lead(self, allowed: Sequence[K]) -> None:
        """Choose the first replica of each partition, and with `leaders` the order of the others."""
        everywhere = self._goals.leaders
        created = [key for key in allowed if not self._current[key]]
        demoted = self._goals.demoted
        lost = [
            key
            for key in allowed
            if self._current[key] and (self._current[key][0] not in self.after[key] or self._current[key][0] in demoted)
        ]
        leaderless = [key for key in allowed if self.after[key]] if everywhere else [*created, *lost]
        self._choose(leaderless, 0, list(self.after))
        followed = allowed if everywhere else created
        longest = max((len(self.after[key]) for key in followed), default=0)
        for position in range(1, longest - 1):
            groups: dict[int, list[K]] = {}
            for key, replicas in self.after.items():
                if len(replicas) > position:
                    groups.setdefault(replicas[position - 1], []).append(key)
            may_change = set(followed)
            for members in groups.values():
                self._choose([key for key in members if key in may_change], position, members)

    def _choose(self, free: Sequence[K], position: int, counted: Sequence[K]) -> None:
        """Choose the replica at one position of the lists, among the replicas at this position or later.

        Args:
            free: the partitions whose lists may change.
            counted: all partitions that count as load, including `free`.
        """
        free = [key for key in free if len(self.after[key]) > position + 1]
        if not free:
            return
        ids = sorted({node_id for key in counted for node_id in self.after[key][position:]})
        index = {node_id: number for number, node_id in enumerate(ids)}
        loads = [0] * len(ids)
        for key in counted:
            for node_id in self.after[key][position : position + 1]:
                loads[index[node_id]] += 1
        masks = [self._mask_of(key, position, index) for key in free]
        chosen = [1 << index[self.after[key][position]] for key in free]
        wanted = [self._stays(key, position, index, mask) for key, mask in zip(free, masks, strict=True)]
        for number, (previous, mask, stays) in enumerate(zip(chosen, masks, wanted, strict=True)):
            if not previous & (stays or mask):
                best = min(bits(stays or mask), key=lambda other: (loads[other], other))
                loads[previous.bit_length() - 1] -= 1
                loads[best] += 1
                chosen[number] = 1 << best
        costs = [[(stays, 0), (mask & ~stays, 1)] for mask, stays in zip(masks, wanted, strict=True)]
        weights = [self._goals.weights.get(node_id, 1) for node_id in ids]
        choice = EvenLoads(chosen, costs, loads, lambda number, mask, _: masks[number] & ~mask, weights)
        choice.even_out(INFINITE if self._goals.leaders or not self._current[free[0]] else 0)
        for key, mask in zip(free, choice.chosen, strict=True):
            first = ids[mask.bit_length() - 1]
            replicas = self.after[key]
            self.after[key] = [
                *replicas[:position],
                first,
                *(node_id for node_id in replicas[position:] if node_id != first),
            ]

    def _mask_of(self, key: K, position: int, index: Mapping[int, int]) -> int:
        """Return the replicas that may be at a position: those at it or later; first, no demoted one if others can."""
        nodes = self.after[key][position:]
        if position == 0:
            nodes = [node_id for node_id in nodes if node_id not in self._goals.demoted] or nodes
        return sum(1 << index[node_id] for node_id in nodes)

    def _stays(self, key: K, position: int, index: Mapping[int, int], mask: int) -> int:
        """Return the replicas of a mask that cost nothing at a position: the previous one, or else all that stay."""
        before = self._current[key]
        remaining = self.after[key][position:]
        if len(before) > position and before[position] in remaining and mask >> index[before[position]] & 1:
            return 1 << index[before[position]]
        return mask & sum(1 << index[node_id] for node_id in remaining if node_id in before)


def _topic_of(key: object) -> object:
    return key[0] if isinstance(key, tuple) else None


def _round_weight(weight: int) -> int:
    """Round a number to six binary digits, with an error of at most 1/64.

    >>> _round_weight(63), _round_weight(1000), _round_weight(1023)
    (63, 1008, 1024)
    """
    shift = max(0, weight.bit_length() - 6)
    return (weight + (1 << shift >> 1)) >> shift << shift


def _check(key: object, replicas: Sequence[int], count: int, brokers: int) -> None:
    if len(set(replicas)) < len(replicas):
        raise InvalidReplicaAssignment("broker_twice_in_one_partition", partition=key, replicas=list(replicas))
    check_factor(count, brokers)


def _in_order(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """Return the new replicas in the order of the old ones, so that replicas that stay keep their positions.

    >>> _in_order([5, 1, 2], [1, 2, 7]), _in_order([5, 1, 2], [1, 2]), _in_order([5, 1], [1, 2, 7])
    ([7, 1, 2], [1, 2], [2, 1, 7])
    """
    new = [node_id for node_id in after if node_id not in before]
    ordered = []
    for node_id in before:
        if node_id in after:
            ordered.append(node_id)
        elif new:
            ordered.append(new.pop(0))
    return [*ordered, *new]
