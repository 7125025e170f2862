"""Where `redact` and `encode` write frames: a capture where the input names connections, else raw frames."""

from __future__ import annotations

from collections import Counter
from typing import BinaryIO

from ..dumps.capture_writer import CaptureWriter, names_connection
from ..frames import Frame, Source
from ..frames.pieces import BareToken, NoFrame
from ..render.values import count_text
from .terminal import remark


class FrameOutput:
    """Writes frames; the first of them says how.

    Args:
        stream: where to.
        raw: write raw frames whatever the input is.
    """

    def __init__(self, stream: BinaryIO, *, raw: bool = False) -> None:
        self.stream, self.raw = stream, raw
        self.count = 0  # frames
        self._capture: CaptureWriter | None = None
        self._left_out: Counter[str] = Counter()
        self._connections: set[tuple[object, ...]] = set()  # two are enough to know
        self._without_time = False

    def write(self, frame: Frame, data: bytes | None = None, nanoseconds: int | None = None) -> None:
        """Write a frame; the arguments are those of `CaptureWriter.write`."""
        data, source = frame.data if data is None else data, frame.source
        if isinstance(frame.fault, NoFrame) and source.client is None:
            self._left_out[str(frame.fault)] += 1  # it is about the dump as a whole
            return
        if not self.count and not self.raw and names_connection(source):
            self._capture = CaptureWriter(self.stream)
        self.count += 1
        if self._capture is None:
            self._write_raw(frame, data)
            return
        self._without_time |= source.time is None and nanoseconds is None
        self._capture.write(frame, data, nanoseconds)

    def _write_raw(self, frame: Frame, data: bytes) -> None:
        source = frame.source
        if source.client is not None:
            if len(self._connections) < 2:
                self._connections.add((source.file, source.connection, source.client, source.broker))
            if (frame.fault is not None and not isinstance(frame.fault, BareToken)) or not _is_whole(data):
                self._left_out["pieces that are no whole frame"] += 1
                return
        self.stream.write(data)

    def end(self, source: Source) -> None:
        """Take note that a connection has no more frames."""
        if self._capture is not None:
            self._capture.end(source)

    def finish(self) -> None:
        """Write what is left, and say on stderr what was written and what could not be kept."""
        if self._capture is not None:
            self._capture.close()
            count = count_text(self._capture.connections, "connection")
            remark(f"written as a capture (pcap) of {count}; addresses and ports stay; --raw writes raw frames")
            self._left_out += self._capture.left_out
            if self._without_time:
                remark("the input does not say when frames were sent: times are 1970-01-01 in the capture")
        if len(self._connections) > 1:
            remark("raw frames of several connections: whoever reads them cannot tell which response answers which")
        for what, count_left in self._left_out.items():
            remark(f"left out: {count_left} {what}")


def _is_whole(data: bytes) -> bool:
    return len(data) >= 4 and int.from_bytes(data[:4], "big") == len(data) - 4
