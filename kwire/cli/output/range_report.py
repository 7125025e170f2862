"""Counts a capture for a report in several processes: each counts the frames of byte ranges (`--jobs`)."""

from __future__ import annotations

import argparse
from typing import BinaryIO

from ...capture.dump import Dump
from ...capture.files import printable_name
from ...capture.frame_extractor import FrameExtractor
from ...capture.ranges.capture_ranges import CaptureRange, open_range
from ...statistics.report_counts import CapturedReportCounts, ReportCounts
from ..input.dump_decoder import DumpDecoder
from ..options.secrets import masker
from ..options.specs import catalog_of
from .range_jobs import run_jobs


def count_in_jobs(dump: Dump, reading: DumpDecoder, options: argparse.Namespace, tally: ReportCounts) -> None:
    """Add the counts of a capture to a tally.

    Args:
        dump: the capture.
        reading: decodes frames on which the states of ranges depend.
        options: the options of the command.
        tally: receives the counts.
    """
    consumer = CapturedReportCounts(ReportCounts(), reading.decoder(), dump.file)
    for result in run_jobs(dump, consumer, options, count_range):
        tally.add_counts(result.value)


def count_range(options: argparse.Namespace, part: CaptureRange, file: BinaryIO) -> ReportCounts:
    """Return the counts of a range."""
    tally = ReportCounts(masker(options))
    captured = CapturedReportCounts(tally, DumpDecoder(options, sealed=False).decoder(), printable_name(part.path))
    with open_range(part, FrameExtractor(printable_name(part.path), catalog_of(options)), captured) as batches:
        for batch in batches:
            captured.add(batch)
    return tally
