"""Requests wait for their answers, so that what a broker refused is not believed. Everything stays in its order.

A request that is never answered is believed: a broker may die before it answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..jbod.values import STALE_CONTROLLER_EPOCH
from .hearing import Heard
from .story import LAG

MOST = 10_000  # messages that wait at a time
_ANSWERED = {"LeaderAndIsrRequest", "StopReplicaRequest", "UpdateMetadataRequest"}


class Judged(NamedTuple):
    """A message, and whether it is a request that the broker refused since its controller's time is over."""

    heard: Heard
    is_refused: bool = False


def judged(messages: Iterable[Heard], most: int = MOST) -> Iterator[Judged]:
    """Yield messages in their order, as soon as it is known whether they were refused.

    Args:
        messages: in their order.
        most: how many may wait for an answer.
    """
    queue: deque[Heard] = deque()
    verdicts: dict[int, bool] = {}  # by the identity of a request in the queue
    asked: dict[tuple[str, int | None], Heard] = {}
    for heard in messages:
        queue.append(heard)
        key = heard.connection, heard.correlation_id
        if heard.name in _ANSWERED:
            asked[key] = heard
        elif key in asked and _answers(heard, asked[key]):
            verdicts[id(asked.pop(key))] = getattr(heard.message, "error_code", 0) == STALE_CONTROLLER_EPOCH
        while queue and (_is_ripe(queue[0], heard, verdicts) or len(queue) > most):
            yield _judge(queue.popleft(), verdicts, asked)
    while queue:
        yield _judge(queue.popleft(), verdicts, asked)


def _answers(response: Heard, request: Heard) -> bool:
    return response.name == request.name.removesuffix("Request") + "Response"


def _is_ripe(first: Heard, last: Heard, verdicts: dict[int, bool]) -> bool:
    if first.name not in _ANSWERED or id(first) in verdicts:
        return True
    return first.time is not None and last.time is not None and last.time - first.time > LAG


def _judge(heard: Heard, verdicts: dict[int, bool], asked: dict[tuple[str, int | None], Heard]) -> Judged:
    key = heard.connection, heard.correlation_id
    if asked.get(key) is heard:
        del asked[key]
    return Judged(heard, verdicts.pop(id(heard), False))
