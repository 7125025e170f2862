"""`kwire report`: what is in dumps, as one HTML file."""

from __future__ import annotations

import argparse

from ..reports.page import report_html
from ..reports.tally import Tally
from .inputs import results
from .terminal import output_text


def report(options: argparse.Namespace) -> int:
    """Count all frames, then write the page. Returns 1 if a frame did not decode."""
    tally = Tally()
    for result in results(options):
        tally.add(result)
    with output_text(options.output) as write:
        for piece in report_html(", ".join(options.files), tally):
            write(piece)
    return 1 if tally.problems else 0
