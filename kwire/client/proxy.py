"""A proxy between clients and brokers that shows the messages."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from ..capture.pcap_writer import PcapWriter, TcpWriter
from ..errors import BadFrame, CallError
from ..protocol import Frame, FrameDecoder, FrameReader, Response, Result, Source, encode_request
from ..protocol.frames.frame_memory import FrameMemory, FrameMemoryShare
from ..protocol.frames.frame_size import get_int32
from ..runtime.loggers import PROXY, log_notes
from ..schema.catalog import Catalog, catalog_for
from .address import Address
from .call_errors import call_errors
from .proxy_addresses import addresses, rewrite_addresses
from .proxy_listeners import MOST_LISTENERS, Listeners
from .security import PLAINTEXT, TLS_RECORDS, Security, SessionLifetime, Steps

PORTION = 1 << 16
SIZE = 4  # bytes of the length before each frame
# Of requests that authenticate a connection again: Kafka's clients send no others with this correlation id (KIP-368).
RENEWAL = 2**31 - 1
Show = Callable[[Result], None]
Exchange = Callable[[bytes], Awaitable[Frame | None]]  # sends a request; its response, None if the connection has ended


class Proxy:
    """Listens in front of a broker, and of every broker named in its responses.

    Args:
        listen: the address for clients; the following ports are for further brokers.
        upstream: the first broker to connect to.
        show: called with every message, in the order in which messages pass.
        recorder: writes the frames as the client and the proxy exchange them.
        catalog: the specs to use; by default the specs of Kafka's releases.
        note: called with messages for the operator.
        memory: the bound on the bytes held by all connections.
        security: TLS and SASL for the connections to brokers; by default neither. Clients connect without them. The
            proxy renews expiring sessions before the next request of a client (KIP-368).
        clock: returns the time in seconds, for these sessions.
        timeout: seconds for a connection to a broker, with TLS and SASL, and for each renewal of a session.
        most_listeners: how many brokers may have a port of the proxy at a time.

    Raises:
        DumpError, OSError: as `Security.tls_context`.
    """

    def __init__(
        self,
        listen: Address,
        upstream: Address,
        *,
        show: Show,
        recorder: PcapWriter | None = None,
        catalog: Catalog | None = None,
        note: Callable[[str], None] = lambda text: None,
        memory: FrameMemory | None = None,
        security: Security = PLAINTEXT,
        clock: Callable[[], float] = time.monotonic,
        timeout: float = 10.0,
        most_listeners: int = MOST_LISTENERS,
    ) -> None:
        self.security: Security = security
        self.clock = clock
        self.tls: ssl.SSLContext | None = security.tls_context() if security.has_tls else None
        self.memory: FrameMemory = memory or FrameMemory()
        self.note: Callable[[str], None] = log_notes(PROXY, note)
        self.listen: Address = listen
        self.upstream: Address = upstream
        self.show: Show = show
        self.recorder: PcapWriter | None = recorder
        self.catalog: Catalog = catalog or catalog_for()
        self.timeout: float = timeout
        self.listeners: Listeners = Listeners(listen.host, self._serve, self.note, most_listeners)
        self.connections: int = 0
        self.frames: int = 0  # that have passed, on all connections
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> Address:
        """Start listening; returns the address.

        Raises:
            CallError: the address is in use; or, with TLS or SASL, the connection to the broker fails.
        """
        if self.security != PLAINTEXT:
            (await self._connect(self.upstream)).writer.close()
        return await self.listeners.open(self.upstream, self.listen.port)

    async def run(self) -> None:
        """Serve until cancelled."""
        await asyncio.Event().wait()

    async def stop(self) -> None:
        """Close all listeners and connections."""
        self.listeners.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # for the sockets to be closed

    async def _serve(self, broker: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            upstream = await self._connect(broker)
        except CallError as error:
            self.note(str(error))
            writer.close()  # as the broker itself would look
            return
        with suppress(asyncio.CancelledError):  # the proxy stops; asyncio would complain of the task
            await _Conversation(self, broker, (reader, writer), upstream, self.connections - 1).run()

    async def _connect(self, broker: Address) -> _Upstream:
        """Connect to a broker, with TLS and SASL if configured; raises CallError."""
        broker.check()
        ends = asyncio.get_running_loop().time() + self.timeout
        with call_errors(broker, "cannot connect", "does a broker listen there?"):
            async with asyncio.timeout_at(ends):
                reader, writer = await asyncio.open_connection(*broker)
        try:
            begun = self.clock()
            with call_errors(broker, hint=self.security.hint):
                async with asyncio.timeout_at(ends):
                    session = await self._secure(reader, writer, broker)
        except BaseException:
            writer.close()
            raise
        return _Upstream(reader, writer, session, session.ends(begun))

    async def _secure(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, broker: Address
    ) -> SessionLifetime:
        """Start TLS and authenticate, if configured."""
        if self.tls is not None:
            with call_errors(broker, is_tls=True):
                await writer.start_tls(self.tls, server_hostname=broker.host)
        if self.security == PLAINTEXT:
            return SessionLifetime()
        where = str(broker)
        frames = FrameReader()

        async def exchange(request: bytes) -> Frame | None:
            writer.write(request)
            return await _read_frame(frames, reader, where)

        return await self.authenticate(self.security.begin(where), exchange, where)

    async def authenticate(self, steps: Steps, exchange: Exchange, where: str) -> SessionLifetime:
        """Set up a connection to a broker, or authenticate it again; raises CallError or OSError."""
        decoder = FrameDecoder()
        answer: Any = None
        async with asyncio.timeout(self.timeout):
            while True:
                try:
                    message, version = steps.send(answer)
                except StopIteration as end:
                    session: SessionLifetime = end.value
                    return session
                request = encode_request(message, version, client_id="kwire", correlation_id=RENEWAL)
                decoder.decode(Frame(request, Source(direction="request")))
                frame = await exchange(request)
                if frame is None:
                    raise CallError(where, "it closed the connection without an answer", self.security.hint)
                result = decoder.decode(frame)
                if not isinstance(result, Response):
                    raise CallError(where, "it does not respond as Kafka does", "which port is this?")
                answer = result.message


async def _read_frame(frames: FrameReader, reader: asyncio.StreamReader, where: str) -> Frame | None:
    """Read and return a frame; None if the connection ends first. Raises CallError if the bytes are not a frame."""
    while portion := await reader.read(PORTION):
        try:
            for frame in frames.feed(portion):
                return replace(frame, source=Source(direction="response"))
        except BadFrame:
            is_tls = frames.rest.startswith(TLS_RECORDS)
            problem = "it responds with TLS" if is_tls else "it does not respond as Kafka does"
            raise CallError(where, problem, "see --security-protocol") from None
    return None


class _Upstream(NamedTuple):
    """A connection to a broker, how it is authenticated, and when it must authenticate again."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    session: SessionLifetime
    renewed_at: float


