"""A cluster that answers requests in a hostile way: a sound cluster in memory, and a kind that spoils its responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from ...broker import Node, Parked, ServedCluster, Settings
from ...broker.request_frames import ServedRequest, Unserved, read_request
from ...broker.request_parts import api_of
from ...errors import UnknownMessage
from ...protocol import Frame
from .broker_kinds import BROKER_KINDS, BrokerKind, Exchange
from .steps import End, Step

TOPIC, PARTITIONS = "hostile", 2  # a topic that is there, so that responses have something to lie about
PAUSE = 0.05  # seconds before a response that a sound broker would delay, such as an empty Fetch


class HostileCluster:
    """Answers frames of requests as a kind of hostile broker does.

    Time passes only for requests that a sound broker would delay: they are answered as if their time were over.

    Args:
        kind: the name of the kind, such as `drip`; with `drip:Metadata`, all other apis are answered soundly.
        nodes: the brokers.
        seed: the seed of what is random; by default random.

    Raises:
        UnknownMessage: there is no such kind, or no such api.

    >>> cluster = HostileCluster("silent", [Node(1)])
    >>> from kwire import encode_request, messages
    >>> frame = Frame(encode_request(messages.ApiVersionsRequest(), 0, correlation_id=1))
    >>> list(cluster.answer(1, frame))
    []
    """

    def __init__(self, kind: str, nodes: Sequence[Node], seed: int | None = None) -> None:
        name, _, api = kind.partition(":")
        if name not in BROKER_KINDS:
            raise UnknownMessage("hostile broker", name, sorted(BROKER_KINDS))
        self.kind: BrokerKind = BROKER_KINDS[name]
        self.nodes: Sequence[Node] = nodes
        self._rng = Random(seed)
        self._cluster = ServedCluster(nodes, Settings(), self._rng)
        controller = self._cluster.controller
        controller.create(TOPIC, controller.place(PARTITIONS, -1), {})
        apis = {known.casefold(): known for known in self._cluster.table}
        if api and api.casefold() not in apis:
            raise UnknownMessage("api", api, sorted(self._cluster.table))
        self._api = apis.get(api.casefold())
        self._now = 0.0
        self._requests = 0

    def answer(self, node_id: int, frame: Frame) -> Iterator[Step]:
        """Yield the steps that answer a frame, which may be one that no broker serves."""
        received = read_request(frame, self._cluster.catalog, self._cluster.apis)
        if isinstance(received, Unserved):
            yield received.answer or End.CLOSE
            return
        response = self._cluster.answer(node_id, received.message, received.version, now=self._now)
        if isinstance(response, Parked):
            yield PAUSE
            response = self._end_of(response)
        if response is not None:
            yield from self._spoil(received, response)

    def _end_of(self, parked: Parked[Any]) -> Any:
        """Let the time of a delayed request pass; return its response, None if it waits for other requests."""
        while not parked.is_answered:
            deadline = self._cluster.next_deadline
            if deadline is None:
                return None
            self._now = max(self._now, deadline)
            self._cluster.tick(self._now)
        return parked.response

    def _spoil(self, received: ServedRequest, response: Any) -> Iterator[Step]:
        exchange = Exchange(received, response, self._requests, self._cluster.catalog, self._rng)
        self._requests += 1
        if self._api in (None, api_of(received.message)):
            yield from self.kind.answer(exchange)
        else:
            yield exchange.frame
