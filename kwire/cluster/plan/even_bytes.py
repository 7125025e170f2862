"""Even bytes on brokers, by the exchanges of one broker for another that move the fewest bytes."""

from __future__ import annotations

from collections.abc import Sequence

from .broker_masks import bits
from .even_loads import Targets


class EvenBytes:
    """Balances the bytes of brokers if partitions have different sizes.

    This is bin packing, for which no fast exact algorithm is known. Each step moves the partition that reduces the sum
    of the squares most, from the fullest broker that has such a partition.

    Args:
        chosen: the set of each partition, as a bit mask of brokers.
        sizes: the bytes of one replica of each partition.
        loads: the bytes on each broker, including other partitions.
        targets: as for `EvenLoads`.
        tolerance: brokers whose bytes differ by less than this fraction of the mean count as even.
    """

    def __init__(
        self,
        chosen: Sequence[int],
        sizes: Sequence[int],
        loads: Sequence[int],
        targets: Targets,
        tolerance: float = 0.02,
    ) -> None:
        self.chosen: list[int] = list(chosen)
        self.loads: list[int] = list(loads)
        self._sizes = sizes
        self._targets = targets
        self._enough = tolerance * sum(loads) / len(loads)
        self._partitions_of: list[set[int]] = [set() for _ in loads]
        for partition, mask in enumerate(self.chosen):
            for broker in bits(mask):
                self._partitions_of[broker].add(partition)

    def even_out(self) -> None:
        """Move partitions until no single move relieves a broker."""
        while self._pass():
            pass  # a broker that could not be relieved may be relieved after others

    def _pass(self) -> bool:
        """Relieve each broker as often as possible; return whether any was relieved."""
        untried = set(range(len(self.loads)))
        changed = False
        while untried:
            broker = max(untried, key=lambda index: (self.loads[index], index))
            best = self._best(broker)
            if best is None:
                untried.remove(broker)
                continue
            partition, other = best
            self.chosen[partition] ^= 1 << broker ^ 1 << other
            self._partitions_of[broker].remove(partition)
            self._partitions_of[other].add(partition)
            self.loads[broker] -= self._sizes[partition]
            self.loads[other] += self._sizes[partition]
            changed = True
        return changed

    def _best(self, broker: int) -> tuple[int, int] | None:
        """Return the partition whose move from a broker makes loads most even, and its target; None if there is
        none.
        """
        order = sorted(range(len(self.loads)), key=self.loads.__getitem__)
        order = order[
            : next((position for position, index in enumerate(order) if not self._is_far(broker, index)), len(order))
        ]
        best: tuple[int, int] | None = None
        best_gain = 0
        for partition in sorted(self._partitions_of[broker]):
            size = self._sizes[partition]
            if not order or size * (self.loads[broker] - self.loads[order[0]] - size) <= best_gain:
                continue
            open_to = self._targets(partition, self.chosen[partition], broker)
            other = next((index for index in order if open_to >> index & 1), None)
            if other is not None and (gain := size * (self.loads[broker] - self.loads[other] - size)) > best_gain:
                best = partition, other
                best_gain = gain
        return best

    def _is_far(self, broker: int, other: int) -> bool:
        return self.loads[broker] - self.loads[other] > self._enough
