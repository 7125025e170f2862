"""`kwire slice`: writes selected frames of a capture to a new capture, each with its request or response."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile

from ...protocol import Frame, FrameDecoder, Result
from ...protocol.headers.header import Header
from ...query.available_paths import check_available
from ...query.display_filter import names_property
from ...redact.masking import mask
from ...render.value_text import count_text
from ..filters.frame_filter import add_filters, query_for
from ..input.dumps import dumps_in
from ..input.fraction_read import part_read
from ..options.inputs import add_files
from ..options.output import add_raw
from ..options.specs import add_profile, catalog_of
from ..options.usage_error import UsageError
from ..output.frame_output import FrameOutput, timed_frames
from ..output.output_files import output_bytes
from ..terminal.progress import with_progress
from ..terminal.remarks import remark

MOST_WRITTEN = 1 << 16  # written requests, without a response so far, that are remembered
HELD = 1 << 26  # bytes of frames that wait for a response
Timed = tuple[Frame, int | None]  # with nanoseconds since 1970


EXAMPLES = """\
  kwire slice big.pcap --where 'latency > 1s' -w slow.pcap
  kwire slice big.pcap --api Fetch --client 'app-*' -w fetches.pcap

Requests bring their responses and responses their requests. Addresses, ports
and times stay.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_files(parser)
    parser.add_argument("-w", "--write", metavar="OUT", help="output file: a pcap if the input has connections")
    add_raw(parser)
    add_filters(parser)
    add_profile(parser)


def run(options: argparse.Namespace) -> int:
    """Write the chosen frames; returns 1 if none was chosen."""
    if not options.write:
        raise UsageError("slice takes FILE and -w OUT, and filters such as --where 'latency > 1s'")
    if names_property("response_frame", options.where):
        raise UsageError("response_frame: slice does not support it; requests are written with their responses anyway")
    catalog = catalog_of(options)
    query = query_for(options, catalog)
    check_available(query.paths, catalog, of_records=False)
    wanted = query.matches
    with output_bytes(options.write, options.files, recursive=options.recursive) as stream:
        output = FrameOutput(stream, raw=options.raw)
        for dump in dumps_in(options):
            frames = with_progress(timed_frames(dump), partial(part_read, options))
            for frame, nanoseconds in Slice(FrameDecoder(catalog), wanted).chosen(frames):
                output.write(frame, None, nanoseconds)
        output.finish()
    remark(f"{count_text(output.count, 'frame')} written, with the requests and responses of selected frames")
    return int(output.count == 0)


class Waiting:
    """A frame that cannot be written yet, because a response may still select it or an earlier request."""

    __slots__ = ("header", "is_chosen", "timed")

    def __init__(self, timed: Timed, header: Header, is_chosen: bool | None) -> None:
        self.timed: Timed = timed
        self.header: Header = header
        self.is_chosen: bool | None = is_chosen  # None while only the response can decide


class Slice:
    """Chooses frames and their requests or responses; keeps the order within a connection.

    Args:
        decoder: decodes the frames.
        wanted: whether a result is chosen.
    """

    def __init__(self, decoder: FrameDecoder, wanted: Callable[[Result], bool]) -> None:
        self.decoder: FrameDecoder = decoder
        self.wanted: Callable[[Result], bool] = wanted
        self._waiting: dict[object, deque[Waiting]] = {}
        self._written: dict[int, Header] = {}  # requests whose responses are not yet seen, by identity
        self._bytes = 0

    def chosen(self, frames: Iterator[Timed]) -> Iterator[Timed]:
        """Yield the chosen frames and their requests or responses.

        Args:
            frames: the frames with their times in nanoseconds since 1970; None if unknown.
        """
        for timed_frame in frames:
            frame = timed_frame[0]
            connection, header = self.decoder.connections.receive(frame)
            result = self.decoder.result(frame, connection, header)
            is_wanted = self.wanted(mask(result))  # masked, so that filters cannot reveal secrets
            queue = self._waiting.setdefault(connection, deque())
            self._add(queue, Waiting(timed_frame, header, is_wanted or (None if header.is_request else False)))
            yield from self._ready(queue)
            if self._bytes > HELD:
                yield from self._rest()
        yield from self._rest()

    def _add(self, queue: deque[Waiting], new: Waiting) -> None:
        """Add a frame; a response decides whether to write its request and the earlier requests that it overtook."""
        request = new.header.request
        request_frame = None
        if request is not None:
            request_frame = next((waiting for waiting in queue if waiting.header is request), None)
        if request_frame is not None:
            for waiting in takewhile(lambda waiting: waiting is not request_frame, queue):
                waiting.is_chosen = bool(waiting.is_chosen)
            new.is_chosen = request_frame.is_chosen = bool(new.is_chosen or request_frame.is_chosen)
        elif self._written.pop(id(request), None) is not None:
            new.is_chosen = True
        queue.append(new)
        self._bytes += len(new.timed[0].data)

    def _ready(self, queue: deque[Waiting]) -> Iterator[Timed]:
        while queue and queue[0].is_chosen is not None:
            first = queue.popleft()
            self._bytes -= len(first.timed[0].data)
            if first.is_chosen:
                if first.header.is_request:
                    self._note(first.header)
                yield first.timed

    def _note(self, request: Header) -> None:
        """Remember a request that is written before its response arrives."""
        self._written[id(request)] = request
        if len(self._written) > MOST_WRITTEN:
            del self._written[next(iter(self._written))]

    def _rest(self) -> Iterator[Timed]:
        """Yield the remaining frames that are chosen, without waiting for more responses."""
        for queue in self._waiting.values():
            for waiting in queue:
                waiting.is_chosen = bool(waiting.is_chosen)
            yield from self._ready(queue)
        self._waiting.clear()
