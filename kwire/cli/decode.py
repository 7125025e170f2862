"""`kwire decode`: prints frames and records as lines, trees, fields, JSON or Parquet; with --guess, what each frame
could be.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from heapq import nlargest
from itertools import chain, groupby, islice
from typing import Any, Protocol, TypeVar

import msgspec

from ..capture.dump import Dump
from ..capture.logs.disk_entry import DiskEntry
from ..capture.logs.log_batch import LogBatch, LogBytes, LogRecord
from ..codecs import need_libraries
from ..codecs.json import uuid_text
from ..display_filter import FieldPath, names_property, parse_path
from ..protocol import FrameDecoder, Result, Token, Undecodable
from ..protocol.framing import CapturedBatch, CutShort, NoFrame, NotKafka, count_frames
from ..protocol.identify import Guess, guesses
from ..protocol.results import MessageSummary, with_response_frames
from ..render.json_objects import envelope, json_line, record_envelope, record_json_line
from ..render.line import MOST_TEXT, CapturedLines, FrameLines, JsonLines, unread_text
from ..render.record_text import RecordLines
from ..render.style import Style, escape, json_text, table
from ..render.tree import RecordTree, title, tree
from ..render.value_text import count_text
from ..schema.sensitive_fields import HIDDEN, Hidden
from ..spec.catalog import Catalog, catalog_for
from ..spec.model import Versions
from .filters import Entry, LogFilter, Ours, add_filters, entries, filter_for, is_bad, is_faulty, ours, pushed_filter
from .inputs_and_output import PushedFilter, Reading, catalog_of, dumps_in, masker, part_read, results
from .options import UsageError, add_colour, add_command, add_inputs, add_keylog
from .terminal import Paged, paged, remark, style_for, with_progress

Print = Callable[[str], None]
MOST_SORTED = 10  # frames that --sort prints without --first
# Options that choose frames or how to read them. They do not apply to Parquet, whose readers select rows themselves.
OTHERS = ("client", "conn", "errors", "since", "until", "named", "body", "log_of", "schemas", "hex", "strict")
_ESCAPED = {ord("\\"): "\\\\", ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
FORMATS = ("tsv", "csv", "jsonl", "table")


EXAMPLES = (
    "  kwire decode dump.bin                     one line per frame\n"
    "  kwire decode dump.bin -v --api Metadata   trees, of one api\n"
    "  kwire decode - --jsonl < dump.bin         JSON lines, for jq\n"
    "  kwire decode dump.pcap --request 12       frame 12 and its response\n"
    "  kwire decode *.pcap --parquet tables      for polars, DuckDB, Spark\n"
    "  kwire decode --hex '00000010 0012 0000 0000002a 00056b77697265 00'\n"
    "  kwire decode reply.bin --guess            what could it be?\n"
    "\nEach line: frame number, time (UTC), -> to the broker or <- from the broker,\n"
    "api:version, #correlation id, size, latency, !errors, client id, topics. 302ms\n"
    "@61: a response 302 ms after its request, which is frame 61.\n"
)


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "decode",
        about,
        EXAMPLES,
        decode,
    )
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


def decode(options: argparse.Namespace) -> int:
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
        _summary(options, counts, interrupted=True)
        raise
    _summary(options, counts)
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
        form = AsJson() if options.jsonl else AsText(summary, style_for(sys.stdout, options.color), wanted=Ours())
        for text in filter(None, _lines(options, form, counts)):
            write(text)


def _chosen(options: argparse.Namespace, summary: MessageSummary, counts: Counter[str]) -> Iterator[Item]:
    """Yield the items that pass the filters, and count them."""
    catalog = catalog_of(options)
    wanted, of_log = filter_for(options, catalog, summary), LogFilter(options)
    names_responses = options.response_frames or names_property("response_frame", options.where, options.fields)
    pushed = None if names_responses else pushed_filter(options, catalog)
    salvage = not options.strict
    found = _read(options, salvage, pushed)
    decoded = _counted(entries(found, salvage=salvage, sealed=not options.show_secrets), counts)
    decoded = with_progress(decoded, partial(part_read, options), wanted=not sys.stdout.isatty())
    decoded = with_response_frames(decoded) if names_responses else decoded
    shown = _shown(decoded, lambda item: of_log(item) if isinstance(item, ENTRY) else wanted(item), counts)
    if not (options.json or options.jsonl):
        shown = ours(shown, foreign=options.conn is not None)
    if options.sort is not None:
        shown = _greatest(shown, options, catalog)
    return _with_skipped(islice(_printed(shown, counts), options.first), pushed, counts)


def _greatest(shown: Iterator[Item], options: argparse.Namespace, catalog: Catalog) -> Iterator[Item]:
    """Yield the frames with the greatest values of a field, the greatest first; omit frames without a value."""
    if options.follow or options.request is not None:
        raise UsageError("--sort needs all frames: it cannot be combined with --follow and --request")
    path = parse_path(options.sort, catalog)

    def keyed() -> Iterator[tuple[float, int, Item]]:
        for number, item in enumerate(shown):
            values = (
                [] if isinstance(item, ENTRY) else [one for one in path.values(item) if isinstance(one, int | float)]
            )
            if values:
                yield max(values), -number, item

    greatest = nlargest(options.first or MOST_SORTED, keyed(), key=lambda one: one[:2])
    yield from (item for _, _, item in greatest)


def _with_skipped(shown: Iterator[Item], pushed: PushedFilter | None, counts: Counter[str]) -> Iterator[Item]:
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
    reading = Reading(options, salvage=not options.strict)

    def passed(frames: int) -> None:
        counts["frames"] += frames

    for dump in dumps_in(options, logs=True):
        if is_quick(dump, reading):
            yield from Lines(dump, reading, form, lambda item: _count(item, counts), passed)
            continue
        decoded: Iterator[Item] = entries(
            reading.with_disk(dump), salvage=reading.salvage, sealed=not options.show_secrets
        )
        yield from map(
            form.text,
            with_progress(_counted(decoded, counts), partial(part_read, options), wanted=not sys.stdout.isatty()),
        )
    yield form.end()


def _read(
    options: argparse.Namespace, salvage: bool, pushed: PushedFilter | None
) -> Iterator[Result | LogBatch | LogBytes | DiskEntry]:
    reading = Reading(options, salvage=salvage, pushed=pushed)
    for dump in dumps_in(options, logs=True):
        yield from reading.with_disk(dump) if options.request is None else reading.exchange(dump, options.request)


def _counted(decoded: Iterator[Item], counts: Counter[str]) -> Iterator[Item]:
    for item in decoded:
        _count(item, counts)
        yield item


def _count(item: Item, counts: Counter[str]) -> None:
    """Count an item: a complete frame, a frame that did not decode, or, by its error code, any other piece."""
    if isinstance(item, ENTRY):
        counts["records"] += isinstance(item, LogRecord | DiskEntry)
        counts["undecodable"] += is_bad(item)
        counts["failures"] += is_bad(item)
        counts["faulty"] += is_faulty(item)
        return
    is_piece = isinstance(item, Undecodable) and isinstance(item.error, NoFrame | CutShort)
    counts["frames"] += not is_piece
    if isinstance(item, Undecodable):
        counts["failures"] += item.is_failure
        counts["undecodable" if item.is_failure and not is_piece else item.error.code] += 1
    elif not isinstance(item, Token) and item.faults:
        counts["faulty"] += 1


def _shown(decoded: Iterator[Item], wanted: Callable[[Item], bool], counts: Counter[str]) -> Iterator[Item]:
    for item in decoded:
        if wanted(item):
            yield item
        else:
            counts["hidden"] += isinstance(item, LogRecord | DiskEntry) or not isinstance(item, ENTRY)


def _printed(shown: Iterator[Item], counts: Counter[str]) -> Iterator[Item]:
    for item in shown:
        counts["shown"] += isinstance(item, LogRecord | DiskEntry) or not isinstance(item, ENTRY)
        yield item


def _summary(options: argparse.Namespace, counts: Counter[str], *, interrupted: bool = False) -> None:
    hidden, always = 0 if interrupted else counts["hidden"], interrupted or options.follow or not +counts
    unread = {code: count for code, count in counts.items() if code.isupper() and code != NotKafka.code}
    if counts["undecodable"] or counts["faulty"] or hidden or unread or always:
        records = [count_text(counts["records"], "record")] if counts["records"] else []
        frames = [count_text(counts["frames"], "frame")] if counts["frames"] or not records else []
        faulty = f", {counts['faulty']} with faults" if counts["faulty"] else ""
        shown = f", {counts['shown']} shown" if hidden else ""
        undecodable = f", {counts['undecodable']} undecodable" if counts["undecodable"] or not unread else ""
        others = f"; {unread_text(unread)}" if unread else ""
        remark(f"{', '.join(frames + records)}{undecodable}{faulty}{shown}{others}")


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


def guess(options: argparse.Namespace) -> int:
    """Print what each frame could be; of a capture, only unidentified frames. Returns 1 if a frame matches nothing."""
    if options.body or options.named:
        raise UsageError("--guess and --as cannot be combined: --guess finds what --as states")
    failed = known = shown = 0
    for result in results(options, sealed=False):
        frame = result.frame
        if isinstance(frame.fault, NoFrame) or (frame.source.direction and not isinstance(result, Undecodable)):
            known += not isinstance(frame.fault, NoFrame)
            continue
        shown += 1
        found = guesses(frame, catalog_of(options))
        print(escape(f"# {_title(masker(options)(result))}"))
        print(f"{count_text(len(found), 'message')} that the frame could be" + (", best first" if found else ""))
        for line in _guess_lines(found):
            print(escape(line), flush=True)
        failed |= not found
    if not shown:
        reason = f"connections say what {count_text(known, 'frame')} hold; see kwire decode" if known else "0 frames"
        remark(f"nothing to guess: {reason}")
    return failed


def _title(result: Result) -> str:
    """Return the title of a frame; that of an undecodable frame names no api, which would be one guess of many."""
    source = result.frame.source
    if not isinstance(result, Undecodable) or isinstance(result.frame.fault, NoFrame):
        return title(result)
    return f"frame {source.frame} at {source.offset}, {count_text(len(result.frame.data), 'byte')}"


def _guess_lines(found: list[Guess]) -> Iterator[str]:
    """Yield the guesses as lines; consecutive versions of an api that give the same result share a line."""
    for key, group in groupby(found, lambda guess: (guess.codec.name, guess.named, guess.doubts, guess.evidence)):
        members = list(group)
        versions = ",".join(str(version) for version in sorted(guess.codec.version for guess in members))
        spec = members[0].codec.spec
        span = str(Versions.parse(versions))
        yield f"  {spec.api_name + ':' + span:<34} {spec.type:<9} {_why(key[1], key[2], key[3])}"


def _why(named: bool, doubts: int, evidence: int) -> str:
    words = ["its header says so"] if named else []
    if evidence:
        words.append(f"{evidence} characters of text")
    if doubts:
        words.append(count_text(doubts, "odd value"))
    return ", ".join(words) or "no evidence"


def parquet(options: argparse.Namespace) -> int:
    """Write the table. Returns 1 if there are frames that could not be decoded."""
    given = [name for name in OTHERS if getattr(options, name, None)]
    if given:
        raise UsageError(
            f"--parquet writes all frames, or those of an --api: it cannot be combined with {', '.join(given)}"
        )
    if not options.files or "-" in options.files:
        raise UsageError("--parquet reads files: name them")
    apis = options.api or []
    if any(":" in api for api in apis):
        raise UsageError("--parquet takes an api of all versions: leave out :VERSION, the table has a column for it")
    need_libraries()
    from ..arrow import write_parquet

    body = "struct" if len(apis) == 1 else "json"  # a struct has the fields of one api
    more = {"profile": options.profile} if options.profile else {}
    folders = {"recursive_file_lookup": "true"} if getattr(options, "recursive", False) else {}
    written = write_parquet(options.files, options.parquet, apis=",".join(apis), body=body, **more, **folders)
    bad = f", {written.corrupt:,} not decoded" if written.corrupt else ""
    remark(f"{count_text(written.frames, 'frame')}{bad} in {written.file}; secrets in it are not masked")
    return 1 if written.corrupt else 0


def write_fields(items: Iterable[Item], names: str, form: str, catalog: Catalog, write: Print) -> None:
    """Write the fields of frames, one line per frame.

    Args:
        items: the frames.
        names: paths separated by commas; if a path has several values in a frame, they are separated by commas.
        form: one of `FORMATS`; a table is aligned, so it is written after all frames were read.
        catalog: the specs whose fields the paths may name.
        write: a function that writes text.

    Raises:
        UsageError: an item is a record of a log.
        FilterError: no message has a path.
    """
    paths = [parse_path(name.strip(), catalog) for name in names.split(",")]
    rows = (_row(item, paths) for item in items)
    header = [path.text for path in paths]
    if form == "jsonl":
        for row in rows:
            write(escape(msgspec.json.encode(dict(zip(header, row, strict=True))).decode()) + "\n")
    elif form == "table":
        texts = [[_joined(values) for values in row] for row in rows]
        write("".join(f"{escape(line)}\n" for line in table(header, texts)))
    else:
        for line in _separated(header, rows, form):
            write(line)


def _row(item: Item, paths: list[FieldPath]) -> list[list[Any]]:
    if isinstance(item, ENTRY):
        raise UsageError("--fields names fields of frames; of a log use --jsonl")
    return [[_plain(value) for value in path.values(item)] for path in paths]


def _plain(value: Any) -> Any:
    """Return a value for JSON: UUIDs in Kafka's format, other bytes as hex, structs as their text."""
    if isinstance(value, Hidden):
        return {HIDDEN: value.size}
    if isinstance(value, bytes):
        return uuid_text(value) if len(value) == 16 else value.hex()
    return value if isinstance(value, str | int | float | None) else str(value)


