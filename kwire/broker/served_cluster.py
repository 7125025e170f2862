"""The sans-IO server: requests in, responses out, immediately or later.

One message class covers all versions, so handlers rarely depend on the version. The caller passes the time and a random
generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from .apis.registry import table_for
from .chaos import Chaos
from .cluster import BrokerCluster
from .fault_rule_checks import has_code
from .node import Node
from .request_context import RequestContext
from .request_parts import api_of
from .security.principals import ANONYMOUS
from .settings import Settings


class ServedCluster(BrokerCluster):
    """A cluster whose brokers handle requests.

    Args:
        nodes: the brokers, at least one.
        settings: the settings of all brokers.
        rng: the random generator for ids and replica placement.

    Attributes:
        chaos: disturbs the requests of clients; None for no chaos.

    >>> from random import Random
    >>> from kwire import messages
    >>> cluster = ServedCluster([Node(1)], Settings(), Random(1))
    >>> found = cluster.answer(1, messages.MetadataRequest(topics=None), 12, now=0.0)
    >>> [broker.node_id for broker in found.brokers], found.topics
    ([1], ())
    """

    def __init__(self, nodes: Sequence[Node], settings: Settings, rng: Random) -> None:
        super().__init__(nodes, settings, rng, table_for(settings))
        self.chaos: Chaos | None = None if settings.chaos is None else Chaos(settings.chaos)

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
            node_id: the id of the broker.
            message: the request message, of a served api and version.
            version: the version of the message.
            now: the time, in seconds.
            client_id, client_host: the client's id and its address.
            principal: the authenticated principal.

        Returns:
            The response; a `Parked` that will have it; or None without response (Produce with acks=0).
        """
        return self.handle(RequestContext(self, node_id, message, version, now, client_id, client_host, principal))

    def handle(self, request: RequestContext[Any]) -> Any:
        """Handle a request, as `answer` does; an error rule for the whole request replaces the handler."""
        name = api_of(request.message)
        api = self.table[name]
        with self.controller.journals:
            if not api.finds_errors and (code := request.error()) and has_code(name):
                return request.failed(code)
            return api.handler(request)
