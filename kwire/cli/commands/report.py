"""`kwire report`: counts the frames of dumps in one pass, and writes one HTML page without scripts."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from ...capture.dump import Dump
from ...capture.logs.frame_records import read_frame_records
from ...capture.logs.log_batch import LogRecord
from ...protocol import Result
from ...protocol.frames.captured_frame import count_frames
from ...protocol.message_summary import MessageSummary
from ...render.html.report_page import report_html
from ...render.value_text import count_text
from ...statistics.report_counts import CapturedReportCounts, ReportCounts, describe_position
from ..input.dump_decoder import DumpDecoder
from ..input.dumps import dumps_in
from ..input.fraction_read import part_read
from ..options.inputs import add_inputs, title_of
from ..options.jobs import add_jobs
from ..options.registry import add_registry, count_undecoded, deserializer_of
from ..options.secrets import masker
from ..options.usage_error import UsageError
from ..output.output_files import output_text, refuse_input
from ..terminal.progress import with_progress
from ..terminal.remarks import remark

if TYPE_CHECKING:
    from ...serdes import RecordDeserializer

EXAMPLES = """\
  kwire report dump.bin -o report.html
  kwire report - < dump.bin > report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_inputs(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="output file; default: standard output")
    add_registry(parser)
    add_jobs(parser, "count large captures in N processes")


def run(options: argparse.Namespace) -> int:
    """Count all frames, or those until Ctrl-C, and write the page. Returns 1 if a frame did not decode."""
    if options.output:
        refuse_input(options.output, options.files, recursive=options.recursive)  # before the input is read
    if options.registry is not None and options.jobs > 1:
        raise UsageError(f"--jobs {options.jobs} cannot be combined with --registry, which one process must ask")
    tally = ReportCounts(masker(options))
    try:
        _count(options, tally)
    except KeyboardInterrupt:
        tally.remarks.append(f"interrupted after {count_text(tally.frames, 'frame')}: what follows them was not read")
        remark(tally.remarks[-1])
        _write(options, tally)
        raise
    _write(options, tally)
    return 1 if count_undecoded(options) or tally.problems else 0


def _count(options: argparse.Namespace, tally: ReportCounts) -> None:
    reading, part = DumpDecoder(options, sealed=False), partial(part_read, options)
    values, summary = deserializer_of(options), MessageSummary()
    for dump in dumps_in(options, tally.remarks):
        if options.jobs > 1 and reading.named is None and _count_in_jobs(dump, reading, options, tally):
            continue
        if dump.captured is not None and reading.named is None and values is None:
            captured = CapturedReportCounts(tally, reading.decoder(), dump.file)
            for batch in with_progress(dump.captured, part, weight=count_frames):
                captured.add(batch)
        else:
            for result in with_progress(reading.results(dump), part):
                tally.add(result)
                if values is not None:
                    _count_values(result, values, summary, tally)


def _count_values(result: Result, values: RecordDeserializer, summary: MessageSummary, tally: ReportCounts) -> None:
    """Count the keys and values of the records in a frame, by schema."""
    for topic, _, entry in read_frame_records(result, values, summary):
        if isinstance(entry, LogRecord):
            position = f"{describe_position(result)}, offset {entry.record.offset}"
            tally.schemas.add(topic, "key", entry.key_by_schema, position)
            tally.schemas.add(topic, "value", entry.value_by_schema, position)


def _count_in_jobs(dump: Dump, reading: DumpDecoder, options: argparse.Namespace, tally: ReportCounts) -> bool:
    """Count a dump in several processes; return False if one process must count it."""
    from ..output.range_jobs import is_worth_dividing
    from ..output.range_report import count_in_jobs

    if not is_worth_dividing(dump, options.jobs):
        return False
    count_in_jobs(dump, reading, options, tally)
    return True


def _write(options: argparse.Namespace, tally: ReportCounts) -> None:
    with output_text(options.output, options.files, recursive=options.recursive) as write:
        for piece in report_html(title_of(options), tally):
            write(piece)
