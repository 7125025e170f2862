"""`kwire timeline`: what happened, in order of time: in the cluster, in groups, between clients and brokers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from ...cluster.activity.activity_event import SUBJECTS, ActivityEvent
from ...errors import DumpError
from ...render.cluster.activity_text import activity_json, activity_lines
from ...render.html.timeline_page import timeline_page
from ...render.value_text import count_text
from ..filters.time_span import TimeSpan
from ..options.inputs import add_inputs, title_of
from ..options.output import add_colour
from ..options.usage_error import UsageError
from ..output.json_answer import add_json, print_json
from ..output.output_files import output_text
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for
from ..timeline.read_activity import ActivityReader

EXAMPLES = """\
  kwire timeline dump.pcap                       everything, in order
  kwire timeline dump.pcap --about topic:orders  leaders, ISR, errors, commits
  kwire timeline dump.pcap --about group:app     joins, leaves, rebalances
  kwire timeline *.pcap broker.log --from 06:27:30 --to 06:28
  kwire timeline dump.pcap --kind leader,isr,offline,disk --json
  kwire timeline dump.pcap --html -o timeline.html
"""
KINDS = {
    "leader": "a partition has another leader, or none",
    "isr": "replicas leave or join the ISR",
    "offline": "a replica goes offline, or is online again",
    "replicas": "a partition has other replicas",
    "topic": "topics and partitions created and deleted",
    "broker": "a broker comes or goes",
    "disk": "log directories fail",
    "group": "members join and leave",
    "rebalance": "a new generation, with the reason",
    "assignment": "a member gets other partitions",
    "commit": "offsets committed",
    "transaction": "producers begin and end transactions",
    "error": "responses with error codes",
    "retry": "a client sends a failed request again",
    "throttle": "a quota delays a client",
    "connection": "opened, closed, reset, retransmissions, zero windows",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_inputs(parser)
    parser.add_argument(
        "--about",
        action="append",
        default=[],
        metavar="WHOM",
        help="only events about group:G, topic:T, client:C or broker:N; several: any of them",
    )
    parser.add_argument("--kind", metavar="KINDS", help=f"only events of these kinds: {', '.join(KINDS)}")
    parser.add_argument("--from", dest="since", metavar="TIME", help="events from this time or frame on")
    parser.add_argument("--to", dest="until", metavar="TIME", help="events up to this time or frame")
    add_json(parser)
    parser.add_argument("--html", action="store_true", help="write a self-contained HTML page")
    parser.add_argument("-o", "--output", metavar="FILE", help="output file of --html; default: standard output")
    add_colour(parser)


def run(options: argparse.Namespace) -> int:
    """Print the events. Returns 0."""
    wanted = _selection(options)
    if options.output and not options.html:
        raise UsageError("-o goes with --html; without it, use > FILE")
    events = ActivityReader().read_inputs(options)
    if not events:
        raise DumpError("nothing happened in it that a timeline shows", file=title_of(options))
    shown = [event for event in events if wanted(event)]
    if print_json(options, lambda: activity_json(shown)):
        return 0
    if options.html:
        with output_text(options.output, options.files, recursive=options.recursive) as write:
            for piece in timeline_page(title_of(options), shown):
                write(piece)
        return 0
    several = len({event.file for event in events} - {""}) > 1
    for line in activity_lines(shown, style_for(sys.stdout, options.color), files=several):
        print(line)
    remark(count_text(len(events), "event") + (f", {len(shown)} shown" if len(shown) < len(events) else ""))
    return 0


def _selection(options: argparse.Namespace) -> Callable[[ActivityEvent], bool]:
    """Return a function that tells whether the options select an event; raises UsageError for what they cannot mean."""
    about = {_subject(text) for text in options.about}
    kinds = {word.strip() for word in (options.kind or "").split(",") if word.strip()}
    unknown = sorted(kinds - KINDS.keys())
    if unknown:
        raise UsageError(f"--kind {unknown[0]}: write some of {', '.join(KINDS)}, separated by commas")
    span = TimeSpan(options.since, options.until)

    def is_selected(event: ActivityEvent) -> bool:
        in_span = span.covers(event.time, event.frame or 0)  # first: a span counts from the first event
        return in_span and (not kinds or event.kind in kinds) and (not about or bool(about & event.subjects))

    return is_selected


def _subject(text: str) -> str:
    kind, separator, name = text.partition(":")
    if kind not in SUBJECTS or not separator or not name:
        raise UsageError(f"--about {text}: write group:G, topic:T, client:C or broker:N")
    return text
