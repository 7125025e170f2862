"""`kwire decode`: prints frames and records as lines, trees, chosen fields or JSON."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

from ...query.display_filter import parse_path
from ...query.frame_context import FrameContext
from ...query.query import Query
from ...schema.catalog import Catalog
from ..filters.frame_filter import add_filters, query_for
from ..filters.kafka_frames import KafkaFrames
from ..input.files import labels_of
from ..input.follow import is_live
from ..input.merged_inputs import groups_in, read_groups
from ..input.topic_names import look_ahead_in
from ..options.inputs import add_inputs
from ..options.jobs import add_jobs
from ..options.output import add_colour
from ..options.registry import add_registry, count_undecoded, deserializer_of
from ..options.specs import catalog_of
from ..options.usage_error import UsageError
from ..output.chosen_fields import FORMATS, AsFields
from ..output.chosen_items import ChosenItems
from ..output.dump_lines import DumpLines
from ..output.greatest_items import Greatest
from ..output.item_counts import print_counts
from ..output.item_text import AsArray, AsCount, AsJson, AsText, AsTrees, Form, Item, Print
from ..terminal.pager import Paged, paged
from ..terminal.terminal_style import style_for

EXAMPLES = """\
  kwire decode dump.bin                     one line per frame
  kwire decode dump.bin -v --api Metadata   trees, of one api
  kwire decode - --jsonl < dump.bin         JSON lines, for jq
  kwire decode dump.pcap --request 12       frame 12 and its response
  kwire decode *.pcap --parquet tables      for polars, DuckDB, Spark
  kwire decode --hex '00000010 0012 0000 0000002a 00056b77697265 00'
  kwire decode reply.bin --guess            what could it be?

