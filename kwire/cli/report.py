"""`kwire report`: what is in dumps, as one HTML file."""

from __future__ import annotations

import argparse

from ..reports.page import report_html
from ..reports.tally import Tally
from .inputs import results, title_of
from .output import output_text, refuse_input


def report(options: argparse.Namespace) -> int:
    """Count all frames, then write the page. Returns 1 if a frame did not decode."""
    if options.output:
        refuse_input(options.output, options.files, recursive=options.recursive)  # before all is read
    tally = Tally()
    for result in results(options, remarks=tally.remarks):
        tally.add(result)
    with output_text(options.output, options.files, recursive=options.recursive) as write:
        for piece in report_html(title_of(options), tally):
            write(piece)
    return 1 if tally.problems else 0
