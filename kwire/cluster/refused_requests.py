"""Tells requests that were refused, because they came from an earlier controller, from those that had an effect.

A request waits for its response: only then it is known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..values import ErrorCode
from ..zookeeper import Znode
from .events.metadata_log import LoggedRecord
from .events.observation import CONTROLLER, Observation
from .history.partition_timeline import LAG

MOST = 10_000  # messages that wait at the same time
REASSIGN = "AlterPartitionReassignmentsRequest"
_ANSWERED = {*CONTROLLER, REASSIGN}
Seen = Observation | LoggedRecord | Znode


class Judged(NamedTuple):
    """A message, and whether it is a request that the broker refused because it came from an earlier controller."""

    observation: Seen
    is_refused: bool = False


def judged(messages: Iterable[Seen], limit: int = MOST) -> Iterator[Judged]:
    """Yield observations in order, as soon as it is known whether each of them was refused.

    Args:
        messages: observations in order, including records and znodes, which cannot be refused.
        limit: how many may wait for a response.
    """
    queue: deque[Seen] = deque()
    verdicts: dict[int, bool] = {}  # by the identity of the waiting request
    waiting: dict[tuple[str, int | None], Observation] = {}
    for observation in messages:
        queue.append(observation)
        if not isinstance(observation, Observation):
            if len(queue) == 1:
                yield Judged(queue.popleft())
            continue
        key = observation.connection, observation.correlation_id
        if observation.name in _ANSWERED:
            waiting[key] = observation
        elif key in waiting and _answers(observation, waiting[key]):
            verdicts[id(waiting.pop(key))] = _refuses(observation)
        while queue and (_is_ripe(queue[0], observation, verdicts) or len(queue) > limit):
            yield _judge(queue.popleft(), verdicts, waiting)
    while queue:
        yield _judge(queue.popleft(), verdicts, waiting)


def _answers(response: Observation, request: Observation) -> bool:
    return response.name == request.name.removesuffix("Request") + "Response"


def _refuses(response: Observation) -> bool:
    code = getattr(response.message, "error_code", 0)
    if response.name != "AlterPartitionReassignmentsResponse":
        return bool(code == ErrorCode.STALE_CONTROLLER_EPOCH)
    topics = getattr(response.message, "responses", ())
    return bool(code) or any(partition.error_code for topic in topics for partition in topic.partitions)


def _is_ripe(first: Seen, last: Observation, verdicts: dict[int, bool]) -> bool:
    if not isinstance(first, Observation) or first.name not in _ANSWERED or id(first) in verdicts:
        return True
    return first.time is not None and last.time is not None and last.time - first.time > LAG


def _judge(observation: Seen, verdicts: dict[int, bool], waiting: dict[tuple[str, int | None], Observation]) -> Judged:
    if not isinstance(observation, Observation):
        return Judged(observation)
    key = observation.connection, observation.correlation_id
    if waiting.get(key) is observation:
        del waiting[key]
    return Judged(observation, verdicts.pop(id(observation), False))
