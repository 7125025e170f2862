"""`kwire stats`: counts frames by client, api and more; finds clients that an upgrade would break."""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from ...capture.tcp.connection_share import ALL, ConnectionShare
from ...errors import KwireError, suggestion
from ...protocol.frames.captured_frame import count_frames
from ...render.statistics.count_table import count_table, traffic_json
from ...render.statistics.latency_table import latency_table, slowest_table
from ...render.statistics.unanswered_table import unanswered_table
from ...render.statistics.unsupported_uses_text import unsupported_uses_lines
from ...render.table import TableView
from ...render.unread_counts import unread_text
from ...render.value_text import count_text
from ...statistics.latencies import Latencies
from ...statistics.traffic import COLUMNS, Counted, Traffic
from ...statistics.unanswered_requests import UnansweredRequests
from ...statistics.unsupported_uses import unsupported_uses
from ..input.dumps import dumps_in
from ..input.fraction_read import part_read
from ..input.non_kafka_streams import NonKafkaStreams
from ..options.inputs import add_files
from ..options.jobs import add_jobs
from ..options.output import add_colour
from ..options.releases import named_release
from ..options.specs import add_profile, catalog_of
from ..options.usage_error import UsageError
from ..output.json_answer import add_json, print_json
from ..terminal.progress import with_progress
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for
from ..worker_processes import WorkerProcesses, parts_for

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_Packed = tuple[Counted, tuple[dict[str, int], dict[str, int], dict[str, str]]]


