"""Frames and records as text, one after the other: lines, a tree if there is only one, or JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ...capture.logs.disk_entry import DiskEntry
from ...capture.logs.log_batch import LogBatch, LogBytes, LogRecord
from ...protocol import FrameDecoder, Request, Response, Result, Undecodable
from ...protocol.frames.captured_frame import CapturedBatch
from ...protocol.frames.stream_faults import CutShort, NoFrame
from ...protocol.message_summary import MessageSummary
from ...query.captured_query import CapturedQuery
from ...query.query import Query
from ...render.captured.json_lines import JsonLines
from ...render.captured.selected_frames import SelectedFrames
from ...render.captured.text_lines import CapturedLines
from ...render.colours import Style
from ...render.escaping import compact_json, json_text
from ...render.frame_line import FrameLines
from ...render.frame_tree import tree
from ...render.json_objects.frame_json import json_line, named_envelope
from ...render.json_objects.record_json import record_envelope, record_json_line
from ...render.record_lines import RecordLines
from ...render.record_tree import RecordTree
from ..input.log_entries import LogEntry

if TYPE_CHECKING:
    from ...serdes import RecordDeserializer

Print = Callable[[str], None]
Item = Result | LogEntry | DiskEntry
ENTRY = (LogRecord, LogBytes, LogBatch, DiskEntry)


class LineWriter(Protocol):
    """Writes the lines of one capture from bytes."""

    @property
    def selection(self) -> CapturedQuery | None:
        """The query; None if all frames are written."""

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

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool, query: Query | None) -> LineWriter:
        """Return what writes the lines of a capture, those of all frames or those that a query chooses."""

    def text(self, item: Item) -> str:
        """Return the text of an item, with its newline."""

    def end(self) -> str:
        """Return the text after the last item."""


def captured_query(query: Query | None, file: str, *, sealed: bool) -> CapturedQuery | None:
    """Return a query for the frames of one capture."""
    return None if query is None else CapturedQuery(query, file, sealed=sealed)


class _AsDecoded:
    """Items of which each is decoded."""

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool, query: Query | None) -> LineWriter:
        """Return what chooses the frames of a capture."""
        selection = CapturedQuery(query or Query(), file, sealed=sealed)
        selection.decodes = selection.shows_topics = True
        return SelectedFrames(decoder, file, sealed=sealed, selection=selection)


class _AsJsonObjects(_AsDecoded):
    """Items as JSON objects.

    Args:
        summary: knows the names of topic ids.
        values: decodes the records of frames by schema; None leaves them as bytes.
    """

    def __init__(self, summary: MessageSummary, values: RecordDeserializer | None = None) -> None:
        self._summary, self._values = summary, values

    def _members(self, result: Result) -> dict[str, Any]:
        if self._values is None:
            return named_envelope(result, self._summary)
        from ...render.json_objects.frame_records import envelope_with_records

        return envelope_with_records(result, self._values, self._summary)


class AsJson(_AsJsonObjects):
    """Items as JSON lines."""

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool, query: Query | None) -> LineWriter:
        """Return what writes the lines of a capture."""
        if self._values is not None:
            return super().writer(decoder, file, sealed=sealed, query=query)
        selection = captured_query(query, file, sealed=sealed)
        if selection is not None:
            selection.shows_topics = True
        return JsonLines(decoder, file, sealed=sealed, selection=selection, summary=self._summary)

    def text(self, item: Item) -> str:
        """Return the line of an item."""
        if isinstance(item, ENTRY):
            return record_json_line(item) + "\n"
        if self._values is None:
            return json_line(item, self._summary) + "\n"
        return compact_json(self._members(item)) + "\n"

    def end(self) -> str:
        """Return an empty string: JSON lines have no end."""
        return ""


class AsArray(_AsJsonObjects):
    """Items as one JSON array."""

    _separator = "[\n"

    def text(self, item: Item) -> str:
        """Return the element of an item."""
        separator, self._separator = self._separator, ",\n"
        return separator + json_text(record_envelope(item) if isinstance(item, ENTRY) else self._members(item))

    def end(self) -> str:
        """Return the end of the array."""
        return "[]\n" if self._separator == "[\n" else "\n]\n"


class AsTrees(_AsDecoded):
    """Items as trees with all fields.

    Args:
        style: colours and width.
        summary: knows the names of topic ids.
        labels: what stands at the start of the title of a frame, by the name of its file.
        values: decodes the records of frames by schema.
    """

    def __init__(
        self,
        style: Style,
        summary: MessageSummary,
        labels: Mapping[str | None, str] | None = None,
        values: RecordDeserializer | None = None,
    ) -> None:
        self._style, self._records, self._values = style, RecordTree(style), values
        self._labels = labels or {}
        self._summary = summary
        self._has_begun = False

    def text(self, item: Item) -> str:
        """Return the tree of an item, after an empty line unless it is the first or continues a batch."""
        if isinstance(item, ENTRY):
            lines = list(self._records.lines(item))
        else:
            if isinstance(item, Request | Response):
                self._summary.learn_names(item.codec, item.message)
            lines = list(tree(item, self._style, self._summary.topic_of, self._values))
            lines[0] = self._labels.get(item.frame.source.file, "") + lines[0]
        gap = "\n" if self._has_begun and not lines[0].startswith("  ") else ""
        self._has_begun = True
        return gap + "\n".join(lines) + "\n"

    def end(self) -> str:
        """Return an empty string."""
        return ""


class AsCount:
    """The number of frames and records, without gaps and frames that are cut short."""

    def __init__(self) -> None:
        self._count = 0
        self._captures: list[CapturedQuery] = []

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool, query: Query | None) -> LineWriter:
        """Return what counts the frames of a capture."""
        selection = CapturedQuery(query or Query(), file, sealed=sealed)
        selection.counts = True
        self._captures.append(selection)
        return SelectedFrames(decoder, file, sealed=sealed, selection=selection)

    def text(self, item: Item) -> str:
        """Count an item."""
        self._count += is_complete(item)
        return ""

    def end(self) -> str:
        """Return the number."""
        return f"{self._count + sum(capture.shown for capture in self._captures)}\n"


def is_complete(item: Item) -> bool:
    """Whether an item is a frame or a record, and not a part of one."""
    if isinstance(item, ENTRY):
        return isinstance(item, LogRecord | DiskEntry)
    return not (isinstance(item, Undecodable) and isinstance(item.error, NoFrame | CutShort))


class AsText:
    """Items as lines; if a frame is the only item, as a tree.

    Args:
        summary: extracts topics and errors.
        style: colours and width.
        live: write each line immediately; if there is only one, its fields follow.
        labels: what stands at the start of the lines of frames, by the name of their file.
    """

    def __init__(
        self,
        summary: MessageSummary,
        style: Style,
        *,
        live: bool = False,
        labels: Mapping[str | None, str] | None = None,
    ) -> None:
        self._style, self._live = style, live
        self._records, self._frames = RecordLines(style), FrameLines(summary, style, labels)
        self._first: Item | None = None  # kept until the second item
        self._count = 0

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool, query: Query | None) -> LineWriter:
        """Return what writes the lines of a capture."""
        selection = captured_query(query, file, sealed=sealed)
        if selection is not None:
            selection.shows_topics = True
        return _SeveralLines(CapturedLines(decoder, file, self._frames, sealed=sealed, selection=selection), self)

    @property
    def has_several(self) -> bool:
        """Whether several items were written."""
        return self._count > 1

    def text(self, item: Item) -> str:
        """Return the line of an item; for the first item an empty string, unless it is shown live or is not a frame."""
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
        self.selection: CapturedQuery | None = writer.selection

    def written(
        self, batch: CapturedBatch, number: int, carefully: Callable[[Result], str]
    ) -> Iterator[tuple[str, int]]:
        """Yield lines of a batch, as a `LineWriter` does."""
        selection, at = self.selection, 0
        if selection is not None:
            selection.decodes = not self._form.has_several

            def decode(result: Result) -> str:
                text = carefully(result)
                selection.decodes = not self._form.has_several
                return text

            yield from self._writer.written(batch, number, decode)
            return
        while at < len(batch) and not self._form.has_several:
            captured = batch[at]
            at += 1
            if isinstance(captured, int):
                self._writer.forget(captured)
            else:
                yield carefully(self._writer.result(captured, number)), 1
                number += 1
        yield from self._writer.written(batch, number, carefully, at)
