"""What a connection sends: small responses of a turn together, large ones in pieces as the client reads them."""

from __future__ import annotations

import asyncio

from ...client.address import Address
from ...protocol import Source
from .. import Node
from ..security.sasl_session import SaslSession
from .server_state import ServerState

PIECE = 1 << 18  # bytes per send: asyncio of Python 3.11 copies the bytes that the socket does not accept
SMALL = 1 << 12  # bytes of a response that need not be counted as unsent


def _end_of(transport: asyncio.Transport, name: str) -> str:
    """Return an endpoint of a connection as text."""
    host, port, *_ = transport.get_extra_info(name) or ("", 0)
    return str(Address(str(host), port))


class ResponseSender(asyncio.BufferedProtocol):
    """The sending side of a connection to a broker.

    Attributes:
        serving, node: the cluster's server, and the broker.
        client_id, host, session, member_ids: the client, its authentication, and the members of groups that it is.
        number, transport: the connection.
        task: handles the received requests, once one of them has waited.
        waits_since: when the connection began to wait for a request; None while it handles one.
    """

    __slots__ = (
        "_drained",
        "_outgoing",
        "client_id",
        "host",
        "member_ids",
        "node",
        "number",
        "serving",
        "session",
        "task",
        "transport",
        "waits_since",
    )

    client_id: str
    host: str
    member_ids: tuple[str, ...]
    number: int
    session: SaslSession
    transport: asyncio.Transport
    waits_since: float | None

    def __init__(self, serving: ServerState, node: Node) -> None:
        self.serving: ServerState = serving
        self.node: Node = node
        self.task: asyncio.Task[None] | None = None
        self._outgoing: list[bytes] = []  # small responses of this turn, which are written together
        self._drained: asyncio.Future[None] | None = None  # when what was sent is taken; None if it is

    def end(self) -> None:
        """Close the connection once the client has read the data sent so far; requests in progress get no response."""
        self.transport.close()
        if self.task is not None:
            self.task.cancel()

    def pause_writing(self) -> None:
        """Pause sending until the client has read the data sent so far."""
        self._drained = self.serving.future()

    def resume_writing(self) -> None:
        """Resume sending."""
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None

    def _flush(self) -> None:
        """Write the responses of this turn: before the connection waits for anything, and before it closes."""
        if self._outgoing and not self.transport.is_closing():
            self.transport.write(self._outgoing[0] if len(self._outgoing) == 1 else b"".join(self._outgoing))
        self._outgoing.clear()

    async def _enter_task(self) -> None:
        """Go on in a task: `asyncio.timeout` and functions of tests need one."""
        if self.task is None:
            await asyncio.sleep(0)

    def _record(self, data: bytes, *, is_request: bool) -> None:
        if data:
            client, broker = _end_of(self.transport, "peername"), _end_of(self.transport, "sockname")
            direction = "request" if is_request else "response"
            source = Source(
                time=self.serving.wall_ms() / 1000,
                client=client,
                broker=broker,
                connection=self.number,
                direction=direction,
            )
            self.serving.recorded.add(data, source)

    async def _send(self, data: bytes) -> None:
        if self.serving.networks:
            self._flush()
            await self.serving.carry(self.node.node_id, len(data))
        if self.serving.recorded.is_on:
            self._record(data, is_request=False)
        if self.transport.is_closing():
            raise ConnectionResetError
        if len(data) <= SMALL and self.transport.get_write_buffer_size() == 0:  # the socket takes it at once, or soon
            if data:
                self._outgoing.append(data)
        else:
            await self._send_large(data)

    async def _send_large(self, data: bytes) -> None:
        self._flush()
        whole = memoryview(data)
        with self.serving.sending(self, len(data)):
            for at in range(0, len(data), PIECE):
                if self.transport.is_closing():
                    raise ConnectionResetError
                self.transport.write(whole[at : at + PIECE])
                if self._drained is not None:
                    await self._wait_until_drained()

    async def _wait_until_drained(self) -> None:
        await self._enter_task()
        if self._drained is not None:
            async with asyncio.timeout(self.serving.idle):
                await self._drained
