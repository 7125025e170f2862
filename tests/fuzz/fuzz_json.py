"""The JSON of messages: it is encoded, or refused with the position in it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import kwire
from kwire.errors import EncodeError
from tests.fuzz.fuzz_bodies import pairs
from tests.fuzz.golden import golden_bodies


def fuzz_json(data: bytes) -> None:
    """Encode JSON as the message that the first two bytes choose."""
    codec = kwire.codec(*pairs()[int.from_bytes(data[:2], "big") % len(pairs())])
    try:
        members = json.loads(data[2:])
    except (ValueError, RecursionError):
        return
    for defaults in (False, True):
        try:
            body = codec.encode(codec.from_json(members, defaults=defaults))
        except EncodeError as error:
            assert str(error)
            continue
        message = codec.decode(body)
        assert codec.encode(message) == body
        assert codec.encode(codec.from_json(codec.to_json(message))) == body


def seeds() -> Iterator[bytes]:
    """Yield the JSON of a body that Kafka wrote of each message, in one of its versions."""
    names = set[str]()
    for number, (name, version) in enumerate(pairs()):
        if (name, version) in golden_bodies() and name not in names:
            names.add(name)
            codec = kwire.codec(name, version)
            members = codec.to_json(codec.decode(golden_bodies()[name, version]))
            yield number.to_bytes(2, "big") + json.dumps(members, separators=(",", ":")).encode()


if __name__ == "__main__":
    from tests.fuzz.running import run

    run(fuzz_json, seeds())
