"""Which partitions moved, and which of them to move back instead of another."""

from __future__ import annotations

from kwire.cluster.assignors.sticky.movements import Movements


def test_one_that_went_the_other_way_goes_back_instead() -> None:
    movements = Movements()
    for number in (1, 2):
        movements.note(("t", number), "m1", "m2")
    assert movements.instead_of(("t", 5), "m2", "m1") == ("t", 2)  # the first in Java's order
    assert movements.instead_of(("t", 5), "m1", "m2") == ("t", 5)
    assert movements.instead_of(("u", 5), "m2", "m1") == ("u", 5)


def test_a_partition_counts_from_its_first_holder() -> None:
    movements = Movements()
    movements.note(("t", 1), "m1", "m2")
    movements.note(("t", 1), "m2", "m3")
    assert movements.instead_of(("t", 9), "m3", "m1") == ("t", 1)
    assert movements.instead_of(("t", 9), "m2", "m1") == ("t", 9)
    movements.note(("t", 2), "m3", "m1")
    assert movements.instead_of(("t", 1), "m3", "m3") == ("t", 2)
    movements.note(("t", 1), "m3", "m1")
    assert movements.instead_of(("t", 9), "m3", "m1") == ("t", 9)
