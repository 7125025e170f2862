"""`kwire redact`: replaces payloads, secrets and names in dumps; the size of every frame stays the same."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from itertools import chain

from ...errors import suggestion
from ...redact.redaction_rules import KEPT, REASONS
from ...redact.redactor import Redactor
from ...render.table import table
from ...render.value_text import count_text
from ..input.dumps import dumps_in
from ..input.fraction_read import part_read
from ..options.output import add_raw
from ..options.specs import add_profile, catalog_of
from ..options.usage_error import UsageError
from ..output.frame_output import FrameOutput, timed_frames
from ..output.output_files import output_bytes
from ..terminal.progress import with_progress
from ..terminal.remarks import remark

EXAMPLES = """\
  kwire redact dump.pcap -o shareable.pcap
  kwire redact dump.pcap -o shareable.pcap --keep topic,client
  kwire redact --list                   what is removed and why, what is kept

The redacted copy of a capture is a capture with the same connections, and that
of raw frames is raw frames, regardless of the name of OUT.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="a dump; - is standard input")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="output file; written as a capture if the input has connections, else as raw frames",
    )
    add_raw(parser)
    parser.add_argument("--keep", default="", metavar="KINDS", help="data to keep, separated by commas; see --list")
    parser.add_argument("--list", action="store_true", help="list the kinds of data that are removed, and what is kept")
    add_profile(parser)


def run(options: argparse.Namespace) -> int:
    """Write the redacted frames, and print what was removed and why."""
    if options.list:
        for line in table(["kind", "why it is removed"], [list(row) for row in REASONS.items()]):
            print(line)
        print(f"\n{KEPT}", end="")
        return 0
    if not options.files or not options.output:
        raise UsageError("redact takes FILE and -o OUT; --list shows what is removed")
    keep = _kinds(options.keep)
    redactor = Redactor(keep, catalog_of(options))
    with output_bytes(options.output, options.files) as stream:
        output = FrameOutput(stream, raw=options.raw)
        frames = chain.from_iterable(map(timed_frames, dumps_in(options)))
        for frame, nanoseconds in with_progress(frames, partial(part_read, options)):
            output.write(frame, redactor.redact(frame), nanoseconds)
        output.finish()
    rows = [[kind, str(redactor.counts[kind]), REASONS[kind]] for kind in REASONS if redactor.counts[kind]]
    if rows:
        for line in table(["kind", "values", "why"], rows):
            print(line, file=sys.stderr if options.output == "-" else sys.stdout)
    kept = f"; kept: {', '.join(sorted(keep))}" if keep else ""
    remark(f"{count_text(output.count, 'frame')}, {count_text(redactor.counts.total(), 'value')} removed{kept}")
    return 0


def _kinds(text: str) -> set[str]:
    kinds = {word.strip() for word in text.split(",") if word.strip()}
    unknown = sorted(kinds - set(REASONS))
    if unknown:
        hint = suggestion(unknown[0], REASONS) or f"write some of {', '.join(REASONS)}"
        raise UsageError(f"--keep {', '.join(unknown)}: {hint}")
    return kinds
