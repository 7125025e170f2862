"""Extracts the frames of all Kafka connections from packets, each as soon as it is complete.

Every byte of every TCP stream is part of a frame, a gap, or a fragment with a reason. This module coordinates the other
modules of the package and does not parse anything.

The native engine reassembles TCP, with loss and out of order, and extracts frames where the next one is known to start;
this module decides which connections are Kafka's, and `kafka.connection_frames` where frames start after a gap. Without
the engine, `tcp.connection_table` reassembles, with the same result (tests/capture/test_native_walk.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..codecs.native import ENGINE, FrameBatch
from ..errors import DumpError
from ..protocol import Frame
from ..protocol.frames.captured_frame import CapturedBatch, OpenConnection
from ..protocol.frames.stream_faults import BrokenDump, CutRecord, Damaged, LostPackets
from ..schema.catalog import Catalog
from .kafka.captured_frames import build_frames, fault_item
from .kafka.connection_detection import UndecidedConnection, begins_with_request
from .kafka.connection_frames import KafkaConnection
from .kafka.frame_recognition import FrameRecogniser
from .kafka.non_kafka_connection import NonKafkaConnection
from .packets.damage import DamagedBytes
from .packets.header_layouts import link_layout
from .packets.packet import FIRST_INTERFACES, Interface, Packet
from .packets.packet_headers import LOST, NOT_TCP, parse_segment
from .packets.pcap import NEAR, PcapReader
from .packets.pcapng import PcapngReader
from .packets.tcp_segment import Segment
from .tcp.connection import Ended, Event, Finished, Portion, TcpConnection
from .tcp.connection_share import ALL, ConnectionShare
from .tcp.connection_table import EVENTS, EVERY, ConnectionTable, ReassemblyLimits

if TYPE_CHECKING or ENGINE == "native":
    from ..codecs.native import PacketWalker, SegmentTable

BUFFERED = 32 << 20  # bytes of incomplete frames, besides the largest one
BETWEEN_TRIMS = 8 << 20  # bytes
MOST_OTHERS = 1 << 12  # small enough for the cache of the processor
SIDE_COST, AWAITED_COST, OTHER_COST = 1280, 64, 128  # bytes per side, request in flight, skipped connection
UNREAD_AT_MOST = 100  # packets of unsupported link types before the first supported one
State = UndecidedConnection | KafkaConnection | NonKafkaConnection


class FrameExtractor:
    """All connections of one capture.

    Args:
        file: the name of the capture.
        catalog: the specs that identify requests; by default those of Kafka's releases.
        limits: how much may be buffered while packets are missing.
        share: the connections to read; all by default.
        zookeeper: return each packet of a ZooKeeper connection as a frame with a fault.
        engine: `native`; any other reassembles with the reference.

    Attributes:
        remarks: where the capture ends too early, as text.
        broken: the reason why the rest of the capture cannot be read; None if it can.
        batch: receives the frames of the packets that are read.
    """

    def __init__(
        self,
        file: str = "",
        catalog: Catalog | None = None,
        limits: ReassemblyLimits | None = None,
        share: ConnectionShare = ALL,
        zookeeper: bool = False,
        engine: str = ENGINE,
    ) -> None:
        self.file: str = file
        self.share: ConnectionShare = share
        self.others: set[bytes] = set()  # keys of the newest connections that belong to other shares
        self.remarks: list[str] = []
        self.broken: DumpError | None = None
        self.is_native: bool = engine == "native"
        self.recogniser: FrameRecogniser = FrameRecogniser(catalog, zookeeper, is_native=self.is_native)
        self.reassembler: ConnectionTable | SegmentTable = (
            SegmentTable(self, limits or ReassemblyLimits(), EVENTS) if self.is_native else ConnectionTable(limits)
        )
        self.states: dict[int, State] = {}
        self._lost: Counter[str] = Counter()
        self._others = 0  # packets without TCP
        self.trim_at: int = BETWEEN_TRIMS
        self.batch: CapturedBatch = FrameBatch()
        self._is_over = self._has_damage = False

    @property
    def state(self) -> tuple[Any, ...]:
        """The state between two packets, from which `go_on` continues: see `boundary_states`."""
        budgets = self.recogniser.proofs, self.recogniser.looks
        counts = self._lost, self._others, self.trim_at, self._has_damage
        return self.reassembler.state, self.states, budgets, *counts

    def go_on(self, state: tuple[Any, ...]) -> None:
        """Continue as if the packets before this state had been read."""
        table, self.states, budgets, self._lost, self._others, self.trim_at, self._has_damage = state
        self.recogniser.proofs, self.recogniser.looks = budgets
        self.reassembler.go_on(table)

    def frames(self, packets: Iterable[Packet | DamagedBytes]) -> Iterator[Frame]:
        """Read all packets.

        Yields:
            Frames; and items with a `fault` for everything else: gaps, skipped bytes, streams of other protocols,
            damaged bytes of the capture, dropped packets, and at the end the position where the capture cannot be read
            further.

        Raises:
            DumpError: the capture has an unknown link type, or is damaged at its start.
        """
        return build_frames(self.batches(packets), self.file)

    def batches(self, packets: Iterable[Packet | DamagedBytes]) -> Iterator[CapturedBatch]:
        """Read all packets like `frames`; yield the frames of a batch before more input is needed."""
        yield from self.receive(packets)
        yield self.finish()

    def receive(self, packets: Iterable[Packet | DamagedBytes]) -> Iterator[CapturedBatch]:
        """Read the packets that are available. More may follow later, but not after the capture is `broken`."""
        if self.broken is not None:
            return
        in_order = None
        if isinstance(packets, PcapReader | PcapngReader) and not isinstance(self.reassembler, ConnectionTable):
            in_order = InOrderPackets(packets, self, self.reassembler)
        try:
            for packet in packets:
                self._receive(packet, self.batch)
                if in_order is not None:
                    yield from in_order.run()
                if not (in_order is not None and in_order.reader.is_ahead):
                    yield from self.complete()
        except DumpError as error:
            self.broken = error
        yield from self.complete()

    def complete(self) -> Iterator[CapturedBatch]:
        """Yield the frames of the batch, if there are any, and start a new batch."""
        if batch := self.batch:
            self.batch = FrameBatch()
            yield batch

    def _receive(self, packet: Packet | DamagedBytes, out: CapturedBatch) -> None:
        if isinstance(packet, DamagedBytes):
            self._has_damage = True
            if self.share.reports_rest:
                kind = CutRecord if packet.is_cut else Damaged
                fault = kind(len(packet.data), found=packet.problem, offset=packet.offset)
                out.append(fault_item(fault, packet.data, packet.offset))
                if packet.is_cut:
                    packets = self.reassembler.packets + self._others + self._lost.total()
                    self.remarks.append(f"{fault.reason} (after {packets} packets, at offset {packet.offset})")
            return
        segment = parse_segment(packet)
        if isinstance(segment, Segment):
            self.feed(segment, out)
        else:
            self._count_lost(segment)

    def finish(self) -> CapturedBatch:
        """End all connections, since no more packets will come. Raises DumpError as `frames` does."""
        out: CapturedBatch = FrameBatch()
        self._is_over = True
        if isinstance(self.reassembler, ConnectionTable):
            for event in self.reassembler.finish():
                self.take(event, out)
        else:
            self.reassembler.finish(out)
        self._report_unread(self.broken, out)
        return out

    def end_file(self) -> CapturedBatch:
        """End a file whose capture continues in the next file: return the reason why the rest of it cannot be read."""
        out: CapturedBatch = FrameBatch()
        self._report_broken(self.broken, out)
        self.broken = None
        return out

    @property
    def weight(self) -> int:
        """Estimate the memory of all state, in bytes."""
        states = self.states.values()
        reassembler = self.reassembler
        waiting = sum(state.buffered for state in states)
        waiting += sum(connection.held for connection in reassembler.stuck.values())
        awaited = sum(state.awaited for state in states if isinstance(state, KafkaConnection))
        return waiting + awaited * AWAITED_COST + len(reassembler.known) * SIDE_COST + len(self.others) * OTHER_COST

    def feed(self, segment: Segment, out: CapturedBatch) -> None:
        """Process a segment; add the frames that it completes to `out`."""
        reassembler = self.reassembler
        if self.is_other(segment.key):
            reassembler.packets += 1
            if reassembler.packets % EVERY == 0:
                self._look_around(segment.nanoseconds, out)
        elif isinstance(reassembler, ConnectionTable):
            for event in reassembler.feed(segment):
                self.take(event, out)
        else:
            reassembler.feed(segment, out)
        if reassembler.packets % EVERY == 0:
            self.trim(out)

    def _look_around(self, now: int | None, out: CapturedBatch) -> None:
        """End finished connections and bound buffers. Called periodically, with the time of the latest packet."""
        if isinstance(self.reassembler, ConnectionTable):
            for event in self.reassembler.look_around(now):
                self.take(event, out)
        else:
            self.reassembler.look_around(now, out)

    def is_other(self, key: bytes) -> bool:
        """Whether a connection belongs to another share, by the key of a segment."""
        if self.share.is_all or self.share.has(key):
            return False
        if len(self.others) >= MOST_OTHERS:
            self.others.clear()
        self.others.add(key)
        return True

    def recognise(self, connection: TcpConnection, side: int, data: bytes) -> None:
        """Check whether the first bytes of a connection identify it as Kafka's, without consuming them."""
        if connection.number in self.states:
            return
        if begins_with_request(self.recogniser, data):
            self.converse(connection, side, data[4:12], len(data))

    def converse(self, connection: TcpConnection, side: int, head: bytes, count: int) -> None:
        """Treat a connection as Kafka's: its first `count` bytes start as a request.

        Args:
            connection, side: the connection, and the client's side.
            head: api key, version and correlation id of the request.
            count: the number of bytes; they are not consumed yet.
        """
        self.recogniser.allow(count)
        state = self.states[connection.number] = KafkaConnection(self.recogniser, connection, side, head)
        self._cut_natively(state)

    def _cut_natively(self, conversation: KafkaConnection) -> None:
        """Extract the frames of both directions of a connection in the engine, where the next one is known to start."""
        if self.is_native:
            conversation.cut_in_order()

    def take(self, event: Event, out: CapturedBatch) -> None:
        """Process the next data or the end of a connection."""
        connection = event.connection
        if isinstance(event, Finished | Ended):
            self._end(connection, out, gone=isinstance(event, Ended))
            return
        if isinstance(event, Portion):
            self.recognise(connection, event.side, event.data)
        state = self.states.get(connection.number)
        if state is None:
            state = self.states[connection.number] = UndecidedConnection(self.recogniser, connection)
        if isinstance(state, UndecidedConnection):
            decided = state.feed(event)
            if decided is not None:
                self._replay_opening(state, decided, out)
            return
        out += state.feed(event)
        if isinstance(state, NonKafkaConnection) and state.turned is not None:
            self.states[connection.number] = state.turned
            self._cut_natively(state.turned)

    def _replay_opening(
        self, opening: UndecidedConnection, state: KafkaConnection | NonKafkaConnection, out: CapturedBatch
    ) -> None:
        self.states[opening.connection.number] = state
        if isinstance(state, KafkaConnection):
            self._cut_natively(state)
        out += opening.replay(state)

    def _end(self, connection: TcpConnection, out: CapturedBatch, *, gone: bool) -> None:
        """Drop a connection. While packets may still arrive for it, drop it only if its end truncated a frame."""
        state = self.states.get(connection.number)
        if state is not None and (gone or (isinstance(state, KafkaConnection) and state.buffered)):
            if not isinstance(state, KafkaConnection) or state.buffered:
                ended = "the capture ended" if self._is_over else "no more of the connection was captured"
                self._stop(connection, out, "the connection closed" if connection.is_closing else ended)
            del self.states[connection.number]
            if not isinstance(connection, TcpConnection):
                connection.stop_cutting()
            is_open = self._is_over and not connection.is_closing
            out.append(OpenConnection(connection.number) if is_open else connection.number)
        if gone:
            connection.release()

    def _stop(self, connection: TcpConnection, out: CapturedBatch, cause: str) -> None:
        """Return the buffered bytes of a connection, without waiting for the rest; `cause` is the reason."""
        state = self.states.get(connection.number)
        if isinstance(state, UndecidedConnection):
            decided = state.decide()
            self._replay_opening(state, decided, out)
            out += decided.stop(connection.last, cause)
        elif state is not None:
            out += state.stop(connection.last, cause)

    def trim(self, out: CapturedBatch) -> None:
        """Bound the memory of incomplete frames; the largest one may keep growing."""
        if self.reassembler.read <= self.trim_at:
            return
        self.trim_at = self.reassembler.read + BETWEEN_TRIMS
        sizes = sorted((state.buffered, number) for number, state in self.states.items() if state.buffered)
        total = sum(size for size, _ in sizes[:-1])
        for size, number in reversed(sizes[:-1]):
            if total <= BUFFERED:
                return
            total -= size
            self._stop(self.states[number].connection, out, "others needed the memory")

    def _count_lost(self, reason: str) -> None:
        if reason == NOT_TCP:
            self._others += 1
            return
        self._lost[reason] += 1
        if not self.reassembler.read and reason not in LOST and self._lost[reason] == UNREAD_AT_MOST:
            raise DumpError(f"its packets are {reason}, which is not read", file=self.file)

    def _report_unread(self, broken: DumpError | None, out: CapturedBatch) -> None:
        """Report what could not be read; raise DumpError if nothing could be read."""
        unread = next((reason for reason in self._lost if reason not in LOST), None)
        nothing = not self.reassembler.count and not self.others
        if nothing and broken is None and unread:
            broken = DumpError(f"its packets are {unread}, which is not read", file=self.file)
        if nothing and broken is None and self._others:
            broken = DumpError(f"none of its packets carries TCP: {self._others} were looked at", file=self.file)
        if nothing and broken is not None and not self._has_damage:
            raise broken
        if not self.share.reports_rest:
            return
        for reason, count in sorted(self._lost.items()):
            out.append(fault_item(LostPackets(count, found=reason)))
        self._report_broken(broken, out)

    def _report_broken(self, broken: DumpError | None, out: CapturedBatch) -> None:
        """Report why the rest of a file cannot be read."""
        if broken is not None:
            out.append(fault_item(BrokenDump(found=str(broken), offset=broken.offset or 0)))
            self.remarks.append(broken.reason)


