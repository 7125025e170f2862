"""`kwire latency`: where the time of requests went, from captures, and exactly with the brokers' request logs."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from ...capture.dump import Dump
from ...capture.open_capture import open_packets
from ...capture.open_file import open_unpacked
from ...capture.packets.capture_formats import CAPTURES
from ...capture.tcp.connection_trouble import ConnectionTrouble, trouble_in
from ...errors import DumpError
from ...protocol.frames.captured_frame import count_frames
from ...render.statistics.time_spent_table import slowest_exchanges_table, time_spent_json, time_spent_table
from ...render.value_text import count_text
from ...statistics.time_spent import COLUMNS, TimeSpent
from ..input.dumps import dumps_in
from ..input.fraction_read import part_read
from ..options.inputs import add_files, title_of
from ..options.output import add_colour
from ..options.specs import add_profile, catalog_of
from ..options.usage_error import UsageError
from ..output.json_answer import add_json, print_json
from ..terminal.progress import with_progress
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for

EXAMPLES = """\
  kwire latency dump.pcap                  mean times by api, as captured
  kwire latency dump.pcap broker.log       with the times inside of the broker
  kwire latency broker.log --by client,api
  kwire latency dump.pcap --slow 5         where did these requests wait?
"""
MOST_SLOW = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_files(parser)
    parser.add_argument("--by", default="api", metavar="COLUMNS", help=f"some of {','.join(COLUMNS)}; default: api")
    parser.add_argument("--slow", type=int, default=0, metavar="N", help="also list the N slowest requests")
    add_json(parser)
    add_profile(parser)
    add_colour(parser)


def run(options: argparse.Namespace) -> int:
    """Print where the time went. Returns 0."""
    by = [word.strip() for word in options.by.split(",") if word.strip()]
    unknown = [word for word in by if word not in COLUMNS]
    if unknown or not by:
        raise UsageError(f"--by {options.by}: write some of {', '.join(COLUMNS)}, separated by commas")
    if not 0 <= options.slow <= MOST_SLOW:
        raise UsageError(f"--slow {options.slow}: write a number of requests, up to {MOST_SLOW}")
    spent = TimeSpent(by, catalog_of(options), options.slow)
    has_captures = _sort_files(options)
    part = partial(part_read, options)
    for dump in dumps_in(options):
        if dump.captured is None:
            spent.add_log(with_progress(dump.frames, part), is_alone=not has_captures)
            continue
        spent.begin(dump.file, _trouble(dump))
        for batch in with_progress(dump.captured, part, weight=count_frames):
            spent.add_batch(batch)
    _show(spent, options, has_captures=has_captures)
    return 0


def _sort_files(options: argparse.Namespace) -> bool:
    """Put logs before captures, whose requests are looked up in them; return whether there is a capture."""
    captures = [file for file in options.files if _is_capture(file)]
    options.files = [file for file in options.files if file not in captures] + captures
    return bool(captures) or options.recursive


def _is_capture(file: str) -> bool:
    if file == "-":
        return True
    try:
        with open_unpacked(file) as opened:
            return any(opened.head[:4] in magics for magics, _ in CAPTURES.values())
    except (DumpError, OSError):
        return False  # reading it reports why


def _trouble(dump: Dump) -> dict[tuple[str, str], ConnectionTrouble]:
    if dump.file in ("", "-"):
        return {}
    try:
        with open_packets(dump.file) as packets:
            return trouble_in(packets)
    except (DumpError, OSError):
        return {}


def _show(spent: TimeSpent, options: argparse.Namespace, *, has_captures: bool) -> None:
    if not spent.rows:
        hint = "it takes captures with requests and their responses, and request logs with times"
        raise DumpError("no request with a known latency", file=title_of(options), hint=hint)
    if print_json(options, lambda: time_spent_json(spent, slowest=options.slow > 0)):
        return
    style = style_for(sys.stdout, options.color)
    tables = [time_spent_table(spent)]
    print("\n".join(tables[0].lines(style)))
    if options.slow:
        print("\n" + "\n".join(slowest_exchanges_table(spent).lines(style)))
    requests = sum(sums.count for sums in spent.rows.values())
    joined = f"; {spent.joined} of them in the request logs" if spent.logged and has_captures else ""
    remark(f"{count_text(requests, 'request')}, means in milliseconds{joined}")
