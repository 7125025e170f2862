"""Twins of trees read the same bytes and are written as the same JSON, or not at all."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import Any

import msgspec
import pytest

import kwire
from kwire import wire
from kwire.errors import DecodeError
from kwire.json import NoTwin, twin_of
from kwire.schema import grow
from tests.conftest import ROOT
from tests.small_specs import field, spec_of

M: Any = kwire.messages
THING = spec_of(
    field("Id", "uuid"),
    field("Others", "[]uuid", nullableVersions="0+"),
    field("Name", "string"),
    field("Part", "Part", nullableVersions="0+", default="null", fields=[field("Flag", "bool")]),
    field("Epoch", "int64", tag=0, taggedVersions="0+", default="9223372036854775807"),
    field("Text", "string", tag=1, taggedVersions="0+", default="none"),
    field("More", "More", tag=2, taggedVersions="0+", fields=[field("Leader", "int32", default="-1")]),
    flexible="0+",
)


def text_of(spec: Any, message: Any) -> str | None:
    codec = kwire.codecs.Codec(spec, 0, grow(spec, 0))
    found = codec.json_text(codec.encode(message))
    if found is not None:
        assert found[0] == msgspec.json.encode(codec.jsonable(message)).decode()
    return None if found is None else found[0]


def test_the_bytes_of_kafka_give_the_same_json() -> None:
    told: Counter[bool] = Counter()
    with gzip.open(ROOT / "fixtures" / "golden.jsonl.gz", "rt", encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            codec, data = kwire.codec(case["message"], case["version"]), bytes.fromhex(case["hex"])
            found, members = codec.json_text(data), codec.jsonable(codec.decode(data))
            told[found is not None] += 1
            if found is not None:
                assert found[0] == msgspec.json.encode(members).decode(), case["message"]
            assert codec.json_text(data + b"\0") is None
            assert not data or codec.json_text(data[:-1]) is None
            assert codec.json_text(b"\0\0" + data, 2) == found
    assert told[True] > 4 * told[False]


def test_uuids_are_base64url_and_texts_that_look_like_them_are_left() -> None:
    cls: Any = grow(THING, 0).message_class
    other = '"id":"++++++++++++++++++++++=="'
    text = text_of(THING, cls(id=b"\xff" * 16, others=[b"\xfb" * 16] * 2, name=other))
    assert text is not None
    assert json.loads(text) == {
        "id": "_" * 21 + "w",
        "others": ["-_v7-_v7-_v7-_v7-_v7-w"] * 2,
        "name": other,
        "part": None,
    }


def test_tags_are_left_out_where_they_hold_their_defaults() -> None:
    cls: Any = grow(THING, 0).message_class
    text = text_of(THING, cls(part=cls.Part(flag=True)))
    assert text is not None
    assert not {"epoch", "text", "more"} & json.loads(text).keys()
    text = text_of(THING, cls(epoch=-1, text="", more=cls.More(leader=3)))
    assert text is not None
    assert {name: json.loads(text)[name] for name in ("epoch", "text", "more")} == {
        "epoch": -1,
        "text": "",
        "more": {"leader": 3},
    }


def test_a_tag_that_is_written_with_its_default_is_told_with_care() -> None:
    codec = kwire.codec("FetchRequest", 12)
    data = codec.encode(M.FetchRequest())
    assert codec.json_text(data) is not None
    assert codec.json_text(data[:-1] + bytes.fromhex("01 00 01 00")) is None  # cluster id: null


def test_unknown_tags_are_told_with_care() -> None:
    codec = kwire.codec("MetadataRequest", 9)
    assert codec.json_text(codec.encode(M.MetadataRequest(unknown_tags=bytes.fromhex("05 01 aa")))) is None


def test_floats_and_names_of_two_kinds_have_no_twin() -> None:
    with pytest.raises(NoTwin):
        twin_of(grow(spec_of(field("Quota", "float64")), 0))
    spec = spec_of(field("Id", "uuid"), field("Part", "Part", fields=[field("Id", "string")]))
    with pytest.raises(NoTwin):
        twin_of(grow(spec, 0))
    assert text_of(spec, grow(spec, 0).message_class()) is None


def test_a_node_of_somebodys_own_has_no_twin() -> None:
    class Own(wire.Boolean):
        pass

    schema = grow(spec_of(field("Id", "int32")), 0)
    own = wire.Struct(schema.message_class, [wire.Field("id", Own(), json_name="id", default=0)])
    with pytest.raises(NoTwin):
        twin_of(own)


def test_damaged_bodies_are_refused_where_decoding_tells_of_faults() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    data = codec.encode(M.MetadataResponse(cluster_id="c", brokers=[M.MetadataResponse.MetadataResponseBroker()]))
    for place in range(len(data)):
        damaged = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
        found = codec.json_text(damaged)
        try:
            salvaged = codec.decode(damaged, salvage=True)
        except DecodeError:
            assert found is None
            continue
        clean = not salvaged.faults and not salvaged.rest
        assert found is None or clean
        if found is not None:
            assert found[0] == msgspec.json.encode(codec.jsonable(salvaged.message)).decode()
