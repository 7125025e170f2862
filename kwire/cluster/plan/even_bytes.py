"""Even bytes on brokers, by the exchanges of one broker for another that move the fewest bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import lcm
from random import Random
from typing import NamedTuple

from .broker_masks import bits
from .even_loads import INFINITE, Targets

MOST_PAIRS = 2_000_000  # pairs of moves that are compared to relieve one broker; beyond, single moves must do
MOST_RESTARTS = 100  # searches from disturbed choices, until MOST_RESTART_PAIRS pairs have been compared in a round
MOST_RESTART_PAIRS = 100_000
MOST_ROUNDS = 10  # of restarts
RESTART_MOVES = 6  # random moves at most that disturb a choice


class _Move(NamedTuple):
    partition: int
    giver: int
    taker: int


class EvenBytes:
    """Balances the bytes of brokers if partitions have different sizes.

    This is bin packing, for which no fast exact algorithm is known. Each step makes the move that reduces the sum of
    the squares most, from the fullest broker that has such a move. If single moves leave a broker more than the
    tolerance above the mean, it is relieved by two moves at once: by an exchange, or along a chain of three brokers.
    If that is not enough either, the search begins again from the best choice after a few random moves, and keeps what
    makes the fullest broker less full (iterated local search: H. Lourenço, O. Martin, T. Stützle, 2003).

    Args:
        chosen: the set of each partition, as a bit mask of brokers.
        sizes: the bytes of one replica of each partition.
        loads: the bytes on each broker, including other partitions.
        targets: as for `EvenLoads`.
        weights: the weight of each broker; one of weight 2 should hold twice the bytes.
        tolerance: brokers whose bytes differ by less than this fraction of the mean count as even.
        least_relief: the fraction of the mean by which a move must at least relieve the fuller of its two brokers.
    """

    def __init__(
        self,
        chosen: Sequence[int],
        sizes: Sequence[int],
        loads: Sequence[int],
        targets: Targets,
        weights: Sequence[int] = (),
        tolerance: float = 0.02,
        least_relief: float = -INFINITE,
    ) -> None:
        self.chosen: list[int] = list(chosen)
        self.loads: list[int] = list(loads)
        unit = lcm(*weights)
        self._steps = [unit // weight for weight in weights] or [1] * len(loads)
        self._sizes = sizes
        self._targets = targets
        self._mean = sum(loads) / sum(1 / step for step in self._steps)  # the filling if all brokers are equally full
        self._enough = tolerance * self._mean
        self._least_relief = least_relief * self._mean
        self._compared_pairs = 0
        self._partitions_of: list[set[int]] = [set() for _ in loads]
        for partition, mask in enumerate(self.chosen):
            for broker in bits(mask):
                self._partitions_of[broker].add(partition)

    def even_out(self) -> None:
        """Move partitions until no move relieves a broker, and no two moves or disturbances one that is too full.

        The last round changes nothing, so a plan for what a plan has become changes nothing either.
        """
        for _ in range(MOST_ROUNDS):
            before = list(self.chosen)
            self._search()
            if self.chosen == before:
                break

    def _search(self) -> None:
        self._compared_pairs = 0
        self._descend()
        random = Random(0)  # the same plan for the same cluster
        best, fullest = list(self.chosen), self._fillings()[0]
        for _ in range(MOST_RESTARTS):
            if self._is_enough() or self._compared_pairs > MOST_RESTART_PAIRS:
                break
            self._restart(random)
            if self._fillings()[0] < fullest - max(self._least_relief, 0):
                best, fullest = list(self.chosen), self._fillings()[0]
        self._return_to(best)

    def _restart(self, random: Random) -> None:
        """Search again after a few random moves; return to the choice of before if the fullest broker is fuller then.

        Only the fullest broker is relieved: the choice with the least sum of squares may have a fuller one.
        """
        chosen, fullest = list(self.chosen), self._fillings()[0]
        for _ in range(random.randint(2, RESTART_MOVES)):
            moves = list(self._moves_from(random.randrange(len(self.loads))))
            if moves:
                self._make(random.choice(moves))
        while self._compared_pairs <= MOST_RESTART_PAIRS and self._relieve_fullest():
            pass
        if self._fillings()[0] > fullest:
            self._return_to(chosen)

    def _return_to(self, chosen: Sequence[int]) -> None:
        for partition, mask in enumerate(chosen):
            givers = bits(self.chosen[partition] & ~mask)
            takers = bits(mask & ~self.chosen[partition])
            for giver, taker in list(zip(givers, takers, strict=True)):
                self._make(_Move(partition, giver, taker))

    def _descend(self) -> None:
        self._pass_until_even()
        fillings = self._fillings()
        while self._relieve_fullest():
            self._pass_until_even()
            before, fillings = fillings, self._fillings()
            if fillings >= before:  # the passes took back what the two moves gave: it would go on forever
                return

    def _pass_until_even(self) -> None:
        while self._pass():
            pass  # a broker that could not be relieved may be relieved after others

    def _fillings(self) -> list[int]:
        return sorted(map(self._filling, range(len(self.loads))), reverse=True)

    def _filling(self, broker: int) -> int:
        return self.loads[broker] * self._steps[broker]

    def _pass(self) -> bool:
        """Relieve each broker as often as possible; return whether any was relieved."""
        untried = set(range(len(self.loads)))
        changed = False
        while untried:
            broker = max(untried, key=lambda index: (self._filling(index), index))
            best = self._best(broker)
            if best is None:
                untried.remove(broker)
                continue
            self._make(best)
            changed = True
        return changed

    def _make(self, move: _Move) -> None:
        partition, giver, taker = move
        self.chosen[partition] ^= 1 << giver ^ 1 << taker
        self._partitions_of[giver].remove(partition)
        self._partitions_of[taker].add(partition)
        self.loads[giver] -= self._sizes[partition]
        self.loads[taker] += self._sizes[partition]

    def _gain(self, giver: int, taker: int, size: int) -> int:
        """Return by how much a move of this size lowers the sum of the squares."""
        relief = (2 * self.loads[giver] - size) * self._steps[giver]
        return size * (relief - (2 * self.loads[taker] + size) * self._steps[taker])

    def _best(self, broker: int) -> _Move | None:
        """Return the move from a broker that makes loads most even; None if there is none."""
        order = sorted(range(len(self.loads)), key=self._filling)
        order = order[
            : next((position for position, index in enumerate(order) if not self._is_far(broker, index)), len(order))
        ]
        best: _Move | None = None
        best_gain = 0
        for partition in sorted(self._partitions_of[broker]):
            size = self._sizes[partition]
            if not order or self._gain(broker, order[0], size) <= best_gain:
                continue
            open_to = self._targets(partition, self.chosen[partition], broker)
            other = next((index for index in order if open_to >> index & 1), None)
            if other is None or not self._is_worth(broker, other, size):
                continue
            if (gain := self._gain(broker, other, size)) > best_gain:
                best = _Move(partition, broker, other)
                best_gain = gain
        return best

    def _is_worth(self, giver: int, taker: int, size: int) -> bool:
        """Whether a move makes the fuller of two brokers less full by enough."""
        fillings = self._filling(giver) - size * self._steps[giver], self._filling(taker) + size * self._steps[taker]
        return self._filling(giver) - max(fillings) > self._least_relief

    def _is_enough(self) -> bool:
        return max(map(self._filling, range(len(self.loads)))) <= self._mean + self._enough

    def _is_far(self, broker: int, other: int) -> bool:
        return self._filling(broker) - self._filling(other) > self._enough

    def _relieve_fullest(self) -> bool:
        """Relieve the fullest broker by the one or two moves after which the fullest of their brokers is least full."""
        if self._is_enough():
            return False
        fullest = max(range(len(self.loads)), key=self._filling)
        first_moves = list(self._moves_from(fullest))
        pairs = len(self.loads) * sum(len(self._partitions_of[move.taker]) for move in first_moves)
        if pairs > MOST_PAIRS:
            return False
        self._compared_pairs += pairs
        best: tuple[_Move, ...] = ()
        best_value: tuple[int, int, int] | None = None
        limit = self._filling(fullest) - max(self._least_relief, 0)

        def compare(*moves: _Move) -> None:
            nonlocal best, best_value
            brokers = {fullest, *(move.taker for move in moves)}
            squares = sum(self.loads[index] * self._filling(index) for index in brokers)
            value = (max(map(self._filling, brokers)), len(moves), squares)
            if value[0] < limit and (best_value is None or value < best_value):
                best, best_value = moves, value

        for first in first_moves:
            self._make(first)
            compare(first)
            for second in self._moves_from(first.taker):
                self._make(second)
                compare(first, second)
                self._undo(second)
            self._undo(first)
        for move in best:
            self._make(move)
        return bool(best)

    def _moves_from(self, broker: int) -> Iterator[_Move]:
        for partition in sorted(self._partitions_of[broker]):
            if self._sizes[partition]:
                for other in bits(self._targets(partition, self.chosen[partition], broker)):
                    yield _Move(partition, broker, other)

    def _undo(self, move: _Move) -> None:
        self._make(_Move(move.partition, move.taker, move.giver))
