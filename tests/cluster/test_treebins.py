"""Crowded buckets keep all their keys, and balance as red-black trees do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.treebins import TreeBin


def test_a_new_key_stands_behind_its_parent_and_the_root_in_front() -> None:
    # OpenJDK 17: 9 strings of one hash code put in ascending order, then the tenth and the eleventh
    bucket = TreeBin([(0, number) for number in range(9)], lambda number: number)
    assert list(bucket) == [3, 0, 1, 2, 4, 5, 6, 7, 8]
    bucket.put(0, 9)
    bucket.put(0, -1)
    assert list(bucket) == [3, 0, -1, 1, 2, 4, 5, 6, 7, 8, 9]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), min_size=9, unique_by=lambda item: item[1]), st.data()
)
def test_what_is_put_is_there_and_what_is_removed_is_gone(items: list[tuple[int, int]], data: st.DataObject) -> None:
    bucket = TreeBin(items, lambda number: number)
    left = [key for _, key in items]
    assert sorted(bucket) == sorted(left)
    while left:
        gone = data.draw(st.sampled_from(left))
        left.remove(gone)
        small = bucket.remove(gone)
        assert sorted(bucket) == sorted(left)
        if small:
            assert len(left) < 11
            return
