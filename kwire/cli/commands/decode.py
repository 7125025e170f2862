"""`kwire decode`: prints frames and records as lines, trees, chosen fields or JSON."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from heapq import nlargest
from itertools import islice

from ...capture.dump import Dump
from ...capture.logs.disk_entry import DiskEntry
from ...capture.logs.log_batch import LogBatch, LogBytes, LogRecord
from ...protocol import Result
from ...protocol.message_summary import MessageSummary
from ...protocol.response_frames import with_response_frames
from ...query.display_filter import names_property, parse_path
from ...render.colours import Style
from ...render.escaping import json_text
from ...render.frame_tree import tree
from ...render.json_objects.frame_json import envelope
from ...render.json_objects.record_json import record_envelope
from ...render.record_tree import RecordTree
from ...schema.catalog import Catalog, catalog_for
from ..filters.frame_filter import add_filters, filter_for, pushed_filter
from ..filters.kafka_frames import KafkaFrames, omit_other_streams
from ..filters.log_filter import LogFilter
from ..input.dump_decoder import DumpDecoder, PushedFilter
from ..input.dumps import dumps_in
from ..input.fraction_read import part_read
from ..input.log_entries import open_batches
from ..options.inputs import add_inputs, add_keylog
from ..options.output import add_colour
from ..options.specs import catalog_of
from ..options.usage_error import UsageError
from ..output.capture_lines import CaptureLines
from ..output.chosen_fields import FORMATS, write_fields
from ..output.guesses import guess
from ..output.item_counts import count_item, count_items, print_counts
from ..output.item_text import ENTRY, AsJson, AsText, Form, Item, Print
from ..output.parquet import parquet
from ..terminal.pager import Paged, paged
from ..terminal.progress import with_progress
from ..terminal.terminal_style import style_for

MOST_SORTED = 10  # frames that --sort prints without --first
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
@61: a response 302 ms after its request, which is frame 61.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_inputs(parser)
    add_keylog(parser)
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
        "--request", metavar="N", type=_number, help="show frame N and its response or request (or --frame)"
    )
    parser.add_argument("--frame", dest="request", metavar="N", type=_number, help=argparse.SUPPRESS)
    about = "with --jsonl, requests name their response's frame"
    parser.add_argument("--response-frames", action="store_true", help=about)
    parser.add_argument("--first", metavar="N", type=_positive, help="stop after N frames")
    parser.add_argument("--sort", metavar="FIELD", help="greatest values first; 10 frames unless --first")
    parser.add_argument("--follow", action="store_true", help="keep reading as FILE or a folder of captures grows")
    add_filters(parser)
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
    if options.guess:
        return guess(options)
    if options.parquet:
        return parquet(options)
    counts = Counter[str]()
    try:
        _show(options, counts)
    except KeyboardInterrupt:
        print_counts(options, counts, interrupted=True)
        raise
    print_counts(options, counts)
    return 1 if counts["failures"] else 0


def _show(options: argparse.Namespace, counts: Counter[str]) -> None:
    summary = MessageSummary()
    is_direct = are_for(options)
    shown = None if is_direct else _chosen(options, summary, counts)
    with paged(not options.no_pager and not is_live(options)) as pager:
        write = _printer(pager)
        if shown is not None:
            _print_chosen(shown, options, summary, write)
            return
        form = (
            AsJson() if options.jsonl else AsText(summary, style_for(sys.stdout, options.color), wanted=KafkaFrames())
        )
        for text in filter(None, _lines(options, form, counts)):
            write(text)


def _chosen(options: argparse.Namespace, summary: MessageSummary, counts: Counter[str]) -> Iterator[Item]:
    """Yield the items that pass the filters, and count them."""
    catalog = catalog_of(options)
    wanted, of_log = filter_for(options, catalog, summary), LogFilter(options)
    names_responses = options.response_frames or names_property("response_frame", options.where, options.fields)
    pushed = None if names_responses else pushed_filter(options, catalog)
    salvage = not options.strict
    items = _read(options, salvage, pushed)
    decoded = count_items(open_batches(items, salvage=salvage, sealed=not options.show_secrets), counts)
    decoded = with_progress(decoded, partial(part_read, options), wanted=not sys.stdout.isatty())
    decoded = with_response_frames(decoded) if names_responses else decoded
    shown = _shown(decoded, lambda item: of_log(item) if isinstance(item, ENTRY) else wanted(item), counts)
    if not (options.json or options.jsonl):
        shown = omit_other_streams(shown, foreign=options.conn is not None)
    if options.sort is not None:
        shown = _greatest(shown, options, catalog)
    return _count_skipped(islice(_count_shown(shown, counts), options.first), pushed, counts)


def _greatest(shown: Iterator[Item], options: argparse.Namespace, catalog: Catalog) -> Iterator[Item]:
    """Yield the frames with the greatest values of a field, the greatest first; omit frames without a value."""
    if options.follow or options.request is not None:
        raise UsageError("--sort needs all frames: it cannot be combined with --follow and --request")
    path = parse_path(options.sort, catalog)

    def with_keys() -> Iterator[tuple[float, int, Item]]:
        for number, item in enumerate(shown):
            if isinstance(item, ENTRY):
                continue
            values = [value for value in path.values(item) if isinstance(value, int | float)]
            if values:
                yield max(values), -number, item

    greatest = nlargest(options.first or MOST_SORTED, with_keys(), key=lambda entry: entry[:2])
    yield from (item for _, _, item in greatest)


def _count_skipped(shown: Iterator[Item], pushed: PushedFilter | None, counts: Counter[str]) -> Iterator[Item]:
    """Yield all items, then add the frames that were not decoded to the counts."""
    yield from shown
    if pushed is not None:
        counts.update(frames=pushed.skipped, hidden=pushed.skipped)


def _print_chosen(shown: Iterator[Item], options: argparse.Namespace, summary: MessageSummary, write: Print) -> None:
    if options.json:
        _array(shown, write)
    elif options.fields is not None:
        write_fields(shown, options.fields, options.format, catalog_of(options), write)
    elif options.count:
        write(f"{sum(1 for _ in shown)}\n")
    elif options.jsonl:
        as_json = AsJson()
        for item in shown:
            write(as_json.text(item))
    else:
        _text(shown, options, summary, write)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: write the number of a frame, as --fields frame shows it")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: write a number of frames, 1 or more")
    return int(text)


def _lines(options: argparse.Namespace, form: Form, counts: Counter[str]) -> Iterator[str]:
    """Yield all items as lines, one or more at once."""
    reading = DumpDecoder(options, salvage=not options.strict)

    def count_frames(frames: int) -> None:
        counts["frames"] += frames

    for dump in dumps_in(options, logs=True):
        if is_quick(dump, reading):
            yield from CaptureLines(dump, reading, form, lambda item: count_item(item, counts), count_frames)
            continue
        decoded: Iterator[Item] = open_batches(
            reading.with_disk(dump), salvage=reading.salvage, sealed=not options.show_secrets
        )
        yield from map(
            form.text,
            with_progress(count_items(decoded, counts), partial(part_read, options), wanted=not sys.stdout.isatty()),
        )
    yield form.end()


def _read(
    options: argparse.Namespace, salvage: bool, pushed: PushedFilter | None
) -> Iterator[Result | LogBatch | LogBytes | DiskEntry]:
    reading = DumpDecoder(options, salvage=salvage, pushed=pushed)
    for dump in dumps_in(options, logs=True):
        yield from reading.with_disk(dump) if options.request is None else reading.exchange(dump, options.request)


def _shown(decoded: Iterator[Item], wanted: Callable[[Item], bool], counts: Counter[str]) -> Iterator[Item]:
    for item in decoded:
        if wanted(item):
            yield item
        else:
            counts["hidden"] += isinstance(item, LogRecord | DiskEntry) or not isinstance(item, ENTRY)


def _count_shown(shown: Iterator[Item], counts: Counter[str]) -> Iterator[Item]:
    for item in shown:
        counts["shown"] += isinstance(item, LogRecord | DiskEntry) or not isinstance(item, ENTRY)
        yield item


def _array(decoded: Iterator[Item], write: Print) -> None:
    separator = "[\n"
    for item in decoded:
        write(separator + json_text(record_envelope(item) if isinstance(item, ENTRY) else envelope(item)))
        separator = ",\n"
    write("\n]\n" if separator != "[\n" else "[]\n")


def _text(decoded: Iterator[Item], options: argparse.Namespace, summary: MessageSummary, write: Print) -> None:
    """Write trees if the options ask for them, else lines; for standard input, write each line as it arrives."""
    style = style_for(sys.stdout, options.color)
    if options.verbose or options.request is not None:
        _trees(decoded, style, write)
        return
    form = AsText(summary, style, live=is_live(options))
    for item in decoded:
        write(form.text(item))
    write(form.end())


def _trees(decoded: Iterator[Item], style: Style, write: Print) -> None:
    records = RecordTree(style)
    for index, item in enumerate(decoded):
        lines = list(records.lines(item) if isinstance(item, ENTRY) else tree(item, style))
        gap = "\n" * (index > 0 and not lines[0].startswith("  "))
        write(gap + "\n".join(lines) + "\n")


def _printer(pager: Paged | None) -> Print:
    """Return a function that prints one message and flushes it, so that the reader of a pipe sees it; or passes it to
    the pager.
    """
    if pager is not None:
        return pager.write
    return lambda text: print(text, end="", flush=True)


def are_for(options: argparse.Namespace) -> bool:
    """Return whether the options require lines of all frames, each decoded by its header."""
    chosen = (
        options.response_frames
        or options.sort
        or options.api
        or options.conn
        or options.errors
        or options.named
        or options.body
    )
    bounded = any(value is not None for value in (options.client, options.since, options.until, options.where))
    bounded |= options.response_frames or options.sort is not None
    bounded |= options.first is not None or options.request is not None or options.fields is not None or options.count
    as_text = not (options.json or options.verbose or is_live(options))
    return bool((options.jsonl or as_text) and not chosen and not bounded)


def is_live(options: argparse.Namespace) -> bool:
    """Whether frames are shown as they arrive: from standard input, or with --follow."""
    return options.follow or "-" in options.files


def is_quick(dump: Dump, reading: DumpDecoder) -> bool:
    """Whether a dump is a capture to be read with the specs of Kafka's releases."""
    return dump.captured is not None and reading.catalog is catalog_for()
