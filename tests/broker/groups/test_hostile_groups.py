"""Requests that no client sends, to all apis of groups: each gets an answer that can be written, books stay right."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

import kwire
from kwire.broker import Parked, Settings
from kwire.broker.apis.registry import APIS
from tests.broker.driving import Mate, World, formed
from tests.conftest import spread
from tests.messages.random_values import draw

GROUPS = ["FindCoordinator", "Heartbeat", *(name for name in APIS if "Group" in name or name.startswith("Offset"))]
PAIRS = [(name, version) for name in GROUPS for version in range(World().cluster.table[name].last + 1)]


@pytest.mark.parametrize(("name", "version"), spread(PAIRS, 30, 2))
def test_random_requests(name: str, version: int) -> None:
    rng = Random(f"{name} {version}")
    world = World(Settings(most_group_bytes=20_000, most_groups=5, most_group_members=3))
    mates = [Mate(world), Mate(world, instance="a")]
    formed(*mates)
    codec, answers = kwire.codec(f"{name}Request", version), kwire.codec(f"{name}Response", version)
    for _ in range(200):
        message = codec.decode(codec.encode(_known(draw(codec.schema, rng), mates, rng)))
        answer = world.cluster.answer(1, message, version, now=world.now, client_id="c", client_host="h")
        response = answer.response if isinstance(answer, Parked) else answer
        if response is not None:
            answers.decode(answers.encode(response))
        world.wait(rng.choice((0.0, 0.0, 1.0, 20.0)))
    world.wait(100_000)
    groups = world.cluster.groups
    assert 0 <= groups.held.size <= 20_000
    kept = {group.group_id: group for group in groups.all()}
    assert not any(group.members or group.pending for group in kept.values())
    for group in kept.values():
        groups.delete(group)
    assert (groups.held.size, world.cluster.next_deadline) == (0, None)


def _known(value: Any, mates: list[Mate], rng: Random) -> Any:
    """Put what is known to the group here and there instead of random values."""
    known = {
        "group_id": "g",
        "group_ids": ("g",),
        "member_id": rng.choice(mates).member_id,
        "generation_id": mates[0].generation,
        "session_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "name": "t",
    }
    fields = getattr(value, "__struct_fields__", ())
    empty = type(value)() if fields else value  # a field that this version lacks is as it is there
    given = [field for field in fields if field in known and getattr(value, field) != getattr(empty, field)]
    changes = {field: known[field] for field in given if rng.random() < 0.6}
    for field in fields:
        inner = getattr(value, field)
        if isinstance(inner, tuple):
            changes[field] = tuple(_known(one, mates, rng) for one in inner)
    return msgspec.structs.replace(value, **changes) if changes else value