def _joined(values: list[Any]) -> str:
    """Join the values of a cell; null, true and false are written as in JSON."""
    words = {None: "null", True: "true", False: "false"}
    return ",".join(words[value] if value is None or isinstance(value, bool) else str(value) for value in values)


def _separated(header: list[str], rows: Iterator[list[list[Any]]], form: str) -> Iterator[str]:
    """Yield lines of CSV; or of TSV, with tabs, newlines and backslashes escaped by a backslash."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for texts in chain((header,), ([_joined(values) for values in row] for row in rows)):
        if form == "tsv":
            yield escape("\t".join(text.translate(_ESCAPED) for text in texts)) + "\n"
            continue
        writer.writerow(texts)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


T = TypeVar("T")
Item = Result | Entry | DiskEntry
ENTRY = (LogRecord, LogBytes, LogBatch, DiskEntry)


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


def is_quick(dump: Dump, reading: Reading) -> bool:
    """Whether a dump is a capture to be read with the specs of Kafka's releases."""
    return dump.captured is not None and reading.catalog is catalog_for()


class Writer(Protocol):
    """Writes the lines of one capture from bytes."""

    def written(
        self, batch: CapturedBatch, number: int, carefully: Callable[[Result], str]
    ) -> Iterator[tuple[str, int]]:
        """Yield the lines of a batch, each time with the number of frames that the lines cover.

        Args:
            batch: the frames.
            number: the number of the first frame in the capture.
            carefully: formats each frame that had to be decoded.
        """


