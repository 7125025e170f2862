"""A served cluster: requests in, responses out, some of them later. Sans-IO; the caller passes time and a random
generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from .apis import table_for
from .cluster import Cluster, RequestContext
from .configs import Node, Settings


class ServedCluster(Cluster):
    """Brokers that answer requests.

    Args:
        nodes: the brokers, at least one.
        settings: what can be set.
        rng: chance for ids and placements.

    >>> from random import Random
    >>> from kwire import messages
    >>> cluster = ServedCluster([Node(1)], Settings(), Random(1))
    >>> found = cluster.answer(1, messages.MetadataRequest(topics=None), 12, now=0.0)
    >>> [broker.node_id for broker in found.brokers], found.topics
    ([1], ())
    """

    def __init__(self, nodes: Sequence[Node], settings: Settings, rng: Random) -> None:
        super().__init__(nodes, settings, rng, table_for(settings.kip_879))

    def answer(
        self, node_id: int, message: Any, version: int, *, now: float, client_id: str = "", client_host: str = ""
    ) -> Any:
        """Answer a request that one of the brokers got.

        Args:
            node_id: which broker.
            message: the request, of an api and version that is served.
            version: its version.
            now: the time, in seconds.
            client_id, client_host: who asks.

        Returns:
            The response; a `Parked` that will have one; or None if none is due (Produce with acks=0).
        """
        name = type(message).__name__.removesuffix("Request")
        return self.table[name].handler(RequestContext(self, node_id, message, version, now, client_id, client_host))
