"""Plans that repair and balance replicas, evenly over all rack levels and with the fewest moves; plans as JSON.

`kafka-reassign-partitions` reads and writes that JSON; its `--generate` places the partitions of topics again, by racks
as in KIP-36 (`rack_aware_placement`). The algorithm of plans is explained in `docs/explanation/placement.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeGuard, TypeVar

from ...errors import DumpError, excerpt
from ...errors.refused import (
    AdminCommandFailed,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    UnknownTopicOrPartition,
)
from ..java.hash_order import DEFAULT_CAPACITY, STRINGS, TOPIC_PARTITIONS, HashOrder, Rng, hash_order_of
from ..placement.multi_level import RackTree
from ..placement.rack_aware import Assignment, RackAwareMode, Replicas, assign_replicas, broker_metadatas
from ..state import Broker
from .even_loads import INFINITE, EvenBytes, EvenLoads, EvenSets, bits

T = TypeVar("T", str, int)
Plan = dict[tuple[str, int], list[int]]
MOST = 2**31 - 1
REASSIGNMENT_FORM = 'write {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}, ...]}'


def reassignment_json(topics: Mapping[str, Replicas]) -> dict[str, Any]:
    """Return the JSON input of `kafka-reassign-partitions --reassignment-json-file`.

    >>> reassignment_json({"orders": {0: [1, 2]}})
    {'version': 1, 'partitions': [{'topic': 'orders', 'partition': 0, 'replicas': [1, 2]}]}
    """
    partitions = [
        {"topic": topic, "partition": index, "replicas": list(replicas)}
        for topic, assignment in topics.items()
        for index, replicas in sorted(assignment.items())
    ]
    return {"version": 1, "partitions": partitions}


def read_reassignment(value: Any, file: str) -> Plan:
    """Return the replicas of each partition from the JSON input of `kafka-reassign-partitions`.

    Args:
        value: the parsed JSON.
        file: the name of the file, for errors.

    Raises:
        DumpError: the value is not the JSON of a reassignment.
        InvalidReplicaAssignment: a partition lists a broker twice.

    >>> read_reassignment(reassignment_json({"orders": {0: [1, 2]}}), "plan.json")
    {('orders', 0): [1, 2]}
    """
    rows = value.get("partitions") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not rows:
        raise DumpError("there are no partitions in it", file=file, hint=REASSIGNMENT_FORM)
    plan: Plan = {}
    for partition, replicas in (_partition(row, file) for row in rows):
        if partition in plan:
            raise DumpError(f"partition {partition[0]}-{partition[1]} occurs twice", file=file)
        plan[partition] = replicas
    return plan


def _partition(row: Any, file: str) -> tuple[tuple[str, int], list[int]]:
    if isinstance(row, dict):
        topic, index, replicas = row.get("topic"), row.get("partition"), row.get("replicas")
        if isinstance(topic, str) and is_id(index) and isinstance(replicas, list) and all(map(is_id, replicas)):
            if len(set(replicas)) < len(replicas):
                label = f"{topic}-{index}"
                raise InvalidReplicaAssignment("broker_twice_in_one_partition", partition=label, replicas=replicas)
            return (topic, index), replicas
    raise DumpError(f"{excerpt(row)} is not a partition", file=file, hint=REASSIGNMENT_FORM)


def is_id(value: Any) -> TypeGuard[int]:
    """Whether a JSON value is a broker id or a partition index."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


@dataclass(frozen=True, slots=True)
class Reassignment:
    """The output of `kafka-reassign-partitions --generate`, by topic and partition.

    `proposed` has the topics in Kafka's order of placement, `current` in the order of input.
    """

    proposed: dict[str, Assignment]
    current: dict[str, Assignment]


def generate_assignment(
    topics: Mapping[str, Replicas],
    topics_to_move: Sequence[str],
    brokers: Sequence[Broker],
    broker_list: Sequence[int],
    rng: Rng,
    rack_aware: bool = True,
) -> Reassignment:
    """Propose new brokers for topics (`kafka-reassign-partitions --generate`).

    Args:
        topics: the replicas of all partitions, by topic.
        topics_to_move: names of the topics to place; each keeps the replication factor of one of its partitions.
        brokers: all brokers, in the order of the cluster's metadata.
        broker_list: ids of the brokers to place on; unknown ids are ignored.
        rng: draws two numbers per topic; `java.Random(seed)` for the same numbers as Kafka.
        rack_aware: False is `--disable-rack-awareness`.

    Raises:
        AdminCommandFailed: a broker or a topic is listed twice.
        UnknownTopicOrPartition: a topic does not exist.
        AdminOperation: only some of the brokers have a rack.
        InvalidReplicationFactor: there are fewer brokers than replicas.
    """
    _check_lists(topics, topics_to_move, broker_list)
    usable = _usable(brokers, broker_list, rack_aware)
    factors: dict[str, int] = {}
    grouped = HashOrder(STRINGS)
    for topic, index in _partitions(topics, topics_to_move):
        factors.setdefault(topic, len(topics[topic][index]))
        grouped.compute_if_absent(topic)  # even for an existing topic, because the table may grow
    proposed: dict[str, Assignment] = {}
    for topic in grouped:
        proposed[topic] = assign_replicas(usable, len(topics[topic]), factors[topic], rng=rng)
    current = {topic: {index: list(ids) for index, ids in topics[topic].items()} for topic in factors}
    return Reassignment(proposed, current)