class Form(Protocol):
    """A format in which items are written."""

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool) -> Writer:
        """Return what writes the lines of a capture."""

    def text(self, item: Item) -> str:
        """Return the text of an item, with its newline."""

    def end(self) -> str:
        """Return the text after the last item."""


class AsJson:
    """Items as JSON lines."""

    writer = JsonLines

    def text(self, item: Item) -> str:
        """Return the line of an item."""
        return (record_json_line(item) if isinstance(item, ENTRY) else json_line(item)) + "\n"

    def end(self) -> str:
        """Return an empty string: JSON lines have no end."""
        return ""


class AsText:
    """Items as lines; if a frame is the only item, as a tree.

    Args:
        summary: extracts topics and errors.
        style: colours and width.
        live: write each line immediately; if there is only one, its fields follow.
        wanted: decides for each item, in order, whether it is shown.
    """

    def __init__(
        self,
        summary: MessageSummary,
        style: Style,
        *,
        live: bool = False,
        wanted: Callable[[Item], bool] = lambda item: True,
    ) -> None:
        self._style, self._live, self._wanted = style, live, wanted
        self._records, self._frames = RecordLines(style), FrameLines(summary, style)
        self._first: Item | None = None  # kept until the second item
        self._count = 0

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool) -> Writer:
        """Return what writes the lines of a capture."""
        return _SeveralLines(CapturedLines(decoder, file, self._frames, sealed=sealed), self)

    @property
    def has_several(self) -> bool:
        """Whether several items were written."""
        return self._count > 1

    def text(self, item: Item) -> str:
        """Return the line of an item; for the first item an empty string, unless it is shown live or is not a frame."""
        if not self._wanted(item):
            return ""
        self._count += 1
        if self._count == 1:
            self._first = item
            return self._line(item) if self._live or isinstance(item, ENTRY) else ""
        first, self._first = self._first, None
        is_held = first is not None and not (self._live or isinstance(first, ENTRY))
        return (self._line(first) if is_held else "") + self._line(item)  # type: ignore[arg-type]

    def end(self) -> str:
        """Return the fields of the only item if it is a frame, else an empty string."""
        if self._count != 1 or self._first is None or isinstance(self._first, ENTRY):
            return ""
        return "".join(f"{line}\n" for line in [*tree(self._first, self._style)][self._live :])

    def _line(self, item: Item) -> str:
        if isinstance(item, ENTRY):
            return "".join(f"{line}\n" for line in self._records.lines(item))
        return self._frames.text(item)


