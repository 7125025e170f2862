"""The lines of one capture, written from captured bytes where no frame has to be decoded into objects."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from ...capture.dump import Dump
from ...protocol import Result
from ...protocol.frames.captured_frame import CapturedBatch, count_frames
from ...render.captured.line_writer import MOST_TEXT
from ..input.dump_decoder import DumpDecoder
from ..input.fraction_read import part_read
from ..terminal.progress import with_progress
from .item_text import Form

T = TypeVar("T")


class CaptureLines:
    """The lines of one capture.

    Args:
        dump: the capture.
        reading: decodes the frames that the fast path does not.
        form: the output format.
        count: counts each item that `reading` decoded.
        passed: receives the number of all other frames.
    """

    def __init__(
        self, dump: Dump, reading: DumpDecoder, form: Form, count: Callable[[Any], None], passed: Callable[[int], None]
    ) -> None:
        self.dump: Dump = dump
        self.form, self.count, self.passed = form, count, passed
        self._part = partial(part_read, reading.options)
        self._decoder, self._seal = reading.decoder(), reading.seal
        self._quick = form.writer(self._decoder, dump.file, sealed=reading.sealed)
        self._number = self._frames = self._size = 0  # the last two: frames and characters that are not yet yielded
        self._lines: list[str] = []

    def __iter__(self) -> Iterator[str]:
        """Yield lines with their newlines, all lines of a batch of the capture together."""
        assert self.dump.captured is not None
        for batch in with_progress(self.dump.captured, self._part, weight=count_frames, wanted=not sys.stdout.isatty()):
            try:
                yield from self._written(batch)
            except KeyboardInterrupt:
                yield self._taken()
                raise

    def _written(self, batch: CapturedBatch) -> Iterator[str]:
        """Yield the lines of a batch, many in one string."""
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