def _check_lists(topics: Mapping[str, Replicas], topics_to_move: Sequence[str], broker_list: Sequence[int]) -> None:
    if twice := _repeated(broker_list):
        raise AdminCommandFailed("broker_twice_in_list", twice=twice)
    if twice_named := _repeated(topics_to_move):
        raise AdminCommandFailed("topic_twice_in_list", twice=twice_named)
    for topic in topics_to_move:
        if topic not in topics:
            raise UnknownTopicOrPartition("unknown_topic", topic=topic)


def _repeated(items: Sequence[T]) -> list[T]:
    return [item for item, count in Counter(items).items() if count > 1]


def _usable(brokers: Sequence[Broker], broker_list: Sequence[int], rack_aware: bool) -> list[Broker]:
    """Return the usable brokers in the order of the cluster, not sorted as in `broker_metadatas`."""
    mode = RackAwareMode.ENFORCED if rack_aware else RackAwareMode.DISABLED
    chosen = {broker.node_id: broker for broker in broker_metadatas(brokers, mode, broker_list)}
    return [chosen[broker.node_id] for broker in brokers if broker.node_id in chosen]


def _partitions(topics: Mapping[str, Replicas], names: Sequence[str]) -> HashOrder[tuple[str, int]]:
    """Return the partitions in Kafka's iteration order, which depends on two maps of topics."""
    order = list(hash_order_of(names, STRINGS, max(len(names) * 4 // 3 + 1, DEFAULT_CAPACITY)))
    for _ in range(2):
        order = list(hash_order_of(order, STRINGS))
    return hash_order_of(((topic, index) for topic in order for index in topics[topic]), TOPIC_PARTITIONS)


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
    """

    repair: bool = False
    balance: bool = False
    leaders: bool = False
    by_bytes: bool = False


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
        found = {key: [one for one in ids if one not in self.before[key]] for key, ids in self.after.items()}
        return {key: ids for key, ids in found.items() if ids}

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
        self._sets, self._current, self._goals, self._sizes = EvenSets(tree), current, goals, sizes
        self._counts = {key: factors.get(key, len(replicas)) for key, replicas in current.items()}
        self.after: dict[K, list[int]] = {key: list(replicas) for key, replicas in current.items()}

    def place(self, allowed: Sequence[K]) -> None:
        """Choose the brokers of each partition."""
        sets, goals = self._sets, self._goals
        free = [key for key in allowed if goals.balance or self._must_change(key)]
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
        choice = EvenLoads(chosen, costs, loads[: len(sets.ids)], lambda _, mask, one: sets.targets(mask, one))
        choice.even_out(INFINITE if goals.balance and not goals.by_bytes else 0)
        found = self._even_bytes(free, choice.chosen) if goals.balance and goals.by_bytes else choice.chosen
        for key, mask in zip(free, found, strict=True):
            self.after[key] = _in_order(self._current[key], sets.brokers(mask))

    def _even_bytes(self, free: Sequence[K], chosen: Sequence[int]) -> list[int]:
        """Balance the bytes of brokers by exchanges, starting from a choice of sets."""
        sets, sizes = self._sets, self._known_sizes()
        loads = [0] * len(sets.ids)
        masks = {key: sets.mask(replicas) for key, replicas in self.after.items()} | dict(
            zip(free, chosen, strict=True)
        )
        for key, mask in masks.items():
            for index in bits(mask):
                loads[index] += sizes[key]
        choice = EvenBytes(chosen, [sizes[key] for key in free], loads, lambda _, mask, one: sets.targets(mask, one))
        choice.even_out()
        return choice.chosen

    def _must_change(self, key: K) -> bool:
        mask, count = self._sets.mask(self._current[key]), self._counts[key]
        goes = mask.bit_count() != len(self._current[key])
        return goes or mask.bit_count() != count or (self._goals.repair and not self._sets.is_even(mask))

    def _add_load(self, loads: list[int], mask: int) -> None:
        for index in bits(mask):
            for node in self._sets.upwards(index):
                loads[node] += 1

    def _costs(self, key: K, weight: int, keys: int) -> list[tuple[int, int]]:
        """Return the cost of each broker for a partition: moves count first, then lost leaders, over all partitions."""
        first, wanted = self._sets.mask(self._current[key][:1]), self._sets.mask(self._current[key])
        others = ~wanted & (1 << len(self._sets.ids)) - 1
        return [(first, 0), (wanted & ~first, 1), (others, 1 + weight * (keys + 1))]

    def _weights(self, keys: Sequence[K]) -> list[int]:
        """Return the cost of moving each partition: its bytes, if sizes are known, plus one for the move."""
        sizes = self._known_sizes()
        weights = [sizes[key] + 1 for key in keys]
        return weights if len(keys) <= MOST_EXACT else [_rounded(weight) for weight in weights]

    def _known_sizes(self) -> dict[K, int]:
        """Return the bytes of one replica of each partition; the mean if the size is unknown."""
        known = [self._sizes[key] for key in self.after if key in self._sizes]
        mean = sum(known) // len(known) if known else 0
        return {key: self._sizes.get(key, mean) for key in self.after}

    def lead(self, allowed: Sequence[K]) -> None:
        """Choose the first replica of each partition, and with `leaders` the order of the others."""
        everywhere = self._goals.leaders
        created = [key for key in allowed if not self._current[key]]
        lost = [key for key in allowed if self._current[key] and self._current[key][0] not in self.after[key]]
        leaderless = [key for key in allowed if self.after[key]] if everywhere else [*created, *lost]
        self._choose(leaderless, 0, list(self.after))
        followed = allowed if everywhere else created
        longest = max((len(self.after[key]) for key in followed), default=0)
        for place in range(1, longest - 1):
            groups: dict[int, list[K]] = {}
            for key, replicas in self.after.items():
                if len(replicas) > place:
                    groups.setdefault(replicas[place - 1], []).append(key)
            may_change = set(followed)
            for members in groups.values():
                self._choose([key for key in members if key in may_change], place, members)

    def _choose(self, free: Sequence[K], place: int, counted: Sequence[K]) -> None:
        """Choose the replica at one position of the lists, among the replicas at this position or later.

        Args:
            free: the partitions whose lists may change.
            counted: all partitions that count as load, including `free`.
        """
        free = [key for key in free if len(self.after[key]) > place + 1]
        if not free:
            return
        ids = sorted({one for key in counted for one in self.after[key][place:]})
        index = {node_id: number for number, node_id in enumerate(ids)}
        loads = [0] * len(ids)
        for key in counted:
            for one in self.after[key][place : place + 1]:
                loads[index[one]] += 1
        masks = [sum(1 << index[one] for one in self.after[key][place:]) for key in free]
        chosen = [1 << index[self.after[key][place]] for key in free]
        wanted = [self._stays(key, place, index) for key in free]
        for number, (one, stays) in enumerate(zip(chosen, wanted, strict=True)):
            if stays and not one & stays:
                best = min(bits(stays), key=lambda other: (loads[other], other))
                loads[one.bit_length() - 1] -= 1
                loads[best] += 1
                chosen[number] = 1 << best
        costs = [[(stays, 0), (mask & ~stays, 1)] for mask, stays in zip(masks, wanted, strict=True)]
        choice = EvenLoads(chosen, costs, loads, lambda number, mask, _: masks[number] & ~mask)
        choice.even_out(INFINITE if self._goals.leaders or not self._current[free[0]] else 0)
        for key, mask in zip(free, choice.chosen, strict=True):
            first = ids[mask.bit_length() - 1]
            replicas = self.after[key]
            self.after[key] = [*replicas[:place], first, *(one for one in replicas[place:] if one != first)]

    def _stays(self, key: K, place: int, index: Mapping[int, int]) -> int:
        """Return the replicas at or after a position that cost nothing: the previous one, or else all that stay."""
        before, left = self._current[key], self.after[key][place:]
        if len(before) > place and before[place] in left:
            return 1 << index[before[place]]
        return sum(1 << index[one] for one in left if one in before)


def _rounded(weight: int) -> int:
    """Round a number to six binary digits, with an error of at most 1/64.

    >>> _rounded(63), _rounded(1000), _rounded(1023)
    (63, 1008, 1024)
    """
    shift = max(0, weight.bit_length() - 6)
    return (weight + (1 << shift >> 1)) >> shift << shift


def _check(key: object, replicas: Sequence[int], count: int, brokers: int) -> None:
    if len(set(replicas)) < len(replicas):
        raise InvalidReplicaAssignment("broker_twice_in_one_partition", partition=key, replicas=list(replicas))
    if count <= 0:
        raise InvalidReplicationFactor("replication_factor_not_positive", replication_factor=count)
    if count > brokers:
        raise InvalidReplicationFactor(
            "replication_factor_larger_than_brokers", replication_factor=count, brokers=brokers
        )


def _in_order(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """Return the new replicas in the order of the old ones, so that replicas that stay keep their positions.

    >>> _in_order([5, 1, 2], [1, 2, 7]), _in_order([5, 1, 2], [1, 2]), _in_order([5, 1], [1, 2, 7])
    ([7, 1, 2], [1, 2], [2, 1, 7])
    """
    new = [one for one in after if one not in before]
    found = []
    for one in before:
        if one in after:
            found.append(one)
        elif new:
            found.append(new.pop(0))
    return [*found, *new]
