"""Writes frames with where they come from: file, connection, time, and a number for each."""

from __future__ import annotations

from typing import NamedTuple

from ..frames import Frame, Source
from ..frames.pieces import NoFrame
from .pcap import SECOND
from .tcp import Connection


class Ends(NamedTuple):
    """The ends of a connection, by what they are."""

    client: str
    broker: str
    connection: int


class Scribe:
    """Writes the frames of one dump.

    Args:
        file: its name.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.count = 0
        self.closed: list[int] = []  # connections that ended since the last frame

    def source(self, connection: Connection, client: int) -> Ends:
        """Say which end is which."""
        ends = connection.ends
        return Ends(ends[client], ends[1 - client], connection.number)

    def write(
        self, ends: Ends, asked: bool, offset: int, nanoseconds: int | None, data: bytes, fault: NoFrame | None = None
    ) -> Frame:
        """Write a frame, or with a fault, bytes that are none."""
        time = None if nanoseconds is None else nanoseconds / SECOND
        client, broker, connection = ends
        direction = "request" if asked else "response"
        source = Source(self.file, self.count, offset, time, client, broker, connection, direction)
        self.count += 1
        closed: tuple[int, ...] = ()
        if self.closed:
            closed, self.closed = tuple(self.closed), []
        return Frame(data, source, None, None, False, None, fault, closed)

    def note(self, fault: NoFrame) -> Frame:
        """Write what is to be said of the dump as a whole."""
        self.count += 1
        return Frame(b"", Source(self.file, self.count - 1), fault=fault)