EXAMPLES = """\
  kwire stats dump.bin                      by api and version
  kwire stats dump.bin --by client,topic    who uses which topic
  kwire stats dump.bin --removed-in 4.0     who breaks after an upgrade?
  kwire stats dump.bin --by client,api,error --json
  kwire stats dump.bin --latency --by client,api    percentiles
  kwire stats dump.bin --per 1s --by api    what happened each second
  kwire stats dump.bin --slow 20            the slowest requests
  kwire stats dump.bin --unanswered         requests without a response
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_files(parser)
    parser.add_argument(
        "--by",
        metavar="COLUMNS",
        help="some of client,api,version,ip,broker,topic,software,error; default: api,version (with --latency: api)",
    )
    parser.add_argument("--per", metavar="TIME", help="count per span of time: 1s, 500ms, 1m, 1h; --by adds columns")
    parser.add_argument(
        "--removed-in",
        metavar="RELEASE",
        help="list clients that use apis or versions that this release does not support; exit 1 if there are any",
    )
    parser.add_argument("--follow", action="store_true", help="keep counting as FILE grows, until Ctrl-C")
    parser.add_argument("--latency", action="store_true", help="exact percentiles of the time to the response")
    parser.add_argument(
        "--slow",
        nargs="?",
        const="",
        metavar="N",
        help="list the N slowest requests, 10 by default, beyond the wait that a Fetch or JoinGroup asked for",
    )
    parser.add_argument(
        "--long-polls",
        action="store_true",
        help="with --slow: rank by the whole latency, with waits that were asked for",
    )
    parser.add_argument(
        "--unanswered", action="store_true", help="list requests without a response, with the reason if it is known"
    )
    parser.add_argument("--errors", action="store_true", help="add a column of error counts (slower)")
    add_jobs(parser, "count one capture in N processes; default: more than one from 256 MB on", default=None)
    forms = parser.add_mutually_exclusive_group()
    add_json(parser, forms)
    forms.add_argument("--csv", action="store_true", help="print the table as CSV")
    add_profile(parser)
    add_colour(parser)


def run(options: argparse.Namespace) -> int:
    """Print the table, or the clients that an upgrade breaks. Returns 1 if there are any."""
    _read_slow(options)
    if options.unanswered:
        return _list_unanswered(options)
    new = named_release(options.removed_in).name if options.removed_in else None
    tally = DumpCounts(options)
    traffic = tally.traffic
    is_whole = traffic.deep or traffic.latencies is not None  # frames are numbered through the file
    is_file = not (options.recursive or options.follow or options.hex is not None)
    parts = _count_parts(options) if is_file and not is_whole else 1
    with WorkerProcesses(parts, lambda part: _count_share(options, ConnectionShare(part, parts))) as helpers:
        try:
            tally.count(ConnectionShare(0, parts), helpers)
        except KeyboardInterrupt:
            helpers.interrupt()
            tally.add(helpers)
            _show(tally.traffic, options, new)
            raise
    broken = _show(tally.traffic, options, new)
    return 1 if broken else 0


def _count_parts(options: argparse.Namespace) -> int:
    """Return the number of processes that count."""
    return parts_for(options.files) if options.jobs is None else parts_for(options.files, options.jobs)


def _read_slow(options: argparse.Namespace) -> None:
    """Parse the number of --slow; a value that is not a number is a file, as in `kwire stats --slow dump.pcap`."""
    text = options.slow
    if text and not text.isdecimal():
        options.files, text = [text, *options.files], ""
    options.slow = None if text is None else int(text[:19] or 10)  # 19 digits: more than frames can be
    if options.slow == 0:
        raise UsageError("--slow 0: write a number of requests, 1 or more")
    if options.long_polls and options.slow is None:
        raise UsageError("--long-polls is about --slow: add --slow")
    if options.per and (options.removed_in or options.unanswered):
        raise UsageError("--per counts frames: it cannot be combined with --removed-in and --unanswered")
    if options.removed_in and (options.latency or options.slow):
        raise UsageError("--removed-in is about versions: it cannot be combined with --latency and --slow")
    if options.csv and (options.removed_in or (options.latency and options.slow)):
        raise UsageError("--csv prints one table: of counts, of --latency, of --slow or of --unanswered")


def _list_unanswered(options: argparse.Namespace) -> int:
    """Print the requests that have no response, file by file. On Ctrl-C, prints the requests found so far."""
    given = [name for name in ("by", "removed_in", "latency", "slow", "errors") if getattr(options, name)]
    if given:
        raise UsageError(f"--unanswered lists requests: it cannot be combined with --{given[0].replace('_', '-')}")
    tallies: dict[str, UnansweredRequests] = {}
    part = partial(part_read, options)
    try:
        for dump in dumps_in(options):
            requests = tallies[dump.file] = UnansweredRequests(catalog_of(options))
            if dump.captured is None:
                for frame in with_progress(dump.frames, part):
                    requests.add(frame)
                continue
            for batch in with_progress(dump.captured, part, weight=count_frames):
                for captured in batch:
                    requests.add_captured(captured)
    except KeyboardInterrupt:
        _show_unanswered(tallies, options)
        raise
    _show_unanswered(tallies, options)
    return 0


def _show_unanswered(tallies: dict[str, UnansweredRequests], options: argparse.Namespace) -> None:
    """Print the requests of all files, and the number of each kind."""
    table = unanswered_table(tallies)
    if not print_json(options, lambda: {"kwire": 1, "unanswered": table.objects()}):
        lines = table.lines(style_for(sys.stdout, options.color))
        print(table.csv() if options.csv else "\n".join(lines) + "\n", end="")
    requests = sum(tally.requests for tally in tallies.values())
    none = sum(tally.expect_none for tally in tallies.values())
    count = sum(tally.count for tally in tallies.values())
    listed = f", {len(table.rows)} listed" if len(table.rows) < count else ""
    silent = f"; {none} with acks=0 expect none" if none else ""
    remark(f"{count_text(requests, 'request')}, {count} without a response{listed}{silent}")


def _count_share(options: argparse.Namespace, share: ConnectionShare) -> bytes:
    """Count a share for another process; ignore errors, since that process encounters them as well."""
    tally = DumpCounts(options)
    with suppress(KeyboardInterrupt, KwireError, OSError):
        tally.count(share)
    return tally.packed()


class DumpCounts:
    """Counts of all dumps, or of a share of the connections of one dump, and the streams of other protocols.

    Args:
        options: the options, which select what is counted and name the dumps.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        per = _seconds_in(options.per)
        default = "api" if options.latency else "api,version"
        by = [] if per is not None and not options.by else _columns(options.by or default)
        latencies = (
            Latencies(options.slow or 0, long_polls=options.long_polls) if options.latency or options.slow else None
        )
        self.traffic: Traffic = Traffic(
            by,
            errors=options.errors,
            catalog=catalog_of(options),
            latencies=latencies,
            per=per,
            keeps_users=bool(options.removed_in),
        )
        if "topic" in by:
            from ..input.topic_names import look_ahead_in  # which other columns do not need

            look_ahead_in(options, self.traffic.summary)
        self.non_kafka: NonKafkaStreams = NonKafkaStreams()

    def count(self, share: ConnectionShare, helpers: WorkerProcesses | None = None) -> None:
        """Count a share, then add the counts of the helpers."""
        non_kafka = None if share == ALL else self.non_kafka
        part = partial(part_read, self.options)
        for dump in dumps_in(self.options, share=share, non_kafka=non_kafka):
            self.traffic.begin(dump.file)
            if dump.captured is not None and not self.traffic.deep:
                for batch in with_progress(dump.captured, part, weight=lambda batch: count_frames(batch) * share.parts):
                    self.traffic.add_batch(batch)
            elif not share.part:
                for frame in with_progress(dump.frames, part):
                    self.traffic.add(frame)
            if helpers is not None:
                self.add(helpers)

    def add(self, helpers: WorkerProcesses) -> None:
        """Add the counts of the helpers."""
        for packed in helpers.results():
            counted, non_kafka = msgspec.msgpack.decode(packed, type=_Packed, dec_hook=lambda kind, value: kind(value))
            self.traffic.add_counted(counted)
            self.non_kafka.add(*non_kafka)

    def packed(self) -> bytes:
        """Return the counts, serialised for `add`."""
        non_kafka = self.non_kafka
        return msgspec.msgpack.encode((self.traffic.counted, (non_kafka.counts, non_kafka.bytes, non_kafka.hints)))


