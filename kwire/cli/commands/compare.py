"""`kwire compare`: what is different in the traffic of two captures, and whether it is worse."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from ...errors import DumpError
from ...render.statistics.comparison_table import comparison_table
from ...render.value_text import count_text
from ...statistics.comparison import (
    Difference,
    Limits,
    TrafficProfile,
    compare_profiles,
    new_traffic,
    profile_of,
)
from ..input.dumps import dumps_in
from ..input.fraction_read import part_read
from ..options.inputs import add_keylog
from ..options.output import add_colour
from ..options.specs import add_profile
from ..options.usage_error import UsageError
from ..output.json_answer import add_json, print_json
from ..terminal.progress import with_progress
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for

EXAMPLES = """\
  kwire compare old.pcap new.pcap    clients, versions, topics, errors, times
  kwire compare old.pcap new.pcap --errors 0 --latency 20    exit 1 if worse
  kwire compare old.pcap new.pcap --json
"""
_DEFAULTS = Limits()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("before", metavar="A", help="the capture (or other dump) before")
    parser.add_argument("after", metavar="B", help="the one after")
    parser.add_argument(
        "--errors",
        type=float,
        default=_DEFAULTS.errors,
        metavar="POINTS",
        help="percentage points by which the share of an error may rise; default: 1",
    )
    parser.add_argument(
        "--latency",
        type=float,
        default=_DEFAULTS.latency,
        metavar="PERCENT",
        help="percent by which p50 and p99 of an api may rise, without asked waits; default: 50",
    )
    parser.add_argument(
        "--least",
        type=int,
        default=_DEFAULTS.least,
        metavar="N",
        help="responses of an api that both need to compare latencies; default: 20",
    )
    add_json(parser)
    add_keylog(parser)
    add_profile(parser)
    add_colour(parser)


def run(options: argparse.Namespace) -> int:
    """Print the differences. Returns 1 if one of them is worse than the options allow."""
    for name in ("errors", "latency", "least"):
        if not getattr(options, name) >= 0:
            raise UsageError(f"--{name} {getattr(options, name)}: write a number, 0 or more")
    before, after = (_profile(options, file) for file in (options.before, options.after))
    limits = Limits(options.errors, options.latency, options.least)
    differences = list(compare_profiles(before, after, limits))
    worse = sum(difference.is_worse for difference in differences)
    _show(differences, options)
    summary = "no difference" if not differences else count_text(len(differences), "difference")
    remark(f"{summary}, {worse} worse than allowed" if differences else summary)
    return 1 if worse else 0


def _profile(options: argparse.Namespace, file: str) -> TrafficProfile:
    inputs = argparse.Namespace(**{**vars(options), "files": [file], "hex": None, "recursive": False})
    traffic, slowness = new_traffic()
    for dump in dumps_in(inputs):
        for frame in with_progress(dump.frames, partial(part_read, inputs)):
            traffic.add(frame)
    profile = profile_of(traffic, slowness)
    if not profile.clients:
        raise DumpError("no request in it, so that there is nothing to compare", file=file)
    return profile


def _show(differences: list[Difference], options: argparse.Namespace) -> None:
    table = comparison_table(differences)
    members = {"kwire": 1, "before": options.before, "after": options.after}
    if print_json(options, lambda: {**members, "differences": table.objects()}):
        return
    if differences:
        print("\n".join(table.lines(style_for(sys.stdout, options.color))))
