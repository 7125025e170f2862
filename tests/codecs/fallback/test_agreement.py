"""The executions agree about every message that Kafka released, and about every change to its bytes (test plan T4)."""

from __future__ import annotations

from enum import IntEnum
from random import Random
from typing import Any

import msgspec
import pytest

import kwire
from kwire.codecs import message_codec
from kwire.codecs.fallback import generated_python as compiler
from kwire.codecs.fallback import source_builder
from kwire.codecs.fallback.reading_functions import ReadingFunction, emit_read
from kwire.codecs.fast_path import choose_fast_path
from kwire.codecs.native import ENGINES
from kwire.codecs.schema_tree import grow_tree
from kwire.codecs.wire import INT32, Array, Boolean, NullableStruct, Reader, Struct
from kwire.errors import DecodeError, EncodeError
from tests.executions import FAST, AgreeingPath, Disagreement
from tests.messages.message_lists import draft_triples, released_pairs
from tests.messages.random_values import damaged, draw
from tests.seeds import TRIES, seeded

CHANGES = 10 * TRIES
ALL = [(None, *pair) for pair in released_pairs()] + list(draft_triples())


def accepts(codec: kwire.Codec, data: bytes) -> bool:
    """Decode, by both executions, since every test does; return whether they accept."""
    try:
        codec.decode(data)
    except DecodeError:
        return False
    return True


def test_every_test_runs_both_executions() -> None:
    assert vars(message_codec)["choose_fast_path"] is AgreeingPath
    assert "python" in FAST


@pytest.mark.ci
@pytest.mark.fuzz
def test_executions_agree_about_every_message_and_its_damages() -> None:
    rng = seeded("agreement")
    verdicts = {True: 0, False: 0}
    for profile, name, version in ALL:
        codec = kwire.codec(name, version, profile=profile)
        for message in (draw(codec.schema, rng) for _ in range(2)):
            raw = codec.encode(message)
            assert accepts(codec, raw)
            for _ in range(CHANGES):
                verdicts[accepts(codec, damaged(raw, rng))] += 1
    assert min(verdicts.values()) > len(ALL)


class Number(IntEnum):
    ONE = 1


class Text(str):
    pass


class Index:
    """What an int code of `struct` takes and no int is."""

    def __index__(self) -> int:
        return 3


ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 127, 128, 255, 2**15, 2**31 - 1, -(2**31), 2**31, 2**40, 2**63, 2**64, -(2**63) - 1),
    *(1.0, 0.0, -0.0, float("nan"), Number.ONE, Index(), object, "", "x", "\udc00", "é" * 64, "x" * 127, "x" * 32767),
    *(
        "x" * 32768,
        "é" * 16384,
        Text("x"),
        b"",
        b"x",
        b"x" * 16,
        bytearray(16),
        memoryview(b"x" * 16),
        b"x" * 17,
        b"\5\0",
    ),
    *(b"\5\1\0", b"\7\0\5\0", bytearray(b"\x85\0\0"), (), [], [1], (1, True), [1, 2.0], range(3), {1}, (None,), ("x",)),
    *(
        [Text("x")],
        (b"x",),
        tuple(range(31)),
        tuple(range(32)),
        list(range(126)),
        range(127),
        range(128),
        (2**31,),
        {},
        iter(()),
    ),
)


def altered(node: Any, value: Any, rng: Random) -> Any:
    """Return a message, or a part of one, with one value somewhere in it replaced by another."""
    if isinstance(node, Struct) and type(value) is node.message_class and rng.random() < 0.95:
        name = rng.choice(value.__struct_fields__)
        inner = {field.name: field.subcon for field in node.all_fields}.get(name)
        return msgspec.structs.replace(value, **{name: altered(inner, getattr(value, name), rng)})
    if isinstance(node, Array) and value and rng.random() < 0.8:
        index = rng.randrange(len(value))
        items = [*value[:index], altered(node.element, value[index], rng), *value[index + 1 :]]
        return items if rng.random() < 0.5 else tuple(items)
    if isinstance(node, NullableStruct) and value is not None and rng.random() < 0.8:
        return altered(node.subcon, value, rng)
    return rng.choice(ODD)


def test_executions_agree_about_values_that_do_not_fit() -> None:
    rng = Random("values")
    verdicts = {True: 0, False: 0}
    for profile, name, version in ALL:
        codec = kwire.codec(name, version, profile=profile)
        message = draw(codec.schema, rng)
        for _ in range(CHANGES):
            try:
                codec.encode(altered(codec.schema, message, rng))
                verdicts[True] += 1
            except EncodeError:
                verdicts[False] += 1
    assert min(verdicts.values()) > len(ALL)


def test_executions_agree_in_the_middle_of_bytes() -> None:
    rng = Random("middle")
    for name, version in released_pairs()[::7]:
        codec = kwire.codec(name, version)
        raw = codec.encode(message := draw(codec.schema, rng))
        reader = Reader(b"\1\2\3\4" + raw + b"\5\6")
        reader.take(4)
        assert codec.read(reader) == message
        assert reader.data[reader.pos :] == b"\5\6"


def test_a_disagreement_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def lax(node: Boolean, out: ReadingFunction) -> str:
        return f"{out.fixed('B')} != 0"

    codec = kwire.codec("MetadataRequest", 4)
    emitters: Any = emit_read
    was = emitters.registry[Boolean]
    emitters.register(Boolean, lax)
    try:
        decode = AgreeingPath(codec.schema, "lax").decode_from
        decode(bytes.fromhex("00000000 01"), 0)
        with pytest.raises(Disagreement):
            decode(bytes.fromhex("00000000 02"), 0)
    finally:
        emitters.register(Boolean, was)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_reference_alone_reads_what_a_fast_path_does_not_know(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = grow_tree(kwire.codec("ControlledShutdownRequest", 1).spec, 1)
    schema.fields[0].subcon = type("Other", (type(INT32),), {})("other int32", "i")
    with pytest.raises(source_builder.NoEmitter, match="no reading is written for Other"):
        compiler.compile_decoder(schema, "other")
    monkeypatch.setattr(
        message_codec, "choose_fast_path", lambda schema, title: choose_fast_path(schema, title, engine)
    )
    codec = message_codec.Codec(kwire.codec("ControlledShutdownRequest", 1).spec, 1, schema)
    assert codec.decode(bytes.fromhex("00000003")).broker_id == 3