def _seconds_in(text: str | None) -> float | None:
    """Return the span of --per in seconds; None without it."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,9})(ms|s|m|h)", text.strip(), re.ASCII)
    if match is None or not int(match[1]):
        raise UsageError(f"--per {text}: write a span of time, such as 1s, 500ms, 1m or 1h")
    return int(match[1]) * UNITS[match[2]]


def _columns(text: str) -> list[str]:
    columns = [word.strip().casefold() for word in text.split(",") if word.strip()]
    unknown = [word for word in columns if word not in COLUMNS]
    if unknown or not columns:
        hint = "".join(f"; {suggestion(word, COLUMNS)}" for word in unknown[:1] if suggestion(word, COLUMNS))
        raise UsageError(f"--by {text}: write some of {', '.join(COLUMNS)}, separated by commas{hint}")
    return columns


def _show(traffic: Traffic, options: argparse.Namespace, new: str | None) -> bool:
    """Print the counts; return whether any client breaks."""
    uses = unsupported_uses(traffic, new) if new else []
    breaks = any(use.breaks for use in uses)
    if print_json(options, lambda: traffic_json(traffic, uses, new)):
        return breaks
    if options.csv:
        print(_tables(traffic, options)[0].csv(), end="")
        return breaks
    style = style_for(sys.stdout, options.color)
    if new:
        first, *others = unsupported_uses_lines(uses, new, traffic)
        print("\n".join([style.paint("bold", first), *others]))
    else:
        print("\n\n".join("\n".join(table.lines(style)) for table in _tables(traffic, options)))
    if options.errors and not new and traffic.latencies is None:
        for name, count in traffic.errors.most_common():
            print(f"  {count} x {name}")
    unread = f"; {unread_text(traffic.unread)}" if traffic.unread else ""
    headers = f"; of the frames cut short, {traffic.headers} counted by their headers" if traffic.headers else ""
    remark(f"{count_text(traffic.frames, 'frame')}, {count_text(traffic.bytes, 'byte')}{unread}{headers}")
    return breaks


def _tables(traffic: Traffic, options: argparse.Namespace) -> list[TableView[Any]]:
    """Return the requested tables: latencies, the slowest requests, or counts."""
    tables: list[TableView[Any]] = []
    if options.latency:
        tables.append(latency_table(traffic))
    if options.slow:
        tables.append(slowest_table(traffic))
    return tables or [count_table(traffic, errors=options.errors)]
