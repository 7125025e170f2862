"""Turns answers into lines that are the same for two brokers that answer alike: without ids, times and texts.

An id becomes `<id N>` by its first appearance in a case, and a time of day `<time>`. Texts are left out: those of kwire
say what to do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

import kwire
from kwire.errors import DecodeError

from .askers import Asker

VOLATILE = frozenset(("host", "port", "cluster_id", "throttle_time_ms", "log_dir", "total_bytes", "usable_bytes"))
TEXTS = frozenset(("error_message", "documentation", "batch_index_error_message", "quota_string"))
IDS = frozenset(
    "topic_id producer_id member_id leader session_id client_instance_id subscription_id voter_directory_id"
    " replica_directory_id incarnation_id".split()
)
TIMES = frozenset(
    "timestamp log_append_time_ms transaction_start_time_ms last_timestamp expiry_timestamp last_fetch_timestamp"
    " last_caught_up_timestamp".split()
)
TIME_OF_DAY = 10**12
NO_ID = bytes(16)


def _batches(data: bytes) -> Iterator[Any]:
    """Yield offset and number of records of each batch; of one that is cut off, that it is."""
    try:
        for batch in kwire.parse_records(data):
            yield batch.base_offset, batch.record_count
    except DecodeError:
        yield "cut"


class Case:
    """A row of requests that share a topic, a group and a transactional id of their own.

    Args:
        asker: the broker.
        label: the name of the case, which is in the names of its topic and group.
    """

    def __init__(self, asker: Asker, label: str) -> None:
        self.asker, self.label = asker, label
        self.lines: list[str] = []
        self._ids: dict[Any, str] = {}

    def ask(self, message: Any, version: int) -> Any:
        """Send a request, and note its answer."""
        answer = self.asker.ask(message, version)
        api = type(message).__name__.removesuffix("Request")
        self.lines.append(f"{self.label}: {api} v{version}: {self._shown(answer)}")
        return answer

    def prepare(self, message: Any, version: int, is_done: Callable[[Any], bool] = lambda answer: True) -> Any:
        """Send a request whose answer is not noted, until it is done."""
        for _ in range(500):
            answer = self.asker.ask(message, version)
            if is_done(answer):
                return answer
            self.asker.pause(0.03)
        raise AssertionError(f"{self.label}: {message} is not done: {answer}")

    def _shown(self, answer: Any) -> str:
        if isinstance(answer, str):
            return answer
        return json.dumps(self._value("", answer), separators=(",", ":"), default=str)

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, msgspec.Struct):
            defaults = type(value)()
            fields = (
                (key, getattr(value, key))
                for key in value.__struct_fields__
                if key not in VOLATILE and key not in TEXTS
            )
            return {key: self._value(key, one) for key, one in fields if one != getattr(defaults, key)}
        if name == "records" and value:
            return list(_batches(value))
        if isinstance(value, tuple | list):
            return sorted((self._value(name, one) for one in value), key=lambda one: json.dumps(one, default=str))
        if name in IDS and value not in (NO_ID, -1, 0, "", None):
            return self._ids.setdefault(bytes(value) if isinstance(value, bytes) else value, f"<id {len(self._ids)}>")
        if name in TIMES and isinstance(value, int) and value > TIME_OF_DAY:
            return "<time>"
        return value.hex() if isinstance(value, bytes | memoryview) else value