class _Conversation:
    """One client's connection, and the proxy's connection to the broker."""

    def __init__(
        self,
        proxy: Proxy,
        broker: Address,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        upstream: _Upstream,
        number: int,
    ) -> None:
        self.proxy = proxy
        self.client = client
        self.upstream = (upstream.reader, upstream.writer)
        self.broker = broker
        self.session, self.renewed_at = upstream.session, upstream.renewed_at
        self.renewal: asyncio.Future[Frame | None] | None = None  # the response to our own request that is awaited
        self.decoder = FrameDecoder(proxy.catalog)
        ends = _peer(client[1]), _peer(upstream[1])
        self.source = Source(client=str(ends[0]), broker=str(broker), connection=number)
        self.recorded = TcpWriter(proxy.recorder, *ends, time.time_ns()) if proxy.recorder else None

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(self.client[0], self.upstream[1], "request"))
                group.create_task(self._pump(self.upstream[0], self.client[1], "response"))
        except* OSError:
            pass  # one side is gone; so is the other in a moment
        except* CallError as errors:
            for error in errors.exceptions:
                self.proxy.note(f"a session was not renewed: {error}")
        finally:
            for _, writer in (self.client, self.upstream):
                writer.close()
            if self.recorded is not None:
                self.recorded.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: str) -> None:
        frames = FrameReader()
        share = self.proxy.memory.share()
        cutting = True
        try:
            while portion := await reader.read(PORTION):
                if direction == "request" or not cutting:
                    self._record(portion, direction)
                if cutting:
                    frames.feed(portion)
                    self._hold(share, len(frames))
                    cutting = await self._forward_frames(frames, writer, direction)
                else:
                    writer.write(portion)
                await writer.drain()
                share.hold(len(frames))
            await self._flush(frames, writer, direction)
        finally:
            share.hold(0)
            if direction == "response":
                self._accept_renewal(None)
            frames.restart(0)  # whatever still refers to this task's error, the bytes are not kept
        if writer.can_write_eof():
            writer.write_eof()
        else:  # TLS of Python cannot end one direction alone
            writer.close()

    def _hold(self, share: FrameMemoryShare, size: int) -> None:
        """Count the bytes that this connection holds; close it, and drop its unsent bytes, if it holds too many."""
        if share.hold(size):
            return
        self.proxy.note(f"{_peer(self.client[1]).host}: the limit for incomplete frames is reached; closed")
        for _, writer in (self.client, self.upstream):
            writer.transport.abort()
        raise ConnectionAbortedError

    async def _forward_frames(self, frames: FrameReader, writer: asyncio.StreamWriter, direction: str) -> bool:
        """Forward complete frames. Returns False if the bytes are not frames; they are then forwarded unchanged.

        After each frame the other connections get a turn.
        """
        try:
            for frame in frames:
                if direction == "response":
                    if self._accept_renewal(frame):
                        continue
                    self._record(frame.data, direction)
                elif self.proxy.clock() > self.renewed_at:
                    await self._renew(writer)
                source = replace(self.source, frame=self.proxy.frames, offset=frame.source.offset)
                self.proxy.frames += 1
                frame = replace(frame, source=replace(source, time=time.time(), direction=direction))
                writer.write(await self._show(frame))
                await asyncio.sleep(0)
        except BadFrame:
            await self._flush(frames, writer, direction)
            return False
        return True

    async def _flush(self, frames: FrameReader, writer: asyncio.StreamWriter, direction: str) -> None:
        """Forward the bytes of an incomplete frame, in portions that the receiver has room for."""
        rest = memoryview(frames.restart(frames.offset))
        if direction == "response":
            self._record(bytes(rest), direction)
        for start in range(0, len(rest), PORTION):
            writer.write(rest[start : start + PORTION])
            await writer.drain()

    def _record(self, data: bytes, direction: str) -> None:
        """Write forwarded bytes to the capture. Responses are written as whole frames, because the responses to the
        proxy's own SASL requests are not forwarded.
        """
        if self.recorded is not None:
            self.recorded.send(time.time_ns(), data, by_client=direction == "request")

    async def _renew(self, writer: asyncio.StreamWriter) -> None:
        """Authenticate the connection to the broker again, between two requests of the client; raises CallError."""
        begun = self.proxy.clock()
        where = self.source.broker or ""

        async def exchange(request: bytes) -> Frame | None:
            self.renewal = asyncio.get_running_loop().create_future()
            writer.write(request)
            return await self.renewal

        steps = self.proxy.security.authenticate(where, self.session.version)
        try:
            self.session = await self.proxy.authenticate(steps, exchange, where)
        except TimeoutError:
            raise CallError(where, "no answer in time", self.proxy.security.hint) from None
        self.renewed_at = self.session.ends(begun)

    def _accept_renewal(self, frame: Frame | None) -> bool:
        """Take a frame if it is the response to the proxy's own request, or None if the connection ended; returns
        whether it is."""
        if self.renewal is None or self.renewal.done():
            return False
        if frame is not None and get_int32(frame.data, SIZE) != RENEWAL:
            return False
        self.renewal.set_result(frame and replace(frame, source=Source(direction="response")))
        return True

    async def _show(self, frame: Frame) -> bytes:
        """Show a frame; return the frame to forward."""
        result = self.decoder.decode(frame)
        self.proxy.show(result)
        if not isinstance(result, Response):
            return frame.data
        named = addresses(result.message)
        if not named:
            return frame.data
        are_all = result.codec.spec.api_name == "Metadata"
        ports = await self.proxy.listeners.name(self.broker, named, first=self.proxy.upstream, are_all=are_all)
        return rewrite_addresses(result, lambda broker: ports.get(broker, broker), self.proxy.catalog)


def _peer(writer: asyncio.StreamWriter) -> Address:
    host, port = (writer.get_extra_info("peername") or ("0.0.0.0", 0))[:2]  # none: the other side is gone already
    return Address(host, port)
