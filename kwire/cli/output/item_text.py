"""Frames and records as text, one after the other: lines, a tree if there is only one, or JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from ...capture.logs.disk_entry import DiskEntry
from ...capture.logs.log_batch import LogBatch, LogBytes, LogRecord
from ...protocol import FrameDecoder, Result
from ...protocol.frames.captured_frame import CapturedBatch
from ...protocol.message_summary import MessageSummary
from ...render.captured.json_lines import JsonLines
from ...render.captured.text_lines import CapturedLines
from ...render.colours import Style
from ...render.frame_line import FrameLines
from ...render.frame_tree import tree
from ...render.json_objects.frame_json import json_line
from ...render.json_objects.record_json import record_json_line
from ...render.record_lines import RecordLines
from ..input.log_entries import LogEntry

Print = Callable[[str], None]
Item = Result | LogEntry | DiskEntry
ENTRY = (LogRecord, LogBytes, LogBatch, DiskEntry)


class LineWriter(Protocol):
    """Writes the lines of one capture from bytes."""

    def written(
        self, batch: CapturedBatch, number: int, carefully: Callable[[Result], str]
    ) -> Iterator[tuple[str, int]]:
        """Yield the lines of a batch, each time with the number of frames that the lines cover.

        Args:
            batch: the frames.
            number: the number of the first frame in the capture.
            carefully: formats each frame that had to be decoded.
        """


class Form(Protocol):
    """A format in which items are written."""

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool) -> LineWriter:
        """Return what writes the lines of a capture."""

    def text(self, item: Item) -> str:
        """Return the text of an item, with its newline."""

    def end(self) -> str:
        """Return the text after the last item."""


class AsJson:
    """Items as JSON lines."""

    writer = JsonLines

    def text(self, item: Item) -> str:
        """Return the line of an item."""
        return (record_json_line(item) if isinstance(item, ENTRY) else json_line(item)) + "\n"

    def end(self) -> str:
        """Return an empty string: JSON lines have no end."""
        return ""


class AsText:
    """Items as lines; if a frame is the only item, as a tree.

    Args:
        summary: extracts topics and errors.
        style: colours and width.
        live: write each line immediately; if there is only one, its fields follow.
        wanted: decides for each item, in order, whether it is shown.
    """

    def __init__(
        self,
        summary: MessageSummary,
        style: Style,
        *,
        live: bool = False,
        wanted: Callable[[Item], bool] = lambda item: True,
    ) -> None:
        self._style, self._live, self._wanted = style, live, wanted
        self._records, self._frames = RecordLines(style), FrameLines(summary, style)
        self._first: Item | None = None  # kept until the second item
        self._count = 0

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool) -> LineWriter:
        """Return what writes the lines of a capture."""
        return _SeveralLines(CapturedLines(decoder, file, self._frames, sealed=sealed), self)

    @property
    def has_several(self) -> bool:
        """Whether several items were written."""
        return self._count > 1

    def text(self, item: Item) -> str:
        """Return the line of an item; for the first item an empty string, unless it is shown live or is not a frame."""
        if not self._wanted(item):
            return ""
        self._count += 1
        if self._count == 1:
            self._first = item
            return self._line(item) if self._live or isinstance(item, ENTRY) else ""
        first, self._first = self._first, None
        is_held = first is not None and not (self._live or isinstance(first, ENTRY))
        return (self._line(first) if is_held else "") + self._line(item)  # type: ignore[arg-type]

    def end(self) -> str:
        """Return the fields of the only item if it is a frame, else an empty string."""
        if self._count != 1 or self._first is None or isinstance(self._first, ENTRY):
            return ""
        return "".join(f"{line}\n" for line in [*tree(self._first, self._style)][self._live :])

    def _line(self, item: Item) -> str:
        if isinstance(item, ENTRY):
            return "".join(f"{line}\n" for line in self._records.lines(item))
        return self._frames.text(item)


class _SeveralLines:
    """Writes lines from bytes after the first item, which is decoded, because a single item becomes a tree."""

    def __init__(self, writer: CapturedLines, form: AsText) -> None:
        self._writer, self._form = writer, form
        self.decoder: FrameDecoder = writer.decoder

    def written(
        self, batch: CapturedBatch, number: int, carefully: Callable[[Result], str]
    ) -> Iterator[tuple[str, int]]:
        """Yield lines of a batch, as a `LineWriter` does."""
        at = 0
        while at < len(batch) and not self._form.has_several:
            captured = batch[at]
            at += 1
            if type(captured) is tuple:
                yield carefully(self._writer.result(captured, number)), 1
                number += 1
            else:
                self._writer.forget(captured)
        yield from self._writer.written(batch, number, carefully, at)
