"""A connection of another protocol: its bytes are counted, not decoded; ZooKeeper's packets are returned on request."""

from __future__ import annotations

from ...protocol.frames.captured_frame import CapturedFrame
from ...protocol.frames.stream_faults import Encrypted, NoFrame, NotKafka
from ...protocol.frames.stream_faults import Gap as GapFault
from ..tcp.connection import Portion, StreamGap, TcpConnection, Unseen
from .captured_frames import TcpEnds
from .connection_frames import KafkaConnection
from .frame_recognition import STRONG, FrameRecogniser
from .other_protocols import TLS, UNKNOWN, ZOOKEEPER

SIZE_FIELD = 4
LONGEST_PACKET = 1 << 24  # bytes of a ZooKeeper packet; jute.maxbuffer is 1 MB by default
SHOWN = 64  # bytes received from each side


class _ByteCounter:
    """Counts the bytes that one side sent."""

    def __init__(self) -> None:
        self.first = b""
        self.count = self.missing = self.stop = 0
        self.now: int | None = None

    def add(self, event: Portion | StreamGap) -> None:
        size = len(event.data) if isinstance(event, Portion) else event.count or 0
        self.stop = event.offset + size
        self.now = event.nanoseconds
        if isinstance(event, StreamGap):
            self.missing += size
            return
        self.count += size
        if len(self.first) < SHOWN:
            self.first = (self.first + event.data)[:SHOWN]


class _ZooKeeperPackets:
    """Collects the complete packets of a ZooKeeper connection as frames with a fault; omits truncated packets."""

    def __init__(self, connection: TcpConnection) -> None:
        self._connection = connection
        self._client = connection.opener or 0
        self._begun = bytearray(), bytearray()

    def feed(self, event: Portion | StreamGap) -> list[CapturedFrame]:
        begun = self._begun[event.side]
        if isinstance(event, StreamGap):
            begun.clear()  # the next portion is assumed to start with a packet
            return []
        begun += event.data
        packets: list[CapturedFrame] = []
        while len(begun) >= SIZE_FIELD:
            stop = SIZE_FIELD + int.from_bytes(begun[:SIZE_FIELD], "big")
            if stop > LONGEST_PACKET:
                begun.clear()
            if len(begun) < stop:
                break
            offset = event.offset + len(event.data) - len(begun)
            fault = NotKafka(stop, found=ZOOKEEPER)
            ends = TcpEnds(self._connection.number, self._connection.key, self._client)
            is_client = event.side == self._client
            packets.append(CapturedFrame(ends, is_client, offset, event.nanoseconds, bytes(begun[:stop]), fault))
            del begun[:stop]
        return packets


class NonKafkaConnection:
    """A connection of another protocol.

    Attributes:
        name: the protocol.
        turned: the Kafka connection, if this turned out to be one; otherwise None.
    """

    buffered = 0

    def __init__(self, recogniser: FrameRecogniser, connection: TcpConnection, name: str) -> None:
        self.recogniser: FrameRecogniser = recogniser
        self.connection: TcpConnection = connection
        self.name: str = name
        self.turned: KafkaConnection | None = None
        self._sides = _ByteCounter(), _ByteCounter()
        self._packets = _ZooKeeperPackets(connection) if name == ZOOKEEPER and recogniser.gives_zookeeper else None

    def feed(self, event: Portion | StreamGap | Unseen) -> list[CapturedFrame]:
        """Count the next bytes of one side."""
        if self._packets is not None:
            return [] if isinstance(event, Unseen) else self._packets.feed(event)
        if self.turned is not None:
            return self.turned.feed(event)
        if self.name == UNKNOWN and isinstance(event, Portion) and self._is_request(event.data):
            return self._turn_into_kafka(event)
        if not isinstance(event, Unseen):
            self._sides[event.side].add(event)
        return []

    def stop(self, now: int | None, cause: str) -> list[CapturedFrame]:
        """Return items that describe the bytes of each side; for the arguments see `KafkaConnection.stop`."""
        if self.turned is not None:
            return self.turned.stop(now, cause)
        if self._packets is not None:
            return []
        opener = self.connection.opener or 0
        return self._describe_side(opener, opener) + self._describe_side(1 - opener, opener)

    def _describe_side(self, side: int, client: int) -> list[CapturedFrame]:
        """Return an item that describes the bytes of one side; none if it sent nothing."""
        counted = self._sides[side]
        if not counted.count and not counted.missing:
            return []
        fault: NoFrame
        if counted.count:
            kind = Encrypted if self.name == TLS else NotKafka
            fault = kind(counted.count, found=self.name, missing=counted.missing)
        else:
            fault = GapFault(counted.missing)
        ends = TcpEnds(self.connection.number, self.connection.key, client)
        return [CapturedFrame(ends, side == client, 0, counted.now, counted.first, fault)]

    def _is_request(self, data: bytes) -> bool:
        """Whether a packet is certainly a request."""
        if self.recogniser.header(data) != STRONG:
            return False
        size = 4 + int.from_bytes(data[:4], "big")
        self.recogniser.allow(len(data))
        return size <= len(data) and self.recogniser.proves_request(data[:size])

    def _turn_into_kafka(self, event: Portion) -> list[CapturedFrame]:
        frames = self._describe_side(event.side, event.side) + self._describe_side(1 - event.side, event.side)
        head = event.data[4:12]
        self.turned = KafkaConnection(self.recogniser, self.connection, event.side, head)
        self.turned.begin_late(event.offset, self._sides[1 - event.side].stop)
        return frames + self.turned.feed(event)
