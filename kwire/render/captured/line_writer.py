"""Writes the lines of a capture from captured bytes; batches of the native engine write most of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Protocol

from ...codecs.native import ENGINE
from ...protocol import FrameDecoder, Result
from ...protocol.connections.decoded_connection import DecodedConnection
from ...protocol.frame_kinds import FrameKinds
from ...protocol.frames.captured_frame import SECOND, CapturedBatch, CapturedFrame, make_frame
from ...protocol.headers.apis import Apis, Call
from ...protocol.headers.header import Header
from ...query.captured_query import CapturedQuery

MOST_TEXT = 1 << 20  # approximate number of characters per write
Carefully = Callable[[Result], str]


class _Lines(Protocol):
    decoder: FrameDecoder
    selection: CapturedQuery | None

    def line(self, captured: CapturedFrame, number: int) -> str | Result:
        """Return the line of a frame; or its decoded result, if it had to be decoded."""

    def result(self, captured: CapturedFrame, number: int) -> Result:
        """Decode a frame, given its number in the capture."""


def one_by_one(
    writer: _Lines, batch: CapturedBatch, number: int, carefully: Carefully, start: int
) -> Iterator[tuple[str, int]]:
    """Yield the lines of a batch from an item on, each with its number of frames; for the arguments see `Writer`."""
    for captured in islice(batch, start, None):
        if isinstance(captured, int):
            writer.decoder.connections.forget(captured)
            continue
        line = writer.line(captured, number) if writer.selection is None else writer.result(captured, number)
        yield line if isinstance(line, str) else carefully(line), 1
        number += 1


class CaptureWriterBase:
    """The common base of both writers; batches write most frames themselves (`FrameBatch.lines`).

    Args:
        decoder: decodes the frames that the native engine does not decode; must not be shared.
        file: the name of the capture.
        sealed: omit secrets.
        selection: the query; frames that are decoded are tested by `carefully`. None selects all frames.
    """

    is_text = False

    def __init__(
        self,
        decoder: FrameDecoder,
        file: str,
        kinds: FrameKinds[Any],
        *,
        sealed: bool,
        selection: CapturedQuery | None = None,
    ) -> None:
        self.decoder: FrameDecoder = decoder
        self.file: str = file
        self.sealed: bool = sealed
        self.selection: CapturedQuery | None = selection
        kinds.prepare = None if selection is None else selection.prepare
        self.apis: Apis = decoder.connections.apis
        self.kinds: Callable[[Call], tuple[Any, Any]] = kinds.of
        self.meet: Callable[[DecodedConnection, Any, bytes], None] = kinds.meet
        self.forget: Callable[[object], None] = decoder.connections.forget

    def written(
        self, batch: CapturedBatch, number: int, carefully: Carefully, start: int = 0
    ) -> Iterator[tuple[str, int]]:
        """Yield the lines of a batch from an item on, many at a time, with their number of frames; for the arguments
        see `Writer`.
        """
        if ENGINE != "native":
            yield from one_by_one(self, batch, number, carefully, start)
            return
        self._carefully, at = carefully, start
        while at < len(batch):
            at, frames, text, interrupt = batch.lines(self, at, number, MOST_TEXT)
            number += frames
            yield text, frames
            if interrupt is not None:
                raise interrupt
            if self.selection is not None and self.selection.shown >= self.selection.limit:
                return

    def pass_over(self, batch: CapturedBatch, number: int) -> int:
        """Process the frames of a batch without output, given the number of the first; return that of the next one."""
        self._carefully = _write_nothing
        return batch.pass_over(self, number)

    def rest(
        self, captured: CapturedFrame, number: int, connection: DecodedConnection | None, header: Header | None
    ) -> str:
        """Return the line of a frame that batches do not write.

        `connection` and `header` are set if they were requested.
        """
        if connection is None or header is None:
            return self._carefully(self.result(captured, number))
        frame = make_frame(captured, self.file, number)
        return self._carefully(self.decoder.result(frame, connection, header, SECOND))

    def result(self, captured: CapturedFrame, number: int) -> Result:
        """Decode a frame, given its number in the capture."""
        connection = self.decoder.connections.of(captured.ends)
        header = connection.pair(captured)
        if captured.is_request:
            header.number(number)
        return self.decoder.result(make_frame(captured, self.file, number), connection, header, SECOND)

    def line(self, captured: CapturedFrame, number: int) -> str | Result:
        """Return the line of a frame; or its decoded result, if it had to be decoded."""
        return self.result(captured, number)


def _write_nothing(result: Result) -> str:
    return ""
