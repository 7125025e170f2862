"""Prints dumps as lines, JSON or text, where no filter is given; captures take a fast path."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Protocol, TypeVar

from ..input import Dump
from ..logs import DiskEntry, LogBatch, LogBytes, LogRecord
from ..protocol import FrameDecoder, Result, Undecodable
from ..protocol.framing import CapturedBatch, NotKafka, count_frames
from ..protocol.summary import MessageSummary
from ..render.json_objects import json_line, record_json_line
from ..render.line import MOST_TEXT, CapturedLines, FrameLines, JsonLines
from ..render.record_text import RecordLines
from ..render.style import Style
from ..render.tree import is_note, tree
from ..spec.catalog import catalog_for
from .filters import Entry
from .inputs import Reading, part_read
from .terminal import with_progress

T = TypeVar("T")
Item = Result | Entry | DiskEntry
ENTRY = (LogRecord, LogBytes, LogBatch, DiskEntry)


def are_for(options: argparse.Namespace) -> bool:
    """Whether the options ask for lines of all frames, each read as what it says it is."""
    chosen = (
        options.response_frames
        or options.sort
        or options.api
        or options.conn
        or options.errors
        or options.named
        or options.body
    )
    bounded = any(value is not None for value in (options.client, options.since, options.until, options.where))
    bounded |= options.response_frames or options.sort is not None
    bounded |= options.first is not None or options.request is not None or options.fields is not None or options.count
    as_text = not (options.json or options.verbose or is_live(options))
    return bool((options.jsonl or as_text) and not chosen and not bounded)


def is_live(options: argparse.Namespace) -> bool:
    """Whether frames are shown as they come: from standard input, or of what is followed."""
    return options.follow or "-" in options.files


def is_quick(dump: Dump, reading: Reading) -> bool:
    """Whether a dump is a capture, of what Kafka released."""
    return dump.captured is not None and reading.catalog is catalog_for()


class Writer(Protocol):
    """Writes the lines of one capture from bytes."""

    def written(
        self, batch: CapturedBatch, number: int, carefully: Callable[[Result], str]
    ) -> Iterator[tuple[str, int]]:
        """Yield lines of a batch, each time with the number of frames they are of.

        Args:
            batch: the frames.
            number: of the first one in the capture.
            carefully: writes what had to be decoded.
        """


class Form(Protocol):
    """How items are written."""

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool) -> Writer:
        """Return what writes the lines of a capture."""

    def text(self, item: Item) -> str:
        """Return what is written of an item, with its newline."""

    def end(self) -> str:
        """Return what is written behind all items."""


class AsJson:
    """Items as JSON lines."""

    writer = JsonLines

    def text(self, item: Item) -> str:
        """Return the line of an item."""
        return (record_json_line(item) if isinstance(item, ENTRY) else json_line(item)) + "\n"

    def end(self) -> str:
        """Return nothing."""
        return ""


class AsText:
    """Items as lines; a frame that is the only item as a tree.

    Args:
        summary: extracts topics and errors.
        style: colours and width.
        live: write each line at once; if it was the only one, its fields follow.
        wanted: asked of all items, in order, whether they are shown.
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
        self._first: Item | None = None  # until there is another
        self._count = 0

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool) -> Writer:
        """Return what writes the lines of a capture."""
        return _BehindTheFirst(CapturedLines(decoder, file, self._frames, sealed=sealed), self)

    @property
    def has_several(self) -> bool:
        """Whether several items were written, so that none is the only one."""
        return self._count > 1

    def text(self, item: Item) -> str:
        """Return the line of an item; of the first one nothing yet, unless it is shown live or no frame."""
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
        """Return the fields of the only item, if that is a frame."""
        if self._count != 1 or self._first is None or isinstance(self._first, ENTRY):
            return ""
        return "".join(f"{line}\n" for line in [*tree(self._first, self._style)][self._live :])

    def _line(self, item: Item) -> str:
        if isinstance(item, ENTRY):
            return "".join(f"{line}\n" for line in self._records.lines(item))
        return self._frames.text(item)


class _BehindTheFirst:
    """Writes lines once there are several; before that, results, of which one may be shown as a tree."""

    def __init__(self, writer: CapturedLines, form: AsText) -> None:
        self._writer, self._form = writer, form
        self.decoder: FrameDecoder = writer.decoder

    def written(
        self, batch: CapturedBatch, number: int, carefully: Callable[[Result], str]
    ) -> Iterator[tuple[str, int]]:
        """Yield lines of a batch, as a `Writer` does."""
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


class Lines:
    """The lines of one capture.

    Args:
        dump: the capture.
        reading: how what is odd in it is decoded.
        form: how it is written.
        count: notes what was decoded so.
        passed: gets the number of all other frames.
    """

    def __init__(
        self, dump: Dump, reading: Reading, form: Form, count: Callable[[Any], None], passed: Callable[[int], None]
    ) -> None:
        self.dump: Dump = dump
        self.form, self.count, self.passed = form, count, passed
        self._part = partial(part_read, reading.options)
        self._decoder, self._seal = reading.decoder(), reading.seal
        self._quick = form.writer(self._decoder, dump.file, sealed=reading.sealed)
        self._number = self._frames = self._size = 0  # frames that were not decoded, and characters, not given out yet
        self._lines: list[str] = []

    def __iter__(self) -> Iterator[str]:
        """Yield lines, with their newlines, as many together as the capture gives at once."""
        assert self.dump.captured is not None
        for batch in with_progress(self.dump.captured, self._part, weight=count_frames, wanted=not sys.stdout.isatty()):
            try:
                yield from self._written(batch)
            except KeyboardInterrupt:
                yield self._taken()
                raise

    def _written(self, batch: CapturedBatch) -> Iterator[str]:
        """Yield the lines of a batch; many at once."""
        for text, frames in self._quick.written(batch, self._number, self._carefully):
            self._number += frames
            self._frames += frames
            self._lines.append(text)
            self._size += len(text)
            if self._size > MOST_TEXT:
                yield self._taken()
        yield self._taken()

    def _carefully(self, result: Result) -> str:
        result = self._seal(result)
        self.count(result)
        self._frames -= 1
        return self.form.text(result)

    def _taken(self) -> str:
        text = "".join(self._lines)
        self.passed(self._frames)
        self._frames = self._size = 0
        self._lines.clear()
        return text


class Ours:
    """Tells what is shown: not what was noted of a connection before, nor, unless `foreign` ones are wanted, the
    streams of other protocols, which a remark names."""

    def __init__(self, *, foreign: bool = False) -> None:
        self._foreign = foreign
        self._noted: set[tuple[str, object]] = set()

    def __call__(self, item: object) -> bool:
        """Whether an item is shown; called once for each."""
        if not isinstance(item, Undecodable) or not is_note(item):
            return True
        source = item.frame.source
        key = item.error.code, source.connection if source.connection is not None else source.frame
        if isinstance(item.error, NotKafka):
            return self._foreign
        is_new = key not in self._noted
        self._noted.add(key)
        return is_new


def ours(decoded: Iterable[T], *, foreign: bool = False) -> Iterator[T]:
    """Leave out the frames that `Ours` does not show."""
    return filter(Ours(foreign=foreign), decoded)
