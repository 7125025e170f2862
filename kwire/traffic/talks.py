"""Counts what the connections of a capture say, with no more work for a frame than its few header bytes need.

Each call (an api at a version by one client) of a group of connections notes where it is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..frames import Connection, Frame, Header, Source
from ..frames.apis import Apis
from ..frames.said import Batch, Ends, Said
from .counts import NOTHING, Count, ip_of

if TYPE_CHECKING:
    from .counting import Traffic

DIRECTIONS = {True: "request", False: "response"}


class _Counted(Connection):
    """A connection whose calls are counted; `software` is that of its clients, by client id."""

    __slots__ = ("ip", "software")

    def __init__(self, ends: Ends, apis: Apis) -> None:
        super().__init__(apis=apis)
        self.ip = ip_of(ends.client)
        self.software: dict[bytes, str] = {}


class Talks:
    """The connections of a capture.

    Args:
        traffic: what they are counted in.
    """

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._apis = Apis(traffic.catalog)
        self._connections: dict[int, _Counted] = {}

    def add(self, batch: Batch) -> None:
        """Count what was said."""
        connections, frames, total = self._connections, 0, 0
        for said in batch:
            if type(said) is not tuple:
                connections.pop(said, None)  # type: ignore[arg-type]
                continue
            ends, asked, _, now, data, _, first, _ = said
            connection = connections.get(ends.connection) or self._begin(ends)
            header = connection.pair(said)
            size = len(data)
            frames += 1
            total += size
            if header.problem or first is None:
                self._leave_out(connection, said)
            elif asked:
                count = header.call.note or self._note(connection, header, data)  # type: ignore[union-attr]
                count.requests += 1
                count.request_bytes += size
            else:
                request = header.request or header
                count = request.call.note or self._note(connection, request)  # type: ignore[union-attr]
                count.responses += 1
                count.response_bytes += size
                then = request.time
                if then is not None and now is not None:
                    count.add_time(now - then)
        self._traffic.frames += frames
        self._traffic.bytes += total

    def _begin(self, ends: Ends) -> _Counted:
        connection = self._connections[ends.connection] = _Counted(ends, self._apis)
        connection.group = (connection.ip,)
        return connection

    def _note(self, connection: _Counted, request: Header, data: bytes = b"") -> Count:
        """Return where a call is counted, which is noted unless each of its requests must be looked at.

        Args:
            connection: of the call.
            request: the header of the request.
            data: the request; nothing for a response.
        """
        call = request.call
        assert call is not None
        told = self._traffic.software_in(data)
        if told is not None and connection.software.get(call.client) != told:
            connection.software[call.client] = told
            connection.regroup((connection.ip, *sorted(connection.software.items())))
        software = connection.software.get(call.client, NOTHING)
        count = self._traffic.count_of(call.api.key, call.version, call.client_id, connection.ip, software)
        if told is None and data:
            call.note = count
        return count

    def _leave_out(self, connection: _Counted, said: Said) -> None:
        frame = Frame(said[4], Source(direction=DIRECTIONS[said[1]]), fault=said[5])
        self._traffic.leave_out(frame, lossy=connection.lossy)
