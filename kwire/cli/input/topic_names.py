"""The names of topic ids of an input: read from the whole input, before and after the frame that is shown."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import lru_cache

from ...capture.dump import Dump
from ...capture.files import local_path
from ...capture.open_dump import open_dump
from ...codecs.message_codec import codec_in
from ...errors import DumpError
from ...protocol import FrameDecoder, Request, Response, Result
from ...protocol.header_reader import Peek
from ...protocol.message_summary import MessageSummary, carries_metadata_log, names_topic_ids
from ...query.captured_query import CapturedQuery
from ...query.frame_context import FrameContext
from ...query.query import NOTHING, Query
from ...render.captured.selected_frames import SelectedFrames
from ...schema.catalog import Catalog
from ..options.specs import catalog_of
from .files import files_of


def look_ahead_in(options: argparse.Namespace, summary: MessageSummary) -> None:
    """Let a summary read on in all inputs when a topic id is unknown; a pipe or a growing file is read only once."""
    if getattr(options, "follow", False) or getattr(options, "keylog", None) is not None:
        return
    files = tuple(options.files), getattr(options, "recursive", False)
    summary.look_ahead = LookAhead(_learn_all(*files, catalog_of(options), summary), summary)


def shared_summary(options: argparse.Namespace) -> MessageSummary:
    """Return the summary for all ranges that this process reads of a capture: see `range_jobs.run_jobs`.

    With one of its own, each range in which a topic id has no name would read ahead in the whole input.
    """
    files = tuple(options.files), getattr(options, "recursive", False)
    return _make_summary(options.run_id, *files, catalog_of(options))


@lru_cache(maxsize=1)
def _make_summary(run_id: str, files: tuple[str, ...], recursive: bool, catalog: Catalog) -> MessageSummary:
    summary = MessageSummary()
    summary.look_ahead = LookAhead(_learn_all(files, recursive, catalog, summary), summary)
    return summary


class LookAhead:
    """Reads ahead until a topic id has a name: a name often follows soon, and then most of the input is read once.

    Args:
        steps: learns from the input, step by step.
        summary: stores the names.
    """

    def __init__(self, steps: Iterator[None], summary: MessageSummary) -> None:
        self._steps = steps
        self._summary = summary

    def __call__(self, topic_id: bytes) -> None:
        """Read ahead until a topic id has a name, or to the end."""
        self._summary.look_ahead = None  # other unknown ids among what is read are no reason to read ahead
        for _ in self._steps:
            if topic_id in self._summary.names_by_id:
                self._summary.look_ahead = self
                return


def _learn_all(files: tuple[str, ...], recursive: bool, catalog: Catalog, summary: MessageSummary) -> Iterator[None]:
    """Read all files of a command that can be read twice: one often names the topics of another."""
    for file, _ in files_of(list(files), recursive):
        path = local_path(file) if file != "-" else None
        if path is not None and path.is_file():
            yield from _learn(file, catalog, summary)


def _learn(file: str, catalog: Catalog, summary: MessageSummary) -> Iterator[None]:
    """Read the messages of a file that have names of topics beside their ids; up to the first damage."""

    def learn(result: Result) -> str:
        if isinstance(result, Request | Response):
            summary.facts(result.codec, result.message)
        return ""

    try:
        with open_dump(file, catalog=catalog) as dump:
            if dump.captured is None:
                yield from _learn_frames(dump, catalog, learn)
                return
            selection = CapturedQuery(Query(NOTHING, None, FrameContext(summary)), file, sealed=False)
            selection.counts = selection.shows_topics = True
            writer = SelectedFrames(FrameDecoder(catalog), file, sealed=False, selection=selection)
            number = 0
            for batch in dump.captured:
                for _, frames in writer.written(batch, number, learn):
                    number += frames
                yield
    except (DumpError, OSError):
        return  # reading the frames themselves reports it


def _learn_frames(dump: Dump, catalog: Catalog, learn: Callable[[Result], object]) -> Iterator[None]:
    decoder = FrameDecoder(catalog)

    def names_topics(peek: Peek) -> bool:
        spec = catalog.find(peek.api_key, "request" if peek.is_request else "response", peek.version)
        codec = None if spec is None else codec_in(catalog, spec.name, peek.version)
        return codec is not None and (names_topic_ids(codec) or carries_metadata_log(codec))

    for frame in dump.frames:
        result = decoder.decode_wanted(frame, names_topics)
        if result is not None:
            learn(result)
            yield
