"""Shared by the commands that read dumps or write files: --as, --body, --profile, decoding of the frames of all files.

An output file is never an input and never incomplete; frames are written as a capture or as raw frames.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from ...capture.capture_writer import CaptureWriter, names_connection
from ...capture.dump import Dump
from ...capture.kafka.captured_frames import build_timed_frames
from ...protocol import Frame, Source
from ...protocol.frames.stream_faults import BareToken, BodyNotLogged, BrokenDump, CutRecord, NoFrame
from ...render.value_text import count_text
from ..terminal.remarks import remark


def timed_frames(dump: Dump) -> Iterator[tuple[Frame, int | None]]:
    """Yield the frames of a dump, each with its exact time in nanoseconds since 1970 if the dump is a capture, else
    None.
    """
    if dump.captured is not None:
        return build_timed_frames(dump.captured, dump.file)
    return ((frame, None) for frame in dump.frames)


class FrameOutput:
    """Writes frames; the first one determines the format.

    Args:
        stream: the file to write to.
        raw: write raw frames for every input.
    """

    def __init__(self, stream: BinaryIO, *, raw: bool = False) -> None:
        self.stream: BinaryIO = stream
        self.raw: bool = raw
        self.count: int = 0  # frames
        self._capture: CaptureWriter | None = None
        self._left_out: Counter[str] = Counter()
        self._connections: set[tuple[object, ...]] = set()  # at most two: raw output warns about several
        self._has_times = False

    @property
    def is_ambiguous(self) -> bool:
        """Whether raw frames of several connections were written, whose responses no reader can pair."""
        return len(self._connections) > 1

    def write(self, frame: Frame, data: bytes | None = None, nanoseconds: int | None = None) -> None:
        """Write a frame; the arguments are those of `CaptureWriter.write`."""
        data, source = frame.data if data is None else data, frame.source
        if isinstance(frame.fault, BrokenDump | CutRecord):
            return  # a remark of the dump says it
        if isinstance(frame.fault, BodyNotLogged):
            self._left_out["messages whose bodies are not in the log"] += 1
            return
        if isinstance(frame.fault, NoFrame) and source.client is None:
            self._left_out[str(frame.fault)] += 1  # a fault of the dump, not of a connection
            return
        if not self.count and not self.raw and names_connection(source):
            self._capture = CaptureWriter(self.stream)
        self.count += 1
        if self._capture is None:
            self._write_raw(frame, data)
            return
        self._has_times |= source.time is not None or nanoseconds is not None
        self._capture.write(frame, data, nanoseconds)

    def _write_raw(self, frame: Frame, data: bytes) -> None:
        source = frame.source
        if source.client is not None:
            if len(self._connections) < 2:
                self._connections.add((source.file, source.connection, source.client, source.broker))
            if (frame.fault is not None and not isinstance(frame.fault, BareToken)) or not _is_whole(data):
                self._left_out["incomplete frames"] += 1
                return
        self.stream.write(data)

    def end(self, source: Source) -> None:
        """Record that a connection has no more frames."""
        if self._capture is not None:
            self._capture.end(source)

    def finish(self) -> None:
        """Write the remaining frames; report on stderr what was written and what was lost."""
        if self._capture is not None:
            self._capture.close()
            count = count_text(self._capture.connections, "connection")
            remark(f"written as a capture (pcap) of {count}; --raw writes raw frames")
            self._left_out += self._capture.left_out
            if not self._has_times:
                remark("the input has no times: in the capture, they are 1970-01-01")
        if self.is_ambiguous:
            remark("raw frames of several connections: a reader cannot pair their responses with requests")
        for what, count_left in self._left_out.items():
            remark(f"left out: {count_left} {what}")


def _is_whole(data: bytes) -> bool:
    return len(data) >= 4 and int.from_bytes(data[:4], "big") == len(data) - 4
