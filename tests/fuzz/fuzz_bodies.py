"""Bodies of messages: strict decoding is exact, salvage refuses only what Kafka refuses, and all executions agree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

import kwire
from kwire.codecs.fast_path import FastPath, choose_fast_path
from kwire.codecs.json_writer import to_json
from kwire.errors import DecodeError, DefaultTag
from tests.executions import (
    FAST,
    Disagreement,
    fast_decoding,
    fast_encoding,
    reference_decoding,
    reference_encoding,
)
from tests.fuzz.golden import golden_bodies
from tests.messages.message_lists import released_pairs


@cache
def pairs() -> list[tuple[str, int]]:
    """Return every message and version; two bytes choose one."""
    return sorted(released_pairs())


@cache
def executions(name: str, version: int) -> list[FastPath]:
    """Return the fast executions of a message."""
    return [choose_fast_path(kwire.codec(name, version).schema, name, engine) for engine in FAST]


def fuzz_bodies(data: bytes) -> None:
    """Decode and encode a body of the message that the first two bytes choose."""
    name, version = pairs()[int.from_bytes(data[:2], "big") % len(pairs())]
    codec, body = kwire.codec(name, version), bytes(data[2:])
    wanted = reference_decoding(codec.schema, body, 0)
    for execution in executions(name, version):
        found = fast_decoding(execution, body, 0)
        if repr(found) != repr(wanted):
            raise Disagreement(f"{codec} {body.hex()}: {found}, by the reference {wanted}")
        if wanted is not None and fast_encoding(execution, wanted[0]) != reference_encoding(codec.schema, wanted[0]):
            raise Disagreement(f"{codec} {wanted[0]}")
    read_strictly(codec, body)
    salvage(codec, body)


def read_strictly(codec: kwire.Codec, body: bytes) -> None:
    """What is accepted is encoded to the same bytes, also by way of JSON; a trace covers it."""
    try:
        message = codec.decode(body)
    except DecodeError as error:
        assert str(error) and 0 <= error.offset <= len(body)
        return
    assert codec.encode(message) == body
    text = json.dumps(to_json(codec.schema, message))
    assert codec.json_text(body) is None or json.loads(codec.json_text(body) or "") == json.loads(text)
    assert codec.encode(codec.from_json(json.loads(text))) == body
    assert b"".join(body[span.start : span.stop] for span in codec.trace(body)) == body


def salvage(codec: kwire.Codec, body: bytes) -> None:
    """What Kafka tolerates has a fault with its bytes; the value is encoded and comes back."""
    with suppress(DecodeError):
        message, faults, rest = codec.decode(body, salvage=True)
        assert body.endswith(rest)
        assert all(fault.raw in body for fault in faults)
        again = codec.encode(message)
        assert repr(codec.decode(again)) == repr(message) or any(isinstance(fault, DefaultTag) for fault in faults)


def seeds() -> Iterator[bytes]:
    """Yield a body that Kafka wrote of each message and version."""
    for number, pair in enumerate(pairs()):
        if pair in golden_bodies():
            yield number.to_bytes(2, "big") + golden_bodies()[pair]


if __name__ == "__main__":
    from tests.fuzz.running import run

    run(fuzz_bodies, seeds())
