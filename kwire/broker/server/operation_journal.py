"""The operations that a test performed on a running cluster, in their order among the recorded frames."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from ...codecs.message_codec import codec
from .control_json import to_json

MOST_KEPT = 100_000
# Operations that change what clients are answered.
CHANGING = frozenset(
    "add_rule remove_rule clear_rules stop_broker start_broker set_network isolate_broker rejoin_broker"
    " create_topic delete_topic move_leader shrink_isr expand_isr fail_log_dir fill_log_dir heal_log_dir advance"
    " produce".split()
)


class PerformedOperation(NamedTuple):
    """An operation: how many frames were recorded before, its time in seconds since 1970, its name and arguments, and
    the members of groups that were connected."""

    position: int
    time: float
    name: str
    arguments: Mapping[str, Any]
    members: tuple[str, ...]


class OperationJournal:
    """Keeps the newest operations that change what clients are answered.

    >>> journal = OperationJournal()
    >>> journal.add(PerformedOperation(0, 1.5, "advance", {"seconds": 60}, ()))
    >>> journal.add(PerformedOperation(2, 1.6, "hits", {"rule": 1}, ()))
    >>> journal.rows({})
    [[0, 1.5, 'advance', {'seconds': 60}, []]]
    """

    def __init__(self) -> None:
        self._kept: deque[PerformedOperation] = deque(maxlen=MOST_KEPT)

    def add(self, operation: PerformedOperation) -> None:
        """Keep an operation, if it changes anything."""
        if operation.name in CHANGING:
            self._kept.append(operation)

    def rows(self, versions: Mapping[str, int]) -> list[list[Any]]:
        """Return the operations as JSON values. A rule with a function only observes: its action is `function`.

        Args:
            versions: the newest served version of each api.
        """
        return [
            [kept.position, kept.time, kept.name, _plain(kept.arguments, versions), list(kept.members)]
            for kept in self._kept
        ]


def _plain(arguments: Mapping[str, Any], versions: Mapping[str, int]) -> dict[str, Any]:
    plain = dict(arguments)
    answer = plain.get("answer")
    if isinstance(answer, Struct) and plain.get("api") in versions:
        plain["answer"] = codec(type(answer).__name__, versions[plain["api"]]).to_json(answer)
    if any(_is_function(value) for value in plain.values()):
        kept = {name: value for name, value in plain.items() if not _is_function(value)}
        plain = {**kept, "action": "function"}
    readable: dict[str, Any] = json.loads(json.dumps(plain, default=to_json))
    return readable


def _is_function(value: Any) -> bool:
    return callable(value) or isinstance(value, Struct)
