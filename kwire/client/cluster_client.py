"""What carries out plans needs of a cluster: its state, and requests to its brokers; and the check of responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ..cluster import ClusterState
from ..errors import CallError
from ..values import ErrorCode

Key = tuple[str, int]  # a topic and the index of a partition
Plan = Mapping[Key, Sequence[int]]  # the target replicas of partitions
HARMLESS = {"ELECTION_NOT_NEEDED", "NO_REASSIGNMENT_IN_PROGRESS"}


class RequestRefused(CallError):
    """Raised if a broker responds and refuses the request, or does not know it."""


class ClusterClient(Protocol):
    """An interface that sends requests to the brokers of a cluster."""

    def state(self) -> ClusterState:
        """Return the current brokers and partitions."""

    def ask(self, name: str, members: Mapping[str, Any], node_id: int | None = None) -> Any:
        """Send a request to a broker, or to the controller, and return the response message."""


def live_brokers(state: ClusterState) -> set[int]:
    """Return the node ids of the brokers that can be asked: those that are registered and not fenced."""
    return {broker.node_id for broker in (state.brokers or {}).values() if not broker.fenced}


def group_by_topic(keys: Iterable[Key]) -> Iterator[tuple[str, list[int]]]:
    """Yield each topic with the indexes of its partitions."""
    topics: dict[str, list[int]] = {}
    for topic, index in keys:
        topics.setdefault(topic, []).append(index)
    yield from topics.items()


def check_response(message: Any) -> Any:
    """Return a response; raise RequestRefused if it has an error code."""
    check_row(message, "the request")
    return message


def check_row(row: Any, what: str) -> None:
    """Raise RequestRefused if a row of a response has an error code.

    Args:
        row: a response, or a row of it about a topic, a partition or a broker.
        what: the words for it.
    """
    code = getattr(row, "error_code", 0)
    if code and ErrorCode(code).name not in HARMLESS:
        problem = f"refused with {ErrorCode(code)}"
        if text := getattr(row, "error_message", None):
            problem += f": {text}"
        raise RequestRefused(what, problem, "see kwire errors")
