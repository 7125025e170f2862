"""Elements found in every way: side by side, by patterns, by runs, by straight lines. All must be the same."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwire
from kwire.columnar import elements
from kwire.columnar.elements import Array, is_wide
from kwire.columnar.fields import Fields
from kwire.columnar.rows import Buffer, Even, Rows
from tests.columnar.rows import expected
from tests.columnar.test_reading import ALIKE, all_columns, damage, long_bodies
from tests.seeds import PROFILE

TREE: Any = kwire.codec("MetadataResponse", 12).schema
TOPICS: Any = next(field.subcon for field in TREE.fields if field.name == "topics")
PARTITIONS: Any = next(field.subcon for field in TOPICS.element.fields if field.name == "partitions")
CLASS = kwire.messages.MetadataResponse.MetadataResponsePartition
NEVER = 10**9
WAYS = {
    "as it is": {},
    "side by side": {"MANY": 0},
    "straight lines": {"MANY": NEVER, "OFTEN": NEVER, "LONG": NEVER},
    "patterns": {"MANY": NEVER, "OFTEN": -1, "FEW": 0, "LONG": NEVER},
    "runs": {"MANY": NEVER, "LONG": 2},
}


def element(replicas: int = 3, tags: bytes | None = None) -> bytes:
    return bytes(PARTITIONS.element.build(CLASS(replica_nodes=(1,) * replicas, unknown_tags=tags)))


def array() -> Array:
    return Fields("test").arrays.of(PARTITIONS)


def rows(data: list[bytes]) -> Rows:
    buffer = Buffer(data)
    ends = np.cumsum([len(one) for one in data])
    return Rows(buffer, ends - [len(one) for one in data], ends, lambda which: which)


@pytest.mark.parametrize("way", WAYS)
@given(data=st.data())
@settings(max_examples=3 if PROFILE == "dev" else 12, deadline=None)
def test_all_ways_read_the_same(way: str, data: Any) -> None:
    name, version, path = data.draw(st.sampled_from(ALIKE))
    seed, odd, harm = data.draw(st.integers()), data.draw(st.sampled_from([0, 0.02, 0.5])), data.draw(st.booleans())
    codec, rng = kwire.codec(name, version), Random(seed)
    bodies = long_bodies(codec, path, seed, odd) * 3
    bodies = [damage(body, rng) if harm and rng.random() < 0.3 else body for body in bodies]
    good = [body for body in bodies if is_good(codec, body)]
    with pytest.MonkeyPatch.context() as patch:
        for constant, value in WAYS[way].items():
            patch.setattr(elements, constant, value)
        columns = kwire.columns(name, version, path, columns=all_columns(codec, path))
        for _ in range(2):  # patterns and shapes are kept
            batches = list(columns.read(bodies))
            found = [row for batch in batches for row in batch.rows.to_pylist()]
            bad = [error.body_index for batch in batches for error in batch.errors]
            assert bad == [index for index, body in enumerate(bodies) if not is_good(codec, body)]
            want = expected(codec, path, good)
            assert repr(found) == repr([{key: row[key] for key in columns.schema.names} for row in want])


def is_good(codec: kwire.Codec, body: bytes) -> bool:
    try:
        codec.decode(body)
    except kwire.DecodeError:
        return False
    return True


@pytest.mark.parametrize("count", [1, 70, 200])
@pytest.mark.parametrize("parents", [1, 200])
@pytest.mark.parametrize("odd", [None, element(2), element(3, b"\7\0"), b""])
def test_elements_of_one_shape_are_even(count: int, parents: int, odd: bytes | None) -> None:
    data = [element() * count] * parents
    if odd is not None:
        data[parents // 2] = element() * (count // 2) + odd + element() * (count - 1 - count // 2)
    found = array()
    some, counts = rows(data), np.full(parents, count)
    children = found.find(some, counts)
    wrong = parents // 2 if odd == b"" else None
    assert [parent for parent in range(parents) if not counts[parent]] == ([] if wrong is None else [wrong])
    assert len(children) == sum(counts)
    if odd != b"":
        assert isinstance(children, Even) == (odd is None and count * parents >= elements.LONG)
    ends = np.cumsum([len(one) for one in data]).tolist()
    assert [at for parent, at in enumerate(some.at.tolist()) if parent != wrong] == [
        end for parent, end in enumerate(ends) if parent != wrong
    ]


def test_what_belongs_to_the_next_body_is_not_found() -> None:
    for parents in (1, 300):
        some, counts = rows([element() * 2, element() * 2] * parents), np.array([3, 2] * parents)
        children = array().find(some, counts)
        assert counts.tolist() == [0, 2] * parents
        assert len(children) == 2 * parents
        assert children.origin(np.arange(2)).tolist() == [1, 1]
        assert set(some.at[::2].tolist()) == {some.buffer.nowhere}


def test_patterns_that_fail_are_given_up_for_a_while() -> None:
    found = array()
    calls = []
    found.seen = elements.OFTEN
    assert found.patterns is not None
    sizes = found.patterns.sizes

    def counted(b: bytes, p: int, count: int, end: int) -> list[int]:
        calls.append(count)
        return sizes(b, p, count, end)

    found.patterns.sizes = counted  # type: ignore[method-assign]
    odd = element(3, b"\7\0") * 4000
    for _ in range(3):
        children = found.find(rows([odd]), np.array([4000]))
        assert len(children) == 4000
    assert 5 < len(calls) < 30
    found.rest = 0
    assert len(found.find(rows([element(1) * 40 + element(2) * 40]), np.array([80]))) == 80
    assert found.pause == 1


def test_arrays_go_side_by_side_if_they_are_many_and_alike() -> None:
    assert not is_wide(np.zeros(500, np.int64))
    assert is_wide(np.full(500, 3))
    assert not is_wide(np.full(20, 1000))
    assert not is_wide(np.array([1000] + [1] * 500))
