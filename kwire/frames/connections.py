"""The connections that frames come from, by the sources of the frames: each frame goes to its `Connection`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..spec.catalog import catalog_for
from .apis import Apis, Call
from .connection import Connection
from .cutting import Frame
from .frame_header import Header
from .pieces import CutShort
from .reading import API_VERSIONS
from .results import NOBODY, Client

FORWARDED = 4096  # requests inside envelopes that are remembered

C = TypeVar("C", bound=Connection)


class Connections(Generic[C]):
    """Any number of connections.

    Args:
        apis: the apis that are known.
        make: makes a connection.
    """

    def __init__(self, apis: Apis, make: Callable[[Apis], C]) -> None:
        self.apis: Apis = apis
        self._make = make
        self._connections: dict[object, C] = {}

    def on(self, key: object, profile: str | None = None) -> C:
        """Return a connection by its number or its ends; it begins if it is new."""
        connection = self._connections.get(key)
        if connection is None:
            apis = Apis(catalog_for(profile)) if profile else self.apis
            connection = self._connections[key] = self._make(apis)
        return connection

    def forget(self, key: object) -> None:
        """Take note that a connection has ended."""
        self._connections.pop(key, None)

    def receive(self, frame: Frame) -> tuple[C, Header]:
        """Let the connection of a frame take it; return both that and what the header says."""
        for number in frame.closed:
            self.forget(number)
        source, data = frame.source, frame.data
        key = (source.client, source.broker) if source.connection is None else source.connection
        connection = self.on(key, frame.profile)
        if frame.message is None or frame.version is None or not isinstance(frame.fault, CutShort | None):
            from_client = None if source.direction is None else source.direction == "request"
            return connection, connection.receive(data, from_client, source.time, frame.fault)
        if frame.bare:
            return connection, Header(None, None, None, source.time)
        return connection, connection.receive_named(data, self.apis.named(frame), source.time)


class DecodedConnection(Connection):
    """A connection whose bodies are decoded too.

    Attributes:
        client: who asks, as far as decoded requests say it.
        call: which request said it; None where every one is to be looked at.
        note: for whoever reads the frames: None at first.
    """

    __slots__ = ("_forwarded", "call", "client", "note")

    def __init__(self, apis: Apis) -> None:
        super().__init__(apis=apis)
        self.client: Client = NOBODY
        self.call: Call | None = None
        self.note: Any = None
        self._forwarded: dict[int, Any] = {}

    def meet(self, key: int | None, client_id: str | None, software: str = "") -> None:
        """Note who has sent a request.

        Args:
            key: the api key of the request.
            client_id: of the request; what was known stays if that is None.
            software: what it tells of the client's software.
        """
        self.call = None
        if key == API_VERSIONS:
            self.client = Client(client_id, software or self.client.software)
        elif client_id is not None and client_id != self.client.client_id:
            self.client = Client(client_id, self.client.software)

    def forward(self, correlation_id: int, header: Any) -> None:
        """Note which request is inside an envelope."""
        if len(self._forwarded) >= FORWARDED:
            del self._forwarded[next(iter(self._forwarded))]
        self._forwarded[correlation_id] = header

    def forwarded(self, correlation_id: int) -> Any:
        """Return the header of the request inside an envelope, and forget it; None if it is not known."""
        return self._forwarded.pop(correlation_id, None)
