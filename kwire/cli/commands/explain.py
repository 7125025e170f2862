"""`kwire explain`: annotated hexdumps and HTML pages, and golden fixtures in the same form."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

from ...capture.hex_text.golden_fixture import check_writer, parse_fixture
from ...capture.logs.batch_spans import ExplainedBytes, explain_batch
from ...capture.logs.log_batch import LogBatch, LogBytes
from ...capture.logs.mask_logs import mask_explained
from ...capture.open_file import read_text
from ...codecs.tracing import Span
from ...errors import DumpError
from ...protocol import Result, Token, Undecodable
from ...protocol.message_summary import MessageSummary
from ...render.annotated_hex import frame_lines
from ...render.colours import Style
from ...render.escaping import escape
from ...render.fixture import fixture_text, rewrite_fixture
from ...render.html.explain_page import WIDEST, explain_page
from ...render.nested_fields import frame_record_lines
from ...render.record_lines import RecordLines
from ...render.record_text import batch_text
from ...render.value_text import count_text
from ...schema.sensitive_fields import Hidden
from ..filters.kafka_frames import omit_other_streams
from ..input.dump_decoder import items, results
from ..input.log_entries import open_batches
from ..input.topic_names import look_ahead_in
from ..options.inputs import add_inputs, title_of
from ..options.output import add_colour
from ..options.registry import add_registry, count_undecoded, deserializer_of
from ..options.secrets import masker
from ..options.usage_error import UsageError
from ..output.explained_frame import print_comments, print_result
from ..output.output_files import output_text
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for

T = TypeVar("T")
MOST_ON_PAGE = 10_000  # frames; a browser opens this many without delay


EXAMPLES = """\
  kwire explain dump.bin
  kwire explain --html -o page.html dump.pcap    a list, fields and bytes
  kwire explain --fixture --writer "Apache Kafka 3.9.2" dump.bin > fixture.hex
  kwire explain --fixture --in-place fixture.hex
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_inputs(parser)
    parser.add_argument("--no-types", action="store_true", help="omit the wire types")
    parser.add_argument("--html", action="store_true", help="write a self-contained HTML page")
    parser.add_argument("-o", "--output", metavar="FILE", help="output file of --html; default: standard output")
    parser.add_argument("--fixture", action="store_true", help="write a golden fixture (of the only frame)")
    parser.add_argument("--writer", metavar="WHO", help="for --fixture: the program that wrote the bytes; not kwire")
    parser.add_argument("--in-place", action="store_true", help="for --fixture: update annotations of fixture files")
    add_registry(parser)
    add_colour(parser)


def run(options: argparse.Namespace) -> int:
    """Print every byte of every frame with its field. Returns 1 if a frame, a key or a value did not decode."""
    if options.registry is not None and (options.fixture or options.in_place):
        raise UsageError("--registry shows what keys and values say: it cannot be combined with --fixture")
    if options.output and not options.html:
        raise UsageError("-o goes with --html; without it, use > FILE")
    if options.html:
        return _html(options)
    if options.in_place:
        return _in_place(options)
    return _fixture(options) if options.fixture else _text(options)


def _text(options: argparse.Namespace) -> int:
    style = style_for(sys.stdout, options.color)
    records = _RecordsBySchema(options, style)
    failed = 0
    for index, result in enumerate(_remark_if_empty(omit_other_streams(items(options, trace=True)))):
        if index:
            print()
        if isinstance(result, LogBatch | LogBytes):
            failed |= _print_batch(result, style, types=not options.no_types, sealed=not options.show_secrets)
            print_comments(records.of_batch(result))
            continue
        print_result(result, style, types=not options.no_types, records=records.of_frame(result))
        failed |= isinstance(result, Undecodable) and result.is_failure
    return failed or int(count_undecoded(options) > 0)


class _RecordsBySchema:
    """Writes the records of frames and of batches as `kwire decode` does, if --registry is given."""

    def __init__(self, options: argparse.Namespace, style: Style) -> None:
        self._options = options
        self._style = Style(width=style.width - 2)  # the lines are comments
        self._values = deserializer_of(options)
        self._summary = MessageSummary()
        if self._values is not None:
            look_ahead_in(options, self._summary)

    def of_frame(self, result: Result) -> Iterator[str]:
        if self._values is not None:
            yield from frame_record_lines(result, self._style, self._values, self._summary)

    def of_batch(self, item: LogBatch | LogBytes) -> Iterator[str]:
        if self._values is None or isinstance(item, LogBytes):
            return
        options, lines = self._options, RecordLines(self._style)
        sealed = not options.show_secrets
        for entry in open_batches(iter([item]), sealed=sealed, values=self._values, topic=options.log_of):
            yield from lines.lines(entry)


