"""The native engine converts JSON to messages, and messages to JSON, as the walkers over the tree do."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from enum import IntEnum
from random import Random
from typing import Any

import msgspec
import pytest

import kwire
from kwire.codecs import message_codec
from kwire.codecs.fast_path import table_of
from kwire.codecs.json_reader import JsonPosition, from_json
from kwire.codecs.native import ENGINE
from kwire.schema.catalog import catalog_for
from kwire.schema.former_field_names import FORMER_NAMES
from kwire.schema.sensitive_fields import HIDDEN, Hidden
from tests.messages.random_values import draw
from tests.seeds import TRIES, named, seeded

pytestmark = pytest.mark.skipif(ENGINE != "native", reason="native only")


class Colour(IntEnum):
    RED = 1


class Text(str):
    pass


class Members(dict[str, Any]):
    pass


ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 127, 128, -129, 32768, 65536, 2**31, -(2**31), 2**32, 2**63, -(2**63) - 1, 10**30),
    *(0.5, 1.0, -0.0, math.nan, math.inf, "NaN", "-Infinity", "Infinity", Colour.RED, Text("t"), Text("AAAA"), b"AAAA"),
    *(
        "",
        "a",
        "AA",
        "AB",
        "AA=",
        "AA==",
        "AB==",
        "AAA=",
        "AAB=",
        "AAAA",
        "A===",
        "====",
        "AAA\n",
        "AA A",
        "-_-_",
        "+/+/",
    ),
    *("é" * 4, "\ud800", "A" * 22, "_-__7__v_-__7__v_-__7w", "_-__7__v_-__7__v_-__7x", "A" * 20 + "==", "A" * 24),
    *(
        [],
        (),
        [1],
        (1,),
        ["a"],
        [None],
        [[]],
        {},
        Members(),
        {HIDDEN: 3},
        {"tag": 1},
        [{}],
        [{"tag": 1, "data": "AA=="}],
    ),
)


def native_codec(name: str, version: int) -> kwire.Codec:
    """Return a codec that uses the native engine without comparing it to others, as it does outside of tests."""
    codec = message_codec._CODEC(catalog_for().spec(name), version)
    vars(codec)["_fast"] = table_of(codec)
    return codec


def codecs() -> Iterator[tuple[kwire.Codec, Random]]:
    rng = seeded("JSON")
    for name in catalog_for().names():
        yield native_codec(name, rng.choice(list(catalog_for().spec(name).versions))), rng


def outcome(call: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, ...]:
    """Return a value or an error so that equal outcomes are equal, also with NaN."""
    try:
        value = call(*args, **options)
    except (kwire.EncodeError, TypeError, ValueError) as error:
        return type(error), str(error), repr(getattr(error, "segments", None))
    return type(value), repr(value)


def walk(codec: kwire.Codec, members: Any, *, defaults: bool = False) -> Any:
    return from_json(codec.schema, members, JsonPosition(codec.name, codec.version, defaults=defaults))


def walk_back(codec: kwire.Codec, message: Any) -> Any:
    codec.encode(message)
    return codec._jsonable(message)


def positions(value: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of everything in plain values."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    return [(value, key) for key, _ in items] + [found for _, item in items for found in positions(item)]


def draw_odd_value(rng: Random) -> Any:
    """Return a copy: a container may be changed later, even be put into itself."""
    return deepcopy(rng.choice(ODD_VALUES))


def change(members: dict[str, Any], rng: Random) -> Any:
    """Change one thing in the JSON of a message."""
    found = positions(members)
    if not found or rng.random() < 0.05:
        return draw_odd_value(rng)
    container, key = rng.choice(found)
    match rng.randrange(6):
        case 0:
            del container[key]
        case 1 if isinstance(container, dict):
            container[rng.choice(("unknown", "_unknownTags", HIDDEN, 7, Text(key)))] = draw_odd_value(rng)
        case 2 if isinstance(container, dict):
            container[rng.choice([name for _, name in FORMER_NAMES])] = container.pop(key)
        case 3 if isinstance(container[key], list):
            container[key] = tuple(container[key])
        case 4 if isinstance(container[key], dict):
            container[key] = Members(container[key])
        case _:
            container[key] = draw_odd_value(rng)
    return members


def test_json_is_read_and_written_as_by_the_walkers() -> None:
    for codec, rng in codecs():
        message = draw(codec.schema, rng)
        with named((codec, message)):
            members = codec.to_json(message)
            assert list(map(repr, (members, codec.jsonable(message)))) == [repr(walk_back(codec, message))] * 2
            assert codec.from_json(members) == walk(codec, members) == message


def test_changed_json_is_read_or_refused_as_by_the_walker() -> None:
    for codec, rng in codecs():
        for number in range(5 * TRIES):
            members = msgspec.json.decode(msgspec.json.encode(codec.to_json(draw(codec.schema, rng))))
            for _ in range(rng.choice((1, 1, 2))):
                members = change(members, rng) if isinstance(members, dict) else members
            defaults = number % 2 == 0
            with named((codec, members, defaults)):
                expected = outcome(walk, codec, members, defaults=defaults)
                assert outcome(codec.from_json, members, defaults=defaults) == expected


def test_changed_messages_are_written_or_refused_as_by_the_walker() -> None:
    for codec, rng in codecs():
        for _ in range(3 * TRIES):
            message = draw(codec.schema, rng)
            fields = [field for field in type(message).__struct_fields__ if field != "unknown_tags"]
            if not fields:
                continue
            value = rng.choice((*ODD_VALUES, Hidden("secret"), Hidden(b"secret"), [message], bytes(16), bytes(15)))
            message = msgspec.structs.replace(message, **{rng.choice(fields): value})
            with named((codec, message)):
                assert outcome(codec.to_json, message) == outcome(walk_back, codec, message)
                try:
                    expected = codec._jsonable(message)
                except (AttributeError, TypeError, ValueError) as error:
                    with pytest.raises(type(error)):
                        codec.jsonable(message)
                else:
                    assert repr(codec.jsonable(message)) == repr(expected)


def test_a_message_of_another_class_or_with_unknown_tags_is_left_to_the_walker() -> None:
    codec = native_codec("MetadataRequest", 9)
    with pytest.raises(kwire.EncodeError, match="a MetadataRequest"):
        codec.to_json(kwire.messages.MetadataResponse())
    message = kwire.messages.MetadataRequest(unknown_tags=b"\x63\1x")
    assert codec.to_json(message)["_unknownTags"] == [{"tag": 99, "data": "eA=="}]
    assert codec.from_json(codec.to_json(message)) == message


def test_what_code_in_keys_takes_away_stays_alive() -> None:
    members = native_codec("MetadataRequest", 1).to_json(kwire.messages.MetadataRequest(topics=()))

    class Key(str):
        def __eq__(self, other: object) -> bool:
            members.clear()
            gc.collect()
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    topics = [{Key("name"): "x" * 100}, {"name": "y" * 100}]
    members["topics"] = topics
    message = native_codec("MetadataRequest", 1).from_json(members, defaults=True)
    assert [topic.name for topic in message.topics or ()] == ["x" * 100, "y" * 100]


def test_usual_json_does_not_reach_the_walkers(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = native_codec("DescribeConfigsResponse", 4)
    config = codec.message_class.DescribeConfigsResult(error_message="é", configs=(), resource_name="orders")
    message = codec.message_class(throttle_time_ms=3, results=(config, config))
    monkeypatch.setattr("kwire.codecs.json_reader.from_json", lambda *_: pytest.fail("read by the walker"))
    monkeypatch.setattr("kwire.codecs.json_writer.json_writer", lambda *_: pytest.fail("written by the walker"))
    assert codec.from_json(codec.to_json(message)) == codec.from_json(codec.jsonable(message)) == message
