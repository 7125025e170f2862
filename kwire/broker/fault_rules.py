"""Fault rules of a test: each changes how matching requests are handled, and counts them.

This module handles requests, not sockets. The handler of the api returns an error where a broker would detect it, so
the rest of the request is handled as usual. The server applies delays and disconnects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from .request_parts import MatchedRequest, api_of, groups_in, partitions_in

OBSERVE, ERROR, RESPOND, CHANGE = "observe", "error", "respond", "change"
DELAY, DROP, CUT, HANG = "delay", "drop", "cut", "hang"
ACTIONS = (OBSERVE, ERROR, RESPOND, CHANGE, DELAY, DROP, CUT, HANG)


class FunctionFailed(Exception):
    """A function of a rule raised an exception, the cause of this one; the connection is closed."""


@dataclass(eq=False)
class FaultRule:
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
    _last: MatchedRequest | None = field(default=None, repr=False)

    def matches(self, request: MatchedRequest) -> bool:
        """Return whether the rule matches any part of the request."""
        return (
            self.api in (None, api_of(request.message))
            and self.broker in (None, request.node_id)
            and (self.client is None or fnmatchcase(request.client_id, self.client))
            and (self.group is None or any(fnmatchcase(name, self.group) for name in groups_in(request.message)))
            and (self.topic is None or any(self.covers(*partition) for partition in partitions_in(request)))
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

    def take(self, request: MatchedRequest) -> bool:
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
    """How to handle a request that a rule matches; see `FaultRule`."""

    delay: float = 0.0
    drop: FaultRule | None = None
    cut: FaultRule | None = None
    respond: FaultRule | None = None
    change: FaultRule | None = None
    is_hanging: bool = False


class FaultRules:
    """The rules of a cluster.

    Attributes:
        active: the rules, oldest first.

    >>> rules = FaultRules()
    >>> rule = rules.add(FaultRule("Metadata", action=DELAY, seconds=0.5, times=1))
    >>> len(rules), rule.hits
    (1, 0)
    """

    def __init__(self) -> None:
        self.active: list[FaultRule] = []

    def __len__(self) -> int:
        return len(self.active)

    def add(self, rule: FaultRule) -> FaultRule:
        """Add a rule."""
        self.active.append(rule)
        return rule

    def remove(self, rule: FaultRule) -> None:
        """Remove a rule."""
        if rule in self.active:
            self.active.remove(rule)

    def clear(self) -> None:
        """Remove all rules."""
        self.active.clear()

    def treat(self, request: MatchedRequest) -> Treatment:
        """Count a request, and return how rules other than error rules treat it, and its own fault after them."""
        treatment = Treatment()
        for rule in self.active if request.fault is None else (*self.active, request.fault):
            if rule.action == ERROR or not rule.matches(request) or not rule.take(request):
                continue
            if rule.action == DELAY:
                treatment.delay += rule.seconds
            elif rule.action == HANG:
                treatment.is_hanging = True
            elif rule.action != OBSERVE and getattr(treatment, rule.action) is None:
                setattr(treatment, rule.action, rule)
        return treatment

    def error(
        self, request: MatchedRequest, topic: str | None = None, partition: int | None = None, group: str | None = None
    ) -> int:
        """Return the error code that a rule sets for a part of a request; 0 if there is none.

        Args:
            request: the request.
            topic, partition: the partition; None if the request does not refer to topics.
            group: the group or transactional id; None if there is none.
        """
        for rule in self.active:
            is_meant = rule.action == ERROR and rule.topic in (None, topic) and rule.partition in (None, partition)
            is_meant = is_meant and (rule.group is None or group is None or fnmatchcase(group, rule.group))
            if is_meant and rule.matches(request) and rule.take(request):
                return rule.code
        return 0