Each line: frame number, time (UTC), -> to the broker or <- from the broker,
api:version, #correlation id, size, latency, !errors, client id, topics. 302ms
@61: a response 302 ms after its request, which is frame 61. Several captures
or request logs are merged by time; lines begin with the name of the file.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_inputs(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON array, indented")
    form.add_argument("--jsonl", action="store_true", help="one JSON object per line and frame, streamed")
    parser.add_argument("--strict", action="store_true", help="treat what Kafka tolerates as errors")
    form.add_argument("-v", "--verbose", action="store_true", help="trees with all fields; the default for one frame")
    form.add_argument("--parquet", metavar="DIR", help="write a table, one row per frame: DIR/frames.parquet")
    form.add_argument("--guess", action="store_true", help="list every message and version that a frame could be")
    form.add_argument("--fields", metavar="A,B", help="chosen fields, one line each: frame,api,latency")
    form.add_argument("--count", action="store_true", help="print only the number of frames")
    about = "format of --fields: tsv (default), csv, jsonl, table"
    parser.add_argument("--format", metavar="FORM", choices=FORMATS, default="tsv", help=about)
    parser.add_argument(
        "--request", metavar="N", type=_number, help="show frame N with its request or response (alias: --frame)"
    )
    parser.add_argument("--frame", dest="request", metavar="N", type=_number, help=argparse.SUPPRESS)
    about = "with --jsonl, requests name their response's frame"
    parser.add_argument("--response-frames", action="store_true", help=about)
    parser.add_argument("--first", metavar="N", type=_positive, help="stop after N frames")
    parser.add_argument("--sort", metavar="FIELD", help="greatest values first; 10 frames unless --first")
    add_registry(parser)
    parser.add_argument("--follow", action="store_true", help="keep reading as FILE or a folder of captures grows")
    add_filters(parser)
    add_jobs(parser, "with --jsonl and --parquet: decode in N processes")
    parser.add_argument("--no-pager", action="store_true", help="do not page long output")
    add_colour(parser)


def run(options: argparse.Namespace) -> int:
    """Print all frames as they are read.

    Returns:
        1 if something complete did not decode: a frame, a batch of a log, or damaged bytes of a dump. Incomplete data
        (gaps, truncated frames, streams that began before the capture) and streams of other protocols (ZooKeeper, TLS)
        are counted separately.
    """
    if options.request is not None and (options.guess or options.parquet):
        raise UsageError("--request shows one frame and its response: it cannot be combined with --guess and --parquet")
    _check_jobs(options)
    if options.registry is not None and (options.guess or options.count):
        raise UsageError("--registry decodes keys and values: it cannot be combined with --guess and --count")
    if options.guess:
        from ..output.guesses import guess

        return guess(options)
    if options.parquet:
        from ..output.parquet import parquet

        return parquet(options)
    counts = Counter[str]()
    try:
        _show(options, counts)
    except KeyboardInterrupt:
        print_counts(options, counts, interrupted=True)
        raise
    print_counts(options, counts)
    return 1 if count_undecoded(options) + counts["failures"] else 0


def _check_jobs(options: argparse.Namespace) -> None:
    if options.jobs == 1:
        return
    if not (options.jsonl or options.parquet):
        raise UsageError(f"--jobs {options.jobs} is for --jsonl and --parquet: other forms are written by one process")
    others = {"where": "--where", "first": "--first", "sort": "--sort", "request": "--request", "follow": "--follow"}
    others |= {"response_frames": "--response-frames", "keylog": "--keylog", "registry": "--registry"}
    given = [word for name, word in others.items() if getattr(options, name) not in (None, False)]
    if given and options.jsonl:
        raise UsageError(f"--jobs {options.jobs} cannot be combined with {given[0]}, which one process must read")


def _show(options: argparse.Namespace, counts: Counter[str]) -> None:
    catalog, context = catalog_of(options), FrameContext()
    query = query_for(options, catalog, context)
    is_json = options.json or options.jsonl
    wanted = KafkaFrames(foreign=options.conn is not None)
    limit = options.first if options.sort is None else None
    chosen = ChosenItems(query, counts, limit, _is_any if is_json else wanted)
    form = _form(options, query, catalog)
    with paged(not options.no_pager and not is_live(options)) as pager:
        write = _printer(pager)
        for text in filter(None, _lines(options, form, chosen)):
            write(text)


def _is_any(item: Item) -> bool:
    return True


def _form(options: argparse.Namespace, query: Query, catalog: Catalog) -> Form:
    """Return the format of the output."""
    form = _plain_form(options, query, catalog)
    if options.sort is None:
        return form
    if options.follow or options.request is not None:
        raise UsageError("--sort needs all frames: it cannot be combined with --follow and --request")
    return Greatest(form, parse_path(options.sort, catalog), options.first, query)


def _plain_form(options: argparse.Namespace, query: Query, catalog: Catalog) -> Form:
    values = deserializer_of(options)
    if options.json:
        return AsArray(query.context.summary, values)
    if options.jsonl:
        return AsJson(query.context.summary, values)
    if options.fields is not None:
        return AsFields(options.fields, options.format, catalog, query)
    if options.count:
        return AsCount()
    style = style_for(sys.stdout, options.color)
    labels = labels_of(options)
    if options.verbose or options.request is not None:
        return AsTrees(style, query.context.summary, labels, values)
    if not sys.stdout.isatty():  # whose width lines cannot exceed
        style = style._replace(width=style.width + max(map(len, labels.values()), default=0))
    return AsText(query.context.summary, style, live=is_live(options), labels=labels)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: write the number of a frame, as --fields frame shows it")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: write a number of frames, 1 or more")
    return int(text)


def _lines(options: argparse.Namespace, form: Form, chosen: ChosenItems) -> Iterator[str]:
    """Yield all chosen items as text, one or more at once."""
    look_ahead_in(options, chosen.query.context.summary)
    lines = DumpLines(options, form, chosen)
    groups = groups_in(options, logs=True)
    is_merged = options.jobs == 1 and options.request is None  # other processes write whole captures
    for text in read_groups(groups, lines.all_of, lines.batches if is_merged else None):
        yield text
        if chosen.is_done:
            break
    yield form.end()


def _printer(pager: Paged | None) -> Print:
    """Return a function that prints one message and flushes it, so that the reader of a pipe sees it; or passes it to
    the pager.
    """
    if pager is not None:
        return pager.write
    return lambda text: print(text, end="", flush=True)
