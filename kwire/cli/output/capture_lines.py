"""The lines of one capture, written from captured bytes where no frame has to be decoded into objects."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from ...capture.dump import Dump
from ...protocol import Result
from ...protocol.frames.captured_frame import SECOND, CapturedBatch, count_frames
from ...protocol.headers.apis import Apis
from ...render.captured.json_lines import JsonLines
from ...render.captured.line_writer import MOST_TEXT
from ..input.dump_decoder import DumpDecoder
from ..input.fraction_read import part_read
from ..input.merged_inputs import captured_time
from ..terminal.progress import with_progress
from .chosen_items import ChosenItems
from .item_text import Form


class CaptureLines:
    """The lines of one capture, or of a range of it: a `FrameConsumer`.

    Args:
        dump: the capture.
        reading: decodes the frames that the fast path does not.
        form: the output format.
        chosen: chooses and counts the items that are written.
    """

    def __init__(self, dump: Dump, reading: DumpDecoder, form: Form, chosen: ChosenItems) -> None:
        self.dump: Dump = dump
        self.form: Form = form
        self.chosen: ChosenItems = chosen
        self._part = partial(part_read, reading.options)
        self._decoder, self._seal = reading.decoder(), reading.seal
        query = None if chosen.query.chooses_all and chosen.limit is None else chosen.query
        self._quick = form.writer(self._decoder, dump.file, sealed=reading.sealed, query=query)
        self._number = self._frames = self._size = 0  # the last two: frames and characters that are not yet yielded
        self._lines: list[str] = []

    @property
    def apis(self) -> Apis:
        """The known apis."""
        return self._decoder.connections.apis

    @property
    def state(self) -> Any:
        """The number of the next frame, the first time of --from and --to, and the connections."""
        moments = self.chosen.query.moments
        return self._number, None if moments is None else moments.first, self._decoder.connections.state

    def go_on(self, state: Any) -> None:
        """Continue where a range starts."""
        self._number, first, connections = state
        self._decoder.connections.go_on(connections)
        if self.chosen.query.moments is not None and first is not None:
            self.chosen.query.moments.begin(first)

    def pass_over(self, batch: CapturedBatch) -> None:
        """Process the frames of a batch without lines; only for JSON lines."""
        assert isinstance(self._quick, JsonLines)
        self._begin_span(batch)
        self._number = self._quick.pass_over(batch, self._number)

    def __iter__(self) -> Iterator[str]:
        """Yield lines with their newlines, all lines of a batch of the capture together."""
        return self.lines_of(self.batches())

    def batches(self) -> Iterator[CapturedBatch]:
        """Yield the batches of the capture, with the progress on the terminal."""
        assert self.dump.captured is not None
        wanted = not sys.stdout.isatty()
        return with_progress(self.dump.captured, self._part, weight=count_frames, wanted=wanted)

    def lines_of(self, batches: Iterator[CapturedBatch]) -> Iterator[str]:
        """Yield the lines of batches."""
        for batch in batches:
            self._begin_span(batch)
            try:
                yield from self._write_batch(batch)
            except KeyboardInterrupt:
                yield self._take_lines()
                raise
            if self.chosen.is_done:
                return

    def _begin_span(self, batch: CapturedBatch) -> None:
        """Set the first time of --from and --to: frames that are excluded by their headers do not reach them."""
        moments = self.chosen.query.moments
        if moments is not None and moments.first is None:
            first = next((time for time in map(captured_time, batch) if time is not None), None)
            if first is not None:
                moments.begin(first / SECOND)

    def _write_batch(self, batch: CapturedBatch) -> Iterator[str]:
        """Yield the lines of a batch, many in one string."""
        selection = self._quick.selection
        if selection is not None and self.chosen.limit is not None:
            selection.limit = selection.shown + self.chosen.left
        for text, frames in self._quick.written(batch, self._number, self._carefully):
            self._number += frames
            self._frames += frames
            self._lines.append(text)
            self._size += len(text)
            if self._size > MOST_TEXT:
                yield self._take_lines()
        yield self._take_lines()

    def _carefully(self, result: Result) -> str:
        result = self._seal(result)
        self._frames -= 1
        if not self.chosen.take(result):
            return ""
        selection = self._quick.selection
        if selection is not None and self.chosen.limit is not None:
            selection.limit -= 1
        return self.form.text(result)

    def _take_lines(self) -> str:
        text = "".join(self._lines)
        self.chosen.pass_frames(self._frames, self._quick.selection)
        self._frames = self._size = 0
        self._lines.clear()
        return text