def _remark_if_empty(shown: Iterator[T]) -> Iterator[T]:
    """Yield all items; remark if there are none."""
    is_empty = True
    for item in shown:
        is_empty = False
        yield item
    if is_empty:
        remark("0 frames")


def _print_batch(item: LogBatch | LogBytes, style: Style, *, types: bool, sealed: bool) -> bool:
    """Print a batch of a log with its decompressed records, or bytes outside batches; return whether there was an
    error.
    """
    if isinstance(item, LogBytes):
        for line in RecordLines(style).lines(item):
            print(line)
        parts = [_not_understood(item)] if item.error is not None else []
    else:
        print(style.paint("title", escape(batch_text(item.header))))
        explained = filter(None, explain_batch(item))
        parts = [mask_explained(part, item) if sealed else part for part in explained]
    for index, part in enumerate(parts):
        if index:
            print(style.paint("title", f"# the {count_text(len(part.data), 'byte')} that its records decompress to"))
        for line in frame_lines(part.data, part.spans, style, types=types):
            print(line)
    sys.stdout.flush()
    return isinstance(item, LogBytes) and item.error is not None


def _not_understood(item: LogBytes) -> ExplainedBytes:
    data = bytes(item.count) if isinstance(item.data, Hidden) else item.data
    faults = () if item.error is None else (item.error,)
    return ExplainedBytes(data, (Span(0, item.count, "", "not understood", item.data, faults),))


def _html(options: argparse.Namespace) -> int:
    """Write the frames to one HTML page as they are read."""
    if options.fixture or options.in_place:
        raise UsageError("--html and --fixture cannot be combined")
    failed: list[bool] = []
    records = _RecordsBySchema(options, Style(width=WIDEST))
    decoded = note_failures(omit_other_streams(results(options, trace=True)), failed)
    with output_text(options.output, options.files, recursive=options.recursive) as write:
        for piece in explain_page(title_of(options), islice(decoded, MOST_ON_PAGE), records.of_frame):
            write(piece)
    if len(failed) == MOST_ON_PAGE and next(decoded, None) is not None:
        remark(f"the page has the first {MOST_ON_PAGE:,} frames; kwire slice selects others, kwire browse shows all")
    return int(any(failed) or count_undecoded(options) > 0)


def note_failures(decoded: Iterable[Result], failed: list[bool]) -> Iterator[Result]:
    """Yield results unchanged, and record whether each of them failed."""
    for result in decoded:
        failed.append(isinstance(result, Undecodable) and result.is_failure)
        yield result


def _fixture(options: argparse.Namespace) -> int:
    """Print the only frame of the input as a fixture; if the input is a fixture, keep its header."""
    if len(options.files) != 1:
        raise UsageError("--fixture takes one file")
    text = _text_of(options.files[0])
    if text is None:
        check_writer(options.writer or "", options.files[0])
    decoded = list(results(options, trace=True, sealed=False))
    if len(decoded) != 1:
        raise UsageError(f"--fixture takes one frame, {options.files[0]} has {len(decoded)}")
    safe = masker(options)(decoded[0])
    if isinstance(safe, Undecodable):
        raise safe.error
    if safe is not decoded[0] or isinstance(safe, Token):
        raise UsageError("a fixture shows every byte, and this frame holds a secret: add --show-secrets")
    made = rewrite_fixture(text, options.files[0]) if text else fixture_text(safe, options.writer, options.profile)
    print(made, end="")
    return 0


def _in_place(options: argparse.Namespace) -> int:
    for file in options.files:
        text = read_text(file, "--in-place annotates fixtures anew; kwire explain FILE shows what other files hold")
        if parse_fixture(text, file) is None:
            raise DumpError("this is not a fixture", file=file, hint="--in-place rewrites annotations of fixtures only")
        with output_text(file) as write:
            write(rewrite_fixture(text, file))
    return 0


def _text_of(file: str) -> str | None:
    """Return the text of a file if it is a fixture, else None."""
    if file == "-":
        return None
    text = Path(file).read_bytes().decode("utf-8", "replace")
    return text if parse_fixture(text, file) is not None else None
