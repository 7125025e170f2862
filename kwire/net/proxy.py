"""A proxy between clients and brokers that shows what is said.

Each broker that a response names gets a listener here, and the response names that instead: so clients stay with
the proxy. Nothing else is changed. Knows asyncio and sockets; what responses say is `rewriting`'s.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from ..catalog import Catalog, catalog_for
from ..dumps.pcap_writer import PcapWriter, TcpWriter
from ..errors import CallError
from ..faults import BadFrame
from ..frames import Frame, FrameDecoder, FrameReader, Response, Result, Source
from .addresses import Address
from .connection import why
from .memory import FrameMemory, Share
from .rewriting import addresses, rewritten

PORTION = 1 << 16
Show = Callable[[Result], None]


class Proxy:
    """Listens before a broker, and before every broker that it names.

    Args:
        listen: where clients connect to; the next ports are for further brokers.
        upstream: the broker that is asked first.
        show: is given every message, in the order in which they pass.
        recorder: writes what passes, as the client and the proxy say it to each other.
        catalog: the specs to use; those of Kafka's releases unless told.
        note: is given what an operator wants to know.
        memory: the bound on what all connections hold.
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
    ) -> None:
        self.note, self.memory = note, memory or FrameMemory()
        self.listen, self.upstream, self.show, self.recorder = listen, upstream, show, recorder
        self.catalog = catalog or catalog_for()
        self.listeners: dict[Address, asyncio.Server] = {}  # by the broker behind each
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> Address:
        """Begin to listen; returns where. Raises CallError if that is taken."""
        return await self.listener(self.upstream, self.listen.port)

    async def run(self) -> None:
        """Serve until cancelled."""
        await asyncio.Event().wait()

    async def stop(self) -> None:
        """Close all listeners and connections."""
        for server in self.listeners.values():
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # for the sockets to be closed

    async def listener(self, broker: Address, port: int = 0) -> Address:
        """Return where the proxy stands for a broker; any free port is taken unless one is told."""
        if broker not in self.listeners:
            try:
                self.listeners[broker] = await asyncio.start_server(
                    lambda reader, writer: self._serve(broker, reader, writer), self.listen.host, port
                )
            except OSError as error:
                where = Address(self.listen.host, port)
                raise CallError(str(where), f"cannot listen: {why(error)}", "is the port taken?") from None
        return Address(self.listen.host, self.listeners[broker].sockets[0].getsockname()[1])

    async def _serve(self, broker: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            upstream = await asyncio.open_connection(*broker)
        except OSError:
            writer.close()  # as the broker itself would look
            return
        with suppress(asyncio.CancelledError):  # the proxy stops; asyncio would complain of the task
            await _Conversation(self, broker, (reader, writer), upstream, self.connections - 1).run()


class _Conversation:
    """One client's connection, and ours to the broker."""

    def __init__(
        self,
        proxy: Proxy,
        broker: Address,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        number: int,
    ) -> None:
        self.proxy, self.client, self.upstream = proxy, client, upstream
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
        finally:
            for _, writer in (self.client, self.upstream):
                writer.close()
            if self.recorded is not None:
                self.recorded.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: str) -> None:
        frames, share = FrameReader(), self.proxy.memory.share()
        cutting = True
        try:
            while portion := await reader.read(PORTION):
                if self.recorded is not None:
                    self.recorded.send(time.time_ns(), portion, by_client=direction == "request")
                if cutting:
                    frames.feed(portion)
                    self._hold(share, len(frames))
                    cutting = await self._pass(frames, writer, direction)
                else:
                    writer.write(portion)
                await writer.drain()
                share.hold(len(frames))
            await _flush(frames, writer)
        finally:
            share.hold(0)
            frames.restart(0)  # whatever still refers to this task's error, the bytes are not kept
        if writer.can_write_eof():
            writer.write_eof()

    def _hold(self, share: Share, size: int) -> None:
        """Count what this connection holds; one that holds too much is closed, with all that was to be sent."""
        if share.hold(size):
            return
        self.proxy.note(f"{_peer(self.client[1]).host}: there is no room for more frames that have begun; closed")
        for _, writer in (self.client, self.upstream):
            writer.transport.abort()
        raise ConnectionAbortedError

    async def _pass(self, frames: FrameReader, writer: asyncio.StreamWriter, direction: str) -> bool:
        """Hand on the frames that are whole. Returns False if these are no frames: the bytes then pass as they are.

        Behind each frame the other connections have their turn.
        """
        try:
            for frame in frames:
                source = replace(self.source, frame=frame.source.frame, offset=frame.source.offset)
                frame = replace(frame, source=replace(source, time=time.time(), direction=direction))
                writer.write(await self._seen(frame))
                await asyncio.sleep(0)
        except BadFrame:
            await _flush(frames, writer)
            return False
        return True

    async def _seen(self, frame: Frame) -> bytes:
        """Show a frame; return it as the other side shall see it."""
        result = self.decoder.decode(frame)
        self.proxy.show(result)
        if not isinstance(result, Response):
            return frame.data
        brokers = {broker: await self.proxy.listener(broker) for broker in addresses(result.message)}
        return rewritten(result, brokers.__getitem__, self.proxy.catalog) if brokers else frame.data


async def _flush(frames: FrameReader, writer: asyncio.StreamWriter) -> None:
    """Send the bytes that are in no whole frame, no more of them at once than the other side takes."""
    rest = memoryview(frames.restart(frames.offset))
    for start in range(0, len(rest), PORTION):
        writer.write(rest[start : start + PORTION])
        await writer.drain()


def _peer(writer: asyncio.StreamWriter) -> Address:
    host, port = writer.get_extra_info("peername")[:2]
    return Address(host, port)
