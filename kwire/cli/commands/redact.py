"""`kwire redact`: replaces payloads, secrets and names in dumps; the size of every frame stays the same."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TextIO

from msgspec.structs import replace

from ...capture.open_dump import read_dump
from ...errors import suggestion
from ...protocol import FrameDecoder
from ...redact.address_rewriter import AddressRewriter
from ...redact.redaction_rules import KEPT, REASONS
from ...redact.redactor import UNREAD, Redactor, reading_of
from ...render.table import table
from ...render.value_text import count_text
from ..input.dumps import dumps_in
from ..input.fraction_read import part_read
from ..options.inputs import add_keylog
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
  kwire redact dump.pcap -o shareable.pcap --addresses
  kwire redact --list                   what is removed and why, what is kept

OUT keeps the input's form: captures stay captures, raw frames stay raw frames,
whatever OUT is called. OUT is read again: exit code 1 if frames read otherwise.
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
    add_keylog(parser)
    parser.add_argument("--keep", default="", metavar="KINDS", help="data to keep, separated by commas; see --list")
    parser.add_argument(
        "--addresses",
        action="store_true",
        help="rewrite IP addresses and ports, in packets and messages",
    )
    parser.add_argument("--list", action="store_true", help="list the kinds of data that are removed, and what is kept")
    add_profile(parser)


def run(options: argparse.Namespace) -> int:
    """Write the redacted frames, and print what was removed and why. Returns 1 if the copy is read otherwise."""
    if options.list:
        return _list()
    if not options.files or not options.output:
        raise UsageError("redact takes FILE and -o OUT; --list shows what is removed")
    keep = _kinds(options.keep)
    if options.addresses and "host" in keep:
        raise UsageError("--addresses rewrites the hosts that --keep host keeps: choose one of them")
    addresses = AddressRewriter() if options.addresses else None
    redactor = Redactor(keep, catalog_of(options), addresses)
    with output_bytes(options.output, options.files) as stream:
        output = FrameOutput(stream, raw=options.raw)
        frames = chain.from_iterable(map(timed_frames, dumps_in(options)))
        for frame, nanoseconds in with_progress(frames, partial(part_read, options)):
            redacted = redactor.redact(frame)
            if addresses is not None:
                frame = replace(frame, source=addresses.source(frame.source))
            output.write(frame, redacted, nanoseconds)
        output.finish()
    _print_counts(redactor, sys.stderr if options.output == "-" else sys.stdout)
    kept = f"; kept: {', '.join(sorted(keep))}" if keep else ""
    remark(f"{count_text(output.count, 'frame')}, {count_text(redactor.counts.total(), 'value')} removed{kept}")
    return _compare_readings(options, redactor.readings, output)


def _list() -> int:
    for line in table(["kind", "why it is removed"], [list(row) for row in REASONS.items()]):
        print(line)
    print(f"\n{KEPT}", end="")
    return 0


def _print_counts(redactor: Redactor, stream: TextIO) -> None:
    rows = [[kind, str(redactor.counts[kind]), REASONS[kind]] for kind in REASONS if redactor.counts[kind]]
    for line in table(["kind", "values", "why"], rows) if rows else ():
        print(line, file=stream)


def _compare_readings(options: argparse.Namespace, before: Counter[str], output: FrameOutput) -> int:
    """Read the copy again, and say which frames are read otherwise. Returns 1 if there are any."""
    if not Path(options.output).is_file() or output.is_ambiguous:
        return 0  # a pipe, or raw frames whose responses no longer have a request, see the remark
    decoder = FrameDecoder(catalog_of(options))
    after = Counter(reading_of(decoder.decode(frame)) for frame in read_dump(options.output))
    names = (before | after).keys() - {UNREAD}  # a remark counts what is left out
    differences = {name: (before[name], after[name]) for name in names if before[name] != after[name]}
    for name, (count_before, count_after) in sorted(differences.items()):
        remark(f"{options.output} is read otherwise than the input: {name}: {count_before} before, {count_after} now")
    return 1 if differences else 0


def _kinds(text: str) -> set[str]:
    kinds = {word.strip() for word in text.split(",") if word.strip()}
    unknown = sorted(kinds - set(REASONS))
    if unknown:
        hint = suggestion(unknown[0], REASONS) or f"write some of {', '.join(REASONS)}"
        raise UsageError(f"--keep {', '.join(unknown)}: {hint}")
    return kinds
