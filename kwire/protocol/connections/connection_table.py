"""The connections of a capture, by number or endpoints; drops those that ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from ...schema.catalog import catalog_for
from ..frames.captured_frame import WHOLE_FILE, Endpoints
from ..frames.frame import Frame
from ..frames.stream_faults import CutShort
from ..headers.apis import Apis
from ..headers.header import Header
from .connection import Connection

C = TypeVar("C", bound=Connection)


class Connections(Generic[C]):
    """Any number of connections.

    Args:
        apis: the known apis.
        make: creates the state of a connection.
    """

    def __init__(self, apis: Apis, make: Callable[[Apis], C]) -> None:
        self.apis: Apis = apis
        self._make = make
        self._connections: dict[object, C] = {}

    @property
    def state(self) -> dict[object, C]:
        """All connections, by number or endpoints."""
        return self._connections

    def go_on(self, state: dict[object, C]) -> None:
        """Continue with the connections of another table."""
        self._connections = state

    def on(self, key: object, profile: str | None = None) -> C:
        """Return a connection by its number or its endpoints; create it if it is unknown."""
        connection = self._connections.get(key)
        if connection is None:
            apis = Apis(catalog_for(profile)) if profile else self.apis
            connection = self._connections[key] = self._make(apis)
        return connection

    def of(self, ends: Endpoints) -> C:
        """Return the connection with the endpoints of a captured frame."""
        noted = ends.note
        if noted is not None and noted.apis is self.apis:
            return noted  # type: ignore[no-any-return]
        connection = self._connections.get(ends.connection)
        if connection is None:
            connection = self._connections[ends.connection] = self._make(self.apis)
        if ends is not WHOLE_FILE:
            ends.note = connection
        return connection

    def __iter__(self) -> Iterator[C]:
        return iter(self._connections.values())

    def forget(self, key: object) -> None:
        """Drop the state of a connection that has ended."""
        self._connections.pop(key, None)

    def on_frame(self, frame: Frame) -> C:
        """Return the connection of a frame; drop connections that ended before it."""
        for number in frame.closed:
            self.forget(number)
        return self.on(frame.source.connection_key, frame.profile)

    def receive(self, frame: Frame) -> tuple[C, Header]:
        """Pass a frame to its connection; return the connection and the header."""
        source = frame.source
        data = frame.data
        connection = None if frame.closed or frame.profile else self._connections.get(source.connection_key)
        if connection is None:
            connection = self.on_frame(frame)
        if frame.message is None or frame.version is None or not isinstance(frame.fault, CutShort | None):
            from_client = None if source.direction is None else source.direction == "request"
            header = connection.receive(data, from_client, source.time, frame.fault)
        elif frame.bare:
            return connection, Header(None, None, None, source.time)
        else:
            header = connection.receive_named(data, self.apis.named(frame), source.time)
        if header.is_request:
            header.number(source.frame)
        return connection, header