class InOrderPackets:
    """Processes the packets of one file in the engine.

    Args:
        reader: the reader of the file.
        streams: receives what the engine does not process.
        table: the connections.
    """

    def __init__(self, reader: PcapReader | PcapngReader, streams: FrameExtractor, table: SegmentTable) -> None:
        self.reader: PcapReader | PcapngReader = reader
        self.streams: FrameExtractor = streams
        self.table: SegmentTable = table
        self._walker: Any = None
        self._described: tuple[str, tuple[Interface, ...]] | None = None  # byte order, interfaces

    def run(self) -> Iterator[CapturedBatch]:
        """Read packets until one has an unusual layout or is not yet available; add their frames to the batch.

        Yields:
            The batch, before more of the file is read, so that the packet at the end of a portion takes the fast path
            too.
        """
        cursor = self.reader.cursor
        while self._walk(self.streams.batch):
            yield from self.streams.complete()
            if not cursor.fill(cursor.left + 1):
                break

    def _walk(self, out: CapturedBatch) -> bool:
        """Read packets; return whether some were read and the available bytes end inside the next packet."""
        if self._walker is None:
            self._create_walker()
        if self.reader.is_skipping:
            return False
        reader = self.reader
        cursor = self.reader.cursor
        interfaces = tuple(reader.interfaces[:FIRST_INTERFACES])
        if self._described != (reader.order, interfaces):
            self._described = reader.order, interfaces
            self._walker.describe(reader.order == ">", [link_layout(interface) for interface in interfaces])
        cursor.pos = self._walker.run(cursor.data, cursor.pos, out, cursor.pos + reader.stop - cursor.offset)
        if isinstance(reader, PcapReader):
            reader.note_time(self._walker.seconds)
        return bool(reader.looks_ahead and self._walker.lacks_bytes and cursor.pos)

    def _create_walker(self) -> None:
        streams = self.streams
        is_other = None if streams.share.is_all else self._is_other
        self._walker = PacketWalker(self.table, streams, is_other, NEAR, isinstance(self.reader, PcapngReader))

    def _is_other(self, key: bytes) -> bool:
        return key in self.streams.others or self.streams.is_other(key)
