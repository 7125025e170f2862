"""Fault rules: each changes how matching requests are handled, and counts them.

This module handles requests, not sockets. The handler of the api returns an error where a broker would detect it, so
the rest of the request is handled as usual. The server applies delays and disconnects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import inf
from typing import Any, Protocol

from msgspec import Struct

from .. import messages
from ..errors import excerpt, suggestion
from ..values import ErrorCode

OBSERVE, ERROR, RESPOND, CHANGE = "observe", "error", "respond", "change"
DELAY, DROP, CUT, HANG = "delay", "drop", "cut", "hang"
ACTIONS = (OBSERVE, ERROR, RESPOND, CHANGE, DELAY, DROP, CUT, HANG)

Place = tuple[str | None, int | None]  # topic and partition; None matches any


class FunctionFailed(Exception):
    """A function of a rule raised an exception, the cause of this one; the connection is closed."""


class Request(Protocol):
    """The fields of a request that rules match."""

    @property
    def message(self) -> Any:
        """The request message."""

    @property
    def node_id(self) -> int:
        """The id of the broker that received the request."""

    @property
    def client_id(self) -> str:
        """The client id of the request."""

    @property
    def cluster(self) -> Any:
        """The cluster, which resolves topic ids."""


class Served(Protocol):
    """The properties of a served api that rules are validated against."""

    @property
    def finds_errors(self) -> bool:
        """Whether the handler applies rules to parts of the request."""


@dataclass(eq=False)
class Rule:
    """A rule: which requests it matches, and what happens to them.

    Attributes:
        api: the name of the api; None matches all.
        broker, client, topic, partition, group: the values to match; None matches any. `client` and `group` may contain
            wildcards.
        where: a predicate of the request message; None matches all.
        action: one of `ACTIONS`.
        code: the error code to return.
        seconds: the delay in seconds.
        after: the number of bytes of the response to send before the connection is closed.
        is_handled: whether a request is handled if its response is dropped.
        answer: the response, or a function that returns it.
        times: the number of requests that the rule applies to; None is unlimited.
        hits: the number of requests that the rule has applied to.
    """

    api: str | None = None
    broker: int | None = None
    client: str | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    where: Callable[[Any], bool] | None = None
    action: str = OBSERVE
    code: int = 0
    seconds: float = 0.0
    after: int = 0
    is_handled: bool = False
    answer: Any = None
    times: int | None = None
    hits: int = 0
    _last: Request | None = field(default=None, repr=False)

    def matches(self, request: Request) -> bool:
        """Return whether the rule matches any part of the request."""
        return (
            self.api in (None, api_of(request.message))
            and self.broker in (None, request.node_id)
            and (self.client is None or fnmatchcase(request.client_id, self.client))
            and (self.group is None or any(fnmatchcase(name, self.group) for name in groups_in(request.message)))
            and (self.topic is None or any(self.covers(*place) for place in places_in(request)))
            and (self.where is None or self._selects(self.where, request.message))
        )

    def _selects(self, where: Callable[[Any], bool], message: Any) -> bool:
        try:
            return where(message)
        except Exception as error:
            raise FunctionFailed(self.failure(error)) from error

    def failure(self, error: Exception) -> str:
        """Describe an exception of a function of this rule."""
        return f"the function of a rule for {self.api or 'all requests'} failed: {type(error).__name__}: {error}"

    def covers(self, topic: str | None, partition: int | None) -> bool:
        """Return whether the rule matches a partition of a topic; a request about a whole topic matches all of its
        partitions."""
        return self.topic in (None, topic) and (partition is None or self.partition in (None, partition))

    def take(self, request: Request) -> bool:
        """Count a request once; return whether the rule still applies."""
        if self._last is request:
            return True
        if self.times is not None and self.hits >= self.times:
            return False
        self._last = request
        self.hits += 1
        return True


@dataclass(slots=True)
class Treatment:
    """How to handle a request that a rule matches; see `Rule`."""

    delay: float = 0.0
    drop: Rule | None = None
    cut: Rule | None = None
    respond: Rule | None = None
    change: Rule | None = None
    is_hanging: bool = False


class Rules:
    """The rules of a cluster, oldest first.

    >>> rules = Rules()
    >>> rule = rules.add(Rule("Metadata", action=DELAY, seconds=0.5, times=1))
    >>> len(rules), rule.hits
    (1, 0)
    """

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def __len__(self) -> int:
        return len(self._rules)

    def add(self, rule: Rule) -> Rule:
        """Add a rule."""
        self._rules.append(rule)
        return rule

    def remove(self, rule: Rule) -> None:
        """Remove a rule."""
        if rule in self._rules:
            self._rules.remove(rule)

    def clear(self) -> None:
        """Remove all rules."""
        self._rules.clear()

    def treat(self, request: Request) -> Treatment:
        """Count a request, and return how rules other than error rules treat it."""
        found = Treatment()
        for rule in self._rules:
            if rule.action == ERROR or not rule.matches(request) or not rule.take(request):
                continue
            if rule.action == DELAY:
                found.delay += rule.seconds
            elif rule.action == HANG:
                found.is_hanging = True
            elif rule.action != OBSERVE and getattr(found, rule.action) is None:
                setattr(found, rule.action, rule)
        return found

    def error(
        self, request: Request, topic: str | None = None, partition: int | None = None, group: str | None = None
    ) -> int:
        """Return the error code that a rule sets for a part of a request; 0 if there is none.

        Args:
            request: the request.
            topic, partition: the partition; None if the request does not refer to topics.
            group: the group or transactional id; None if there is none.
        """
        for rule in self._rules:
            is_meant = rule.action == ERROR and rule.topic in (None, topic) and rule.partition in (None, partition)
            is_meant = is_meant and (rule.group is None or group is None or fnmatchcase(group, rule.group))
            if is_meant and rule.matches(request) and rule.take(request):
                return rule.code
        return 0


def api_of(message: Any) -> str:
    """Return the name of the api of a request message."""
    return type(message).__name__.removesuffix("Request")


def groups_in(message: Any) -> Iterator[str]:
    """Yield the groups or transactional ids that a request names."""
    for name in ("group_id", "transactional_id", "key"):
        if isinstance(value := getattr(message, name, None), str):
            yield value
    for name in ("groups", "groups_names", "group_ids", "coordinator_keys", "transactional_ids"):
        for row in getattr(message, name, None) or ():
            yield row if isinstance(row, str) else row.group_id
    for row in getattr(message, "transactions", None) or ():
        if isinstance(named := getattr(row, "transactional_id", None), str):
            yield named


def places_in(request: Request) -> Iterator[Place]:
    """Yield the partitions that a request names; the partition is None if the request lists only topics."""
    message = request.message
    nested = [getattr(row, "topics", None) for row in getattr(message, "transactions", None) or ()]
    for rows in (getattr(message, name, None) for name in ("topics", "topic_data", "topic_names")):
        nested.append(rows)
    for rows in nested:
        for row in rows or ():
            yield from _places(request, row)


def _places(request: Request, row: Any) -> Iterator[Place]:
    if isinstance(row, str):
        yield row, None
        return
    name = getattr(row, "name", None) or getattr(row, "topic", None)
    found = request.cluster.controller.find(name, getattr(row, "topic_id", bytes(16)))
    topic = found.name if found is not None else name
    parts = next((parts for field in _PARTS if (parts := getattr(row, field, None))), None)
    if not isinstance(parts, tuple) or not parts:
        yield topic, None
        return
    for part in parts:
        index = next((getattr(part, field) for field in _INDEXES if hasattr(part, field)), None)
        yield topic, part if isinstance(part, int) else index


_PARTS = ("partitions", "partition_data", "partition_indexes")
_INDEXES = ("partition_index", "partition", "index", "partition_id")


def error_code(name: str | int) -> int:
    """Return the code for the name of an error; raises UnknownMessage if the name is unknown.

    >>> error_code("NOT_LEADER_OR_FOLLOWER"), error_code(6)
    (6, 6)
    """
    return int(ErrorCode(name))


def is_number(value: object) -> bool:
    """Return whether a value is a finite number.

    >>> is_number(1), is_number(float("nan")), is_number("1"), is_number(True)
    (True, False, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and -inf < value < inf


def check_seconds(value: object, name: str) -> None:
    """Raise ValueError for a delay that is no number, negative, or above MOST_SECONDS."""
    if not (is_number(value) and 0 <= value <= MOST_SECONDS):  # type: ignore[operator]
        raise ValueError(f"{name} is {excerpt(value)}; it takes seconds, from 0 to {MOST_SECONDS}")


def check_rule(rule: Rule, apis: Mapping[str, Served]) -> None:
    """Check that a rule can have an effect.

    Args:
        rule: the rule.
        apis: the served apis by name.

    Raises:
        ValueError: the api is unknown, its responses cannot contain the error, or a field has an impossible value.
    """
    _check_fields(rule)
    if rule.api is not None and rule.api not in apis:
        known = suggestion(rule.api, apis) or f"the served apis are {', '.join(sorted(apis))}"
        raise ValueError(f"api {rule.api!r} is not served; {known}")
    if rule.partition is not None and rule.topic is None:
        raise ValueError("a rule with a partition must also name the topic")
    if rule.times is not None and rule.times < 1:
        raise ValueError("`times` must be at least 1")
    if rule.action == ERROR:
        _check_error(rule, apis)


def _check_fields(rule: Rule) -> None:
    """Check values that would otherwise fail with each request that the rule matches."""
    for name, kind in _KINDS.items():
        value = getattr(rule, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kind)):
            raise ValueError(f"`{name}` is {excerpt(value)}; it takes {'a number' if kind is int else 'text'}")
    check_seconds(rule.seconds, "`seconds`")
    if type(rule.after) is not int or rule.after < 0:
        raise ValueError(f"`after` is {excerpt(rule.after)}; it takes a number of bytes")
    if rule.where is not None and not callable(rule.where):
        raise ValueError("`where` is not a function")
    if rule.answer is not None and not (callable(rule.answer) or isinstance(rule.answer, Struct)):
        raise ValueError("`answer` is neither a response message nor a function")


_KINDS = {"api": str, "broker": int, "client": str, "topic": str, "partition": int, "group": str, "times": int}
FIELDS = frozenset((*_KINDS, "where", "seconds", "after", "is_handled", "answer"))  # what a test sets
MOST_SECONDS = 24 * 3600  # of a delay


def _check_error(rule: Rule, apis: Mapping[str, Served]) -> None:
    if rule.api is None:
        raise ValueError("a rule that returns an error must name the api")
    if apis[rule.api].finds_errors:
        return
    if not has_code(rule.api):
        raise ValueError(f"a {rule.api} response has no error code; use respond() or change()")
    if rule.topic is not None:
        raise ValueError(f"a {rule.api} response has only a top-level error code: leave out the topic")


def has_code(api: str) -> bool:
    """Return whether the responses of an api have a top-level error code."""
    return hasattr(getattr(messages, f"{api}Response")(), "error_code")
