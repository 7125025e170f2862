"""Writes the JSON lines of a capture in several processes: each writes those of byte ranges (`--jobs`)."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from ...capture.dump import Dump
from ...capture.files import printable_name
from ...capture.frame_extractor import FrameExtractor
from ...capture.ranges.capture_ranges import CaptureRange, open_range
from ...query.frame_context import FrameContext
from ..filters.frame_filter import query_for
from ..input.dump_decoder import DumpDecoder
from ..input.topic_names import shared_summary
from ..options.specs import catalog_of
from .capture_lines import CaptureLines
from .chosen_items import ChosenItems
from .item_text import AsJson, Item
from .range_jobs import run_jobs


def lines_in_jobs(dump: Dump, lines: CaptureLines, options: argparse.Namespace) -> Iterator[str]:
    """Yield the JSON lines of a capture, in order.

    Args:
        dump: the capture.
        lines: finds the states of the ranges, and receives the counts of the items.
        options: the options of the command.
    """
    for result in run_jobs(dump, lines, options, write_range):
        lines.chosen.add_counts(result.value)
        yield result.path.read_bytes().decode("utf-8", "surrogatepass")


def write_range(options: argparse.Namespace, part: CaptureRange, file: BinaryIO) -> Counter[str]:
    """Write the JSON lines of a range to a file; return their counts."""
    catalog, context, counts = catalog_of(options), FrameContext(shared_summary(options)), Counter[str]()
    chosen = ChosenItems(query_for(options, catalog, context), counts, None, _is_any)
    reading = DumpDecoder(options, salvage=not options.strict)
    form = AsJson(context.summary)
    lines = CaptureLines(Dump("", iter(()), file=printable_name(part.path)), reading, form, chosen)
    with open_range(part, FrameExtractor(printable_name(part.path), catalog), lines) as batches:
        for text in lines.lines_of(batches):
            file.write(text.encode("utf-8", "surrogatepass"))
    return counts


def _is_any(item: Item) -> bool:
    return True
