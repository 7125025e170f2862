"""Structs become the bodies that they were made of: every message, every version, by Kafka's own bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import kwire
from kwire.arrow.binary_columns import CellReader, Cells, CellWriter
from kwire.errors import NotInVersion, UnknownField, WrongType
from tests.arrow.golden import golden_columns
from tests.conftest import spread

BODIES = golden_columns()


@pytest.mark.parametrize("name", spread(sorted(BODIES), 100))
def test_structs_become_their_bodies(name: str) -> None:
    bodies = pa.array([body for body, _ in BODIES[name]], pa.binary())
    versions = pa.array([version for _, version in BODIES[name]], pa.int32())
    cells = Cells(name=name, mode="FAILFAST")
    structs = pa.concat_arrays(list(CellReader(cells).read(bodies, versions)))
    structs.validate(full=True)
    again = pa.concat_arrays(list(CellWriter(cells).write(structs, versions)))
    assert again.to_pylist() == bodies.to_pylist()


def written(value: Any, version: int = 1, mode: str = "FAILFAST") -> list[Any]:
    type_ = None if value else pa.struct([])
    writer = CellWriter(Cells(name="Metadata", direction="request", mode=mode))
    return [body for array in writer.write(pa.array([value], type_), version) for body in array.to_pylist()]


def test_what_is_missing_has_its_default() -> None:
    codec = kwire.codec("MetadataRequest", 1)
    assert written({"topics": [{"name": "t"}]}) == [
        codec.encode(
            kwire.messages.MetadataRequest(topics=[kwire.messages.MetadataRequest.MetadataRequestTopic(name="t")])
        )
    ]
    assert written({"topics": None}) == [codec.encode(kwire.messages.MetadataRequest(topics=None))]
    assert written(None) == [None]


def test_what_would_be_lost_is_an_error_or_null() -> None:
    with pytest.raises(UnknownField, match="topic"):
        written({"topic": []})
    with pytest.raises(NotInVersion):
        written({"topics": None, "allow_auto_topic_creation": False})
    with pytest.raises(WrongType):
        written({"topics": 3.5})
    assert written({"topic": []}, mode="PERMISSIVE") == [None]
    assert written({"topics": None}, 99, mode="PERMISSIVE") == [None]
