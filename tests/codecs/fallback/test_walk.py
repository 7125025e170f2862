"""The walks know every node that trees are grown of, and no other."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.codecs import wire
from kwire.codecs.fallback.generated_python import compile_decoder, compile_encoder
from kwire.codecs.fallback.reading_functions import emit_read
from kwire.codecs.fallback.source_builder import NoEmitter
from kwire.codecs.fallback.writing_functions import emit_write
from kwire.codecs.schema_tree import grow_tree
from tests.messages.message_lists import released_pairs


def kinds(node: Any) -> set[type]:
    inner = [getattr(node, name) for name in ("element", "subcon") if hasattr(node, name)]
    inner += [field.subcon for field in getattr(node, "all_fields", ())]
    return {type(node)}.union(*map(kinds, inner))


def test_every_node_of_every_tree_has_emitters_both_ways() -> None:
    grown = set().union(*(kinds(kwire.codec(*pair).schema) for pair in released_pairs()))
    assert len(grown) >= 9
    known = (set(emit_read.registry) & set(emit_write.registry)) - {object}
    assert grown <= known


@pytest.mark.parametrize("base", [wire.Integer, wire.String, wire.Array, wire.Boolean])
def test_a_node_of_another_class_has_none_whatever_it_is_derived_from(base: Any) -> None:
    other = type("Other", (base,), {})
    arguments: dict[Any, tuple[Any, ...]] = {wire.Integer: ("other", "i"), wire.Array: (wire.INT8,)}
    schema = grow_tree(kwire.codec("ControlledShutdownRequest", 1).spec, 1)
    schema.fields[0].subcon = other(*arguments.get(base, ()))
    for compiling in (compile_decoder, compile_encoder):
        with pytest.raises(NoEmitter, match="is written for Other"):
            compiling(schema, "other")