class _SeveralLines:
    """Writes lines from bytes after the first item, which is decoded, because a single item becomes a tree."""

    def __init__(self, writer: CapturedLines, form: AsText) -> None:
        self._writer, self._form = writer, form
        self.decoder: FrameDecoder = writer.decoder

    def written(
        self, batch: CapturedBatch, number: int, carefully: Callable[[Result], str]
    ) -> Iterator[tuple[str, int]]:
        """Yield lines of a batch, as a `Writer` does."""
        at = 0
        while at < len(batch) and not self._form.has_several:
            captured = batch[at]
            at += 1
            if type(captured) is tuple:
                yield carefully(self._writer.result(captured, number)), 1
                number += 1
            else:
                self._writer.forget(captured)
        yield from self._writer.written(batch, number, carefully, at)


class Lines:
    """The lines of one capture.

    Args:
        dump: the capture.
        reading: decodes the frames that the fast path does not.
        form: the output format.
        count: counts each item that `reading` decoded.
        passed: receives the number of all other frames.
    """

    def __init__(
        self, dump: Dump, reading: Reading, form: Form, count: Callable[[Any], None], passed: Callable[[int], None]
    ) -> None:
        self.dump: Dump = dump
        self.form, self.count, self.passed = form, count, passed
        self._part = partial(part_read, reading.options)
        self._decoder, self._seal = reading.decoder(), reading.seal
        self._quick = form.writer(self._decoder, dump.file, sealed=reading.sealed)
        self._number = self._frames = self._size = 0  # the last two: frames and characters that are not yet yielded
        self._lines: list[str] = []

    def __iter__(self) -> Iterator[str]:
        """Yield lines with their newlines, all lines of a batch of the capture together."""
        assert self.dump.captured is not None
        for batch in with_progress(self.dump.captured, self._part, weight=count_frames, wanted=not sys.stdout.isatty()):
            try:
                yield from self._written(batch)
            except KeyboardInterrupt:
                yield self._taken()
                raise

    def _written(self, batch: CapturedBatch) -> Iterator[str]:
        """Yield the lines of a batch, many in one string."""
        for text, frames in self._quick.written(batch, self._number, self._carefully):
            self._number += frames
            self._frames += frames
            self._lines.append(text)
            self._size += len(text)
            if self._size > MOST_TEXT:
                yield self._taken()
        yield self._taken()

    def _carefully(self, result: Result) -> str:
        result = self._seal(result)
        self.count(result)
        self._frames -= 1
        return self.form.text(result)

    def _taken(self) -> str:
        text = "".join(self._lines)
        self.passed(self._frames)
        self._frames = self._size = 0
        self._lines.clear()
        return text
