"""What each kind of hostile broker sends; without sockets and time."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

import kwire
from kwire.broker import Node
from kwire.errors import DecodeError, UnknownMessage
from kwire.protocol import Frame
from kwire.protocol.frames.frame_size import get_int32
from kwire.testing.hostile import BROKER_KINDS, End, HostileCluster, Step
from tests.broker.served import fetching

M = kwire.messages
REQUEST = kwire.encode_request(M.MetadataRequest(topics=None), 12, correlation_id=7)
BAD_BODIES = ("garbage", "counts", "deep-tags", "wrong-body", "bad-text")
CHANGED = ("errors", "throttle", "no-such-error", "bad-host", "many-brokers", "fickle", "odd-ids")


def steps_of(kind: str, request: bytes = REQUEST, most: int = 5) -> list[Step]:
    cluster = HostileCluster(kind, [Node(1, "127.0.0.1", 9092), Node(2, "127.0.0.1", 9093)], seed=1)
    return list(islice(cluster.answer(1, Frame(request)), most))


def decoded(data: Any) -> Any:
    (_, response) = kwire.decode_frames([Frame(REQUEST), Frame(data)])
    assert isinstance(response, kwire.Response)
    return response


@pytest.mark.parametrize("kind", BROKER_KINDS)
def test_a_kind_is_the_same_for_the_same_seed(kind: str) -> None:
    assert steps_of(kind) == steps_of(kind)


@pytest.mark.parametrize("kind", BROKER_KINDS)
def test_other_apis_are_answered_soundly(kind: str) -> None:
    (answer,) = steps_of(f"{kind}:fetch")
    assert [broker.node_id for broker in decoded(answer).message.brokers] == [1, 2]


@pytest.mark.parametrize("kind", BAD_BODIES)
def test_bodies_that_do_not_decode(kind: str) -> None:
    (answer,) = steps_of(kind)
    assert isinstance(answer, bytes)
    assert get_int32(answer, 0) == len(answer) - 4
    assert get_int32(answer, 4) == 7
    with pytest.raises(DecodeError):
        kwire.codec("MetadataResponse", 12).decode(answer[9:])


@pytest.mark.parametrize("kind", CHANGED)
def test_bodies_that_decode_and_lie(kind: str) -> None:
    (answer,) = steps_of(kind)
    (sound,) = steps_of("drip:Fetch")
    assert decoded(answer).correlation_id == 7
    assert decoded(answer).message != decoded(sound).message


def test_how_connections_end() -> None:
    assert steps_of("reset") == [End.RESET]
    assert steps_of("close") == [End.CLOSE]
    assert steps_of("truncate")[1:] == [End.CLOSE]
    assert steps_of("silent") == []
    drip = steps_of("drip")
    assert drip[1:] == [1.0, b"\0", 1.0, b"\0"]


def test_what_is_sent_again() -> None:
    first, second = steps_of("endless", most=2)
    assert first == second
    (both,) = steps_of("twice")
    assert both == first + first  # type: ignore[operator]


def test_a_request_that_waits_is_answered_without_others() -> None:
    fetch = fetching(0, topic="hostile", max_wait_ms=500, min_bytes=1)
    cluster = HostileCluster("silent:Metadata", [Node(1)])
    pause, answer = cluster.answer(1, Frame(kwire.encode_request(fetch, 11, correlation_id=3)))
    assert isinstance(pause, float)
    assert isinstance(answer, bytes)


@pytest.mark.parametrize("kind", ["nonsense", "", "drip:Nonsense"])
def test_kinds_that_do_not_exist(kind: str) -> None:
    with pytest.raises(UnknownMessage):
        steps_of(kind)
