"""`kwire report`: what is in dumps, as one HTML file."""

from __future__ import annotations

import argparse
from typing import Any

from ..analysis.report_page import report_html
from ..analysis.report_tally import CapturedTally, Tally
from .inputs import Reading, dumps_in, masker, title_of
from .options import add_command, add_inputs
from .output import output_text, refuse_input
from .terminal import with_progress


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "report",
        about,
        "  kwire report dump.bin -o report.html\n  kwire report - < dump.bin > report.html\n",
        report,
    )
    add_inputs(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="output file; default: standard output")


def report(options: argparse.Namespace) -> int:
    """Count all frames, then write the page. Returns 1 if a frame did not decode."""
    if options.output:
        refuse_input(options.output, options.files, recursive=options.recursive)  # before all is read
    tally, reading = Tally(masker(options)), Reading(options, sealed=False)
    for dump in dumps_in(options, tally.remarks):
        if dump.captured is not None and reading.named is None:
            captured = CapturedTally(tally, reading.decoder(), dump.file)
            for batch in with_progress(dump.captured, weight=len):
                captured.add(batch)
        else:
            for result in with_progress(reading.results(dump)):
                tally.add(result)
    with output_text(options.output, options.files, recursive=options.recursive) as write:
        for piece in report_html(title_of(options), tally):
            write(piece)
    return 1 if tally.problems else 0
