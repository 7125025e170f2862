"""A served cluster, sans-IO: decodes requests, handles them at once or later, and encodes the responses.

The caller passes time and a random generator. After an invalid request the connection must be closed, as in Kafka; but
ApiVersions is always answered (KIP-511).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from ..codecs import codec_in
from ..protocol import Frame, Request, Undecodable, encode_response
from ..protocol.frame_codec import FrameReading
from ..protocol.framing import int16, int32
from ..spec.catalog import Catalog
from ..values import ErrorCode
from .access_control import ANONYMOUS
from .apis import table_for
from .apis.metadata import versions_response
from .cluster_state import Api, Cluster, RequestContext
from .faults import api_of, error_response, has_code
from .settings import Node, Settings

API_VERSIONS = 18


class ServedCluster(Cluster):
    """Brokers that handle requests.

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
            principal: the authenticated client.

        Returns:
            The response; a `Parked` that will have it; or None without response (Produce with acks=0).
        """
        return self.handle(RequestContext(self, node_id, message, version, now, client_id, client_host, principal))

    def handle(self, request: RequestContext) -> Any:
        """Handle a request, as `answer` does; an error rule for all of it replaces the handler."""
        name = api_of(request.message)
        api = self.table[name]
        with self.controller.journals.batched():
            if not api.finds_errors and (code := request.error()) and has_code(name):
                return error_response(name, code)
            return api.handler(request)


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """A request to serve: its message, and the fields that its response needs."""

    message: Any
    version: int
    correlation_id: int
    client_id: str


@dataclass(frozen=True, slots=True)
class Unserved:
    """A frame that is not served: `answer` has the bytes to send; if it is empty, the connection is closed because of
    `problem`."""

    answer: bytes = b""
    problem: str = ""


def read_request(frame: Frame, catalog: Catalog, apis: dict[int, Api]) -> ServedRequest | Unserved:
    """Decode a client's frame.

    Args:
        frame: one complete frame.
        catalog: the specs.
        apis: the served apis, by key.
    """
    api_key, version = int16(frame.data, 4), int16(frame.data, 6)
    api = apis.get(api_key)
    if api is None:
        return Unserved(problem=f"api key {api_key} is not served")
    if not api.first <= version <= api.last:
        return _unsupported(frame, catalog, apis, f"version {version} of api key {api_key} is not served")
    spec = catalog.find(api_key, "request", version)
    assert spec is not None
    read = FrameReading(frame, catalog, salvage=True, trace=False).request(codec_in(catalog, spec.name, version))
    if isinstance(read, Undecodable):
        return Unserved(problem=str(read.error))
    assert isinstance(read, Request)
    return ServedRequest(read.message, version, read.correlation_id or 0, getattr(read.header, "client_id", None) or "")


def write_response(request: ServedRequest, response: Any, catalog: Catalog) -> bytes:
    """Encode the response to a request; KIP-36's draft has the correlation id in its body."""
    if hasattr(response, "correlation_id"):
        response = msgspec.structs.replace(response, correlation_id=request.correlation_id)
    return encode_response(response, request.version, correlation_id=request.correlation_id, catalog=catalog)


def _unsupported(frame: Frame, catalog: Catalog, apis: dict[int, Api], problem: str) -> Unserved:
    if int16(frame.data, 4) != API_VERSIONS or len(frame.data) < 12:
        return Unserved(problem=problem)
    response = versions_response(apis, ErrorCode.UNSUPPORTED_VERSION)
    return Unserved(encode_response(response, 0, correlation_id=int32(frame.data, 8), catalog=catalog))
