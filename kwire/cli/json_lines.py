"""All that dumps hold as JSON lines: what `decode --jsonl` prints when nothing chooses among it, captures quickly."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..dumps import Dump
from ..frames import Result
from ..frames.said import Batch
from ..render.envelope import json_line
from ..render.json_lines import JsonLines
from ..spec.catalog import catalog_for
from .inputs import Reading
from .terminal import with_progress

MOST_TEXT = 1 << 20  # characters that are printed at once


def are_for(options: argparse.Namespace) -> bool:
    """Whether the options ask for lines of all frames, each read as what it says it is."""
    chosen = options.api or options.conn or options.errors or options.named or options.body
    bounded = (options.client, options.since, options.until) != (None, None, None)
    return bool(options.jsonl and not chosen and not bounded)


def is_quick(dump: Dump, reading: Reading) -> bool:
    """Whether a dump is a capture, of what Kafka released."""
    return dump.said is not None and reading.catalog is catalog_for()


class Lines:
    """The lines of one capture.

    Args:
        dump: the capture.
        reading: how what is odd in it is decoded.
        count: notes what was decoded so.
        passed: gets the number of all other frames.
    """

    def __init__(
        self, dump: Dump, reading: Reading, count: Callable[[Any], None], passed: Callable[[int], None]
    ) -> None:
        self.dump: Dump = dump
        self.count, self.passed = count, passed
        self._decoder, self._seal = reading.decoder(), reading.seal
        self._quick = JsonLines(self._decoder, dump.file, sealed=reading.sealed)
        self._number = self._told = 0

    def __iter__(self) -> Iterator[str]:
        """Yield lines, with their newlines, as many together as the capture gives at once."""
        assert self.dump.said is not None
        for batch in with_progress(self.dump.said, weight=len, wanted=not sys.stdout.isatty()):
            lines: list[str] = []
            try:
                for _ in self._add(batch, lines):
                    yield self._taken(lines)
            except KeyboardInterrupt:
                yield self._taken(lines)
                raise
            yield self._taken(lines)

    def _add(self, batch: Batch, lines: list[str]) -> Iterator[None]:
        """Add lines; stop where they are many."""
        write, size = self._quick.line, 0
        for said in batch:
            if type(said) is not tuple:
                self._decoder.connections.forget(said)
                continue
            line = write(said, self._number)
            if not isinstance(line, str):
                line = self._carefully(line)
            self._number += 1
            lines.append(line)
            size += len(line)
            if size > MOST_TEXT:
                size = 0
                yield

    def _carefully(self, result: Result) -> str:
        result = self._seal(result)
        self.count(result)
        self._told += 1
        return json_line(result) + "\n"

    def _taken(self, lines: list[str]) -> str:
        text = "".join(lines)
        self.passed(len(lines) - self._told)
        self._told = 0
        lines.clear()
        return text
