"""A served cluster: requests in, responses out, some of them later. Sans-IO; the caller passes time and a random
generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from .apis import table_for
from .authorizer import ANONYMOUS
from .cluster import Cluster, RequestContext
from .configs import Node, Settings
from .faults import api_of, error_response, has_code


class ServedCluster(Cluster):
    """Brokers that answer requests.

    Args:
        nodes: the brokers, at least one.
        settings: the settings of all brokers.
        rng: random numbers for ids and placement.

    >>> from random import Random
    >>> from kwire import messages
    >>> cluster = ServedCluster([Node(1)], Settings(), Random(1))
    >>> found = cluster.answer(1, messages.MetadataRequest(topics=None), 12, now=0.0)
    >>> [broker.node_id for broker in found.brokers], found.topics
    ([1], ())
    """

    def __init__(self, nodes: Sequence[Node], settings: Settings, rng: Random) -> None:
        super().__init__(nodes, settings, rng, table_for(settings))

    def answer(
        self,
        node_id: int,
        message: Any,
        version: int,
        *,
        now: float,
        client_id: str = "",
        client_host: str = "",
        principal: str = ANONYMOUS,
    ) -> Any:
        """Handle a request to one of the brokers.

        Args:
            node_id: the broker.
            message: the request, of a served api and version.
            version: its version.
            now: the time, in seconds.
            client_id, client_host: the client.
            principal: who the client is.

        Returns:
            The response; a `Parked` that will have it; or None without response (Produce with acks=0).
        """
        return self.handle(RequestContext(self, node_id, message, version, now, client_id, client_host, principal))

    def handle(self, request: RequestContext) -> Any:
        """Handle a request, as `answer` does; an error rule for all of it replaces the handler."""
        name = api_of(request.message)
        api = self.table[name]
        if not api.finds_errors and (code := request.error()) and has_code(name):
            return error_response(name, code)
        return api.handler(request)
