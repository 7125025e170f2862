"""The executions agree about every message that Kafka released, and about every change to its bytes (test plan T4)."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

import kwire
from kwire import codecs, compiler
from kwire.compiler.runs import Reads
from kwire.compiler.walk import emit_read
from kwire.errors import DecodeError
from kwire.schema import grow
from kwire.wire import INT32, Boolean, Reader
from tests.executions import Disagreement, agreeing_decoder
from tests.messages_of import draft_triples, released_pairs
from tests.random_values import draw
from tests.test_oracle import damaged

CHANGES = 400 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 10
ALL = [(None, *pair) for pair in released_pairs()] + list(draft_triples())


def accepts(codec: kwire.Codec, data: bytes) -> bool:
    """Decode, by both executions, since every test does; return whether they accept."""
    try:
        codec.decode(data)
    except DecodeError:
        return False
    return True


def test_every_test_runs_both_executions() -> None:
    assert vars(codecs)["compile_decoder"] is agreeing_decoder
    assert compiler.compile_decoder is not agreeing_decoder


def test_executions_agree_about_every_message_and_its_damages() -> None:
    rng = Random("agreement")
    verdicts = {True: 0, False: 0}
    for profile, name, version in ALL:
        codec = kwire.codec(name, version, profile=profile)
        for message in (draw(codec.schema, rng) for _ in range(2)):
            raw = codec.encode(message)
            assert accepts(codec, raw)
            for _ in range(CHANGES):
                verdicts[accepts(codec, damaged(raw, rng))] += 1
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
    def lax(node: Boolean, out: Reads) -> str:
        return f"{out.fixed('B')} != 0"

    codec = kwire.codec("MetadataRequest", 4)
    emitters: Any = emit_read
    was = emitters.registry[Boolean]
    emitters.register(Boolean, lax)
    try:
        decode = agreeing_decoder(codec.schema, "lax")
        decode(bytes.fromhex("00000000 01"), 0)
        with pytest.raises(Disagreement):
            decode(bytes.fromhex("00000000 02"), 0)
    finally:
        emitters.register(Boolean, was)


def test_the_reference_alone_reads_what_the_compiler_does_not_know() -> None:
    schema = grow(kwire.codec("ControlledShutdownRequest", 1).spec, 1)
    schema.fields[0].subcon = type("Other", (type(INT32),), {})("other int32", "i")
    with pytest.raises(compiler.NoEmitter, match="no reading is written for Other"):
        compiler.compile_decoder(schema, "other")
    codec = codecs.Codec(kwire.codec("ControlledShutdownRequest", 1).spec, 1, schema)
    assert codec.decode(bytes.fromhex("00000003")).broker_id == 3
