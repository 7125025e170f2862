"""One client's connection to a served broker: reads requests, writes responses, as the network and the rules let it.

What is answered is `kwire.broker`'s; which connections there are, and how much they may hold, is `kwire.net.server`'s.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from .. import messages
from ..broker import Node, Parked
from ..broker.authentication import AuthenticationFailed, Session, principal_of
from ..broker.cluster import RequestContext
from ..broker.faults import Treatment, api_of
from ..broker.served import ServedRequest, read_request, write_response
from ..errors.decode import BadFrame
from ..protocol import FrameReader, Source
from .client import TLS_HANDSHAKE, Address
from .limits import Share

if TYPE_CHECKING:
    from .server import Serving

PORTION = 1 << 16
MOST_REQUEST = 16 << 20  # bytes of one request; a sixth of Kafka's, and batches may have 1 MiB
MOST_UNAUTHENTICATED = 512 << 10  # bytes of a request before (sasl.server.max.receive.size)
SIZE = 4
SECRETIVE = frozenset(("SaslHandshake", "SaslAuthenticate", "AlterUserScramCredentials"))  # and what follows them
CHANCE = SystemRandom()  # one for all: it takes 2.5 kB
MOST_MEMBERS = 100  # of groups, on one connection


def _end_of(writer: asyncio.StreamWriter, name: str) -> str:
    """Return an endpoint of a connection as text."""
    found = writer.get_extra_info(name) or ("", 0)
    return str(Address(str(found[0]), found[1]))


async def _made(answer: Any, *values: Any) -> Any:
    """Return what a rule answers: a response, or what a function, perhaps a coroutine function, makes of the values."""
    made = answer(*values) if callable(answer) else answer
    return await made if inspect.isawaitable(made) else made


class ServedConnection:
    """One client's connection. `waits_since` is when it began to wait for a request; None while it has one."""

    __slots__ = (
        "client_id",
        "frames",
        "host",
        "member_ids",
        "node",
        "number",
        "reader",
        "serving",
        "session",
        "share",
        "waits_since",
        "writer",
    )

    def __init__(
        self, serving: Serving, node: Node, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.serving: Serving = serving
        self.node: Node = node
        self.reader: asyncio.StreamReader = reader
        self.writer: asyncio.StreamWriter = writer
        self.frames: FrameReader = FrameReader(MOST_REQUEST)
        self.share: Share = serving.memory.share()
        self.number: int = serving.connections
        self.client_id: str = ""
        self.waits_since: float | None = None
        self.member_ids: tuple[str, ...] = ()
        self.host: str = str((writer.get_extra_info("peername") or ("",))[0])
        settings, users = serving.cluster.settings, serving.cluster.controller.users
        principal = principal_of(writer.get_extra_info("peercert"))
        self.session: Session = Session(users, settings.sasl_mechanisms, CHANCE, settings.max_reauth, principal)
        if not self.session.is_authenticated:
            self.frames.limit = MOST_UNAUTHENTICATED
        writer.transport.set_write_buffer_limits(PORTION)

    async def run(self) -> None:
        """Answer requests until one side is at its end."""
        while self.serving.is_open(self.node):
            self.waits_since = time.monotonic()
            portion = await self.reader.read(PORTION)
            self.waits_since = None
            if not portion:
                return
            if not await self._take(portion):
                return

    async def _take(self, portion: bytes) -> bool:
        """Answer the requests that are whole by now. Returns False if the connection is at its end.

        Behind each request the other connections have their turn: neither reading nor sending waits for anything
        while a client pipelines and reads.
        """
        try:
            for frame in self.frames.feed(portion):
                await self.serving.carry(self.node.node_id)
                self._record(frame.data, is_request=True)
                if self.session.takes_tokens:
                    if not await self._take_token(frame.data):
                        return False
                    continue
                received = read_request(frame, self.serving.cluster.catalog, self.serving.cluster.apis)
                if not isinstance(received, ServedRequest):
                    return await self._refuse(received.answer, received.problem)
                if not await self._serve(received) or not self.serving.is_open(self.node):
                    return False
                await asyncio.sleep(0)
        except BadFrame as error:
            is_tls = self.frames.rest.startswith(TLS_HANDSHAKE)
            return await self._refuse(b"", "it speaks TLS; kwire serve has no TLS listener" if is_tls else str(error))
        if not self.share.hold(len(self.frames)):
            return await self._refuse(b"", "there is no room for more requests that have begun")
        return True

    async def _take_token(self, data: bytes) -> bool:
        """Answer a bare SASL token, as after SaslHandshake v0. Returns False if the connection must be closed."""
        try:
            answer = self.session.authenticate(data[SIZE:], self.serving.now())
        except AuthenticationFailed as error:
            return await self._refuse(b"", str(error))
        await self._send(len(answer).to_bytes(SIZE, "big") + answer)
        return True

    def _record(self, data: bytes, *, is_request: bool) -> None:
        if self.serving.recorded.is_on and data:
            client, broker = _end_of(self.writer, "peername"), _end_of(self.writer, "sockname")
            direction = "request" if is_request else "response"
            source = Source(
                time=self.serving.wall_ms() / 1000,
                client=client,
                broker=broker,
                connection=self.number,
                direction=direction,
            )
            self.serving.recorded.add(data, source)

    async def _serve(self, received: ServedRequest) -> bool:
        """Answer a request. Returns False if the connection is at its end, as a rule of a test may want it."""
        self.serving.requests += 1
        api = api_of(received.message)
        self.serving.recorded.has_secrets |= api in SECRETIVE
        if problem := self.session.problem(api, self.serving.now()):
            return await self._refuse(b"", problem)
        cluster, self.client_id = self.serving.cluster, received.client_id
        member_id = getattr(received.message, "member_id", "")
        if member_id and member_id not in self.member_ids:
            self.member_ids = (*self.member_ids, member_id)[-MOST_MEMBERS:]
        node_id, now = self.node.node_id, self.serving.now()
        client = received.client_id, self.host, self.session.principal, self.session
        request = RequestContext(cluster, node_id, received.message, received.version, now, *client)
        if not cluster.rules:
            await self._send(self._written(received, await self._answered(request)))
            return self._is_let_in()
        return await self._treat(received, request, cluster.rules.treat(request)) and self._is_let_in()

    def _is_let_in(self) -> bool:
        """Whether the connection stays open: after a failed authentication it is closed once the answer is sent."""
        if self.session.has_failed:
            self.serving.note(f"{self.host}: SASL authentication failed; closed")
        elif self.session.is_authenticated:
            self.frames.limit = MOST_REQUEST
        return not self.session.has_failed

    async def _treat(self, received: ServedRequest, request: RequestContext, treatment: Treatment) -> bool:
        """Answer a request as the rules of a test say."""
        if treatment.is_hanging:
            await self.writer.wait_closed()  # until the connection is reset, or the broker stopped
            return False
        if treatment.drop and not treatment.drop.is_handled:
            return False
        response = await _made(treatment.respond.answer, received.message) if treatment.respond else None
        if response is None:
            response = await self._answered(request)
        if treatment.change and response is not None:
            response = await _made(treatment.change.answer, received.message, response)
        data = self._written(received, response)
        if treatment.delay:
            await asyncio.sleep(treatment.delay)
        if treatment.drop:
            return False
        if treatment.cut:
            await self._send(data[: treatment.cut.after])
            self.writer.transport.close()
            return False
        await self._send(data)
        return True

    def _written(self, received: ServedRequest, response: Any) -> bytes:
        """Return the bytes of a response; none if none is due."""
        return b"" if response is None else write_response(received, response, self.serving.cluster.catalog)

    async def _answered(self, request: RequestContext) -> Any:
        """Return the response to a request; None if none is due."""
        if isinstance(request.message, messages.FetchRequest):
            await self.serving.room()
        response = self.serving.cluster.handle(request)
        self.serving.settle()
        return await self._waited(response) if isinstance(response, Parked) else response

    async def _waited(self, parked: Parked) -> Any:
        if not parked.is_answered:
            await self.serving.wait(parked)
            await self.serving.room()
        response = parked.response
        self.serving.settle()
        return response

    async def _send(self, data: bytes) -> None:
        await self.serving.carry(self.node.node_id, len(data))
        self._record(data, is_request=False)
        with self.serving.sending(self, len(data)):
            self.writer.write(data)
            del data  # the transport has a copy
            async with asyncio.timeout(self.serving.idle):
                await self.writer.drain()

    async def _refuse(self, answer: bytes, problem: str) -> bool:
        if answer:
            await self._send(answer)
            return True
        self.serving.note(f"{self.host}: {problem}; closed")
        return False

    def end(self) -> None:
        """Let go of the connection."""
        self.share.hold(0)
        self.writer.close()
