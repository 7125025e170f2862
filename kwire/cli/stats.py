"""`kwire stats`: counts frames by client, api and more; finds clients that an upgrade would break."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from ..capture.tcp.connection_share import ALL, ConnectionShare
from ..errors import KwireError, suggestion
from ..native import ENGINE
from ..protocol.framing import SECOND, BareToken, count_frames
from ..render.style import escape, json_text, table
from ..render.value_text import count_text
from ..traffic import (
    COLUMNS,
    NOTHING,
    REASONS,
    Count,
    Counted,
    Latencies,
    Row,
    Traffic,
    UnansweredRequest,
    UnansweredRequests,
    UnsupportedUse,
    percentile,
    unsupported_uses,
)
from .inputs_and_output import NonKafkaStreams, catalog_of, dumps_in, part_read
from .options import UsageError, add_colour, add_command, add_files, add_keylog, add_profile, named_release
from .terminal import remark, style_for, with_progress

# Bytes of a file. Each process reads all packets, which is half of the work with the native engine: 20 MB take 0.2 s,
# and starting another process takes as long and saves only a quarter of that.
LEAST = 256_000_000 if ENGINE == "native" else 16_000_000
MOST = 4  # processes
KILLED = ProcessLookupError, ChildProcessError


def parts_for(files: list[str]) -> int:
    """Return the number of processes that count."""
    if sys.platform != "linux" or len(files) != 1 or not Path(files[0]).is_file():
        return 1
    if Path(files[0]).stat().st_size < LEAST:
        return 1
    return min(len(os.sched_getaffinity(0)), MOST)


class Helpers:
    """Processes that count all shares except the first; leaving the `with` block ends them.

    Args:
        parts: the number of shares.
        work: counts the share with a given number, and returns the counts, even when interrupted.
    """

    def __init__(self, parts: int, work: Callable[[int], bytes]) -> None:
        self._work, self._stopped = work, False
        self._running: dict[int, tuple[int, int]] = {}  # share -> its process, and the pipe from there
        for part in range(1, parts):
            here, there = os.pipe()
            # A helper is not interrupted before its signal handler is installed.
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            process = os.fork()
            if not process:
                self._serve(part, there, blocked)
            os.close(there)
            self._running[part] = process, here
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def _serve(self, part: int, pipe: int, blocked: set[int | signal.Signals]) -> None:
        """Run as a worker process: without output, because the first process reports everything."""
        try:
            sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
            signal.signal(signal.SIGINT, _interrupted)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            sent = self._work(part)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            with open(pipe, "wb") as stream:
                stream.write(len(sent).to_bytes(8, "big") + sent)
        finally:
            os._exit(0)

    def results(self) -> list[bytes]:
        """Wait for all workers, and return their counts.

        The share of a worker that was killed is counted in this process, unless the command was interrupted.
        """
        found = []
        for part, (process, pipe) in list(self._running.items()):
            with open(pipe, "rb", closefd=False) as stream:
                sent = stream.read()
            del self._running[part]
            _reap(process, pipe)
            whole = len(sent) == 8 + int.from_bytes(sent[:8], "big")
            if whole or not self._stopped:
                found.append(sent[8:] if whole else self._work(part))
        return found

    def interrupt(self) -> None:
        """Interrupt all workers, which then send their counts so far."""
        self._stopped = True
        for process, _ in self._running.values():
            with suppress(*KILLED):
                os.kill(process, signal.SIGINT)

    def __enter__(self) -> Helpers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process, pipe in self._running.values():
            with suppress(*KILLED):
                os.kill(process, signal.SIGKILL)
            _reap(process, pipe)


def _interrupted(number: int, frame: object) -> None:
    """Raise KeyboardInterrupt once: the terminal and the first process may both send the signal."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _reap(process: int, pipe: int) -> None:
    os.close(pipe)
    with suppress(*KILLED):
        os.waitpid(process, 0)


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "stats",
        about,
        "  kwire stats dump.bin                      by api and version\n"
        "  kwire stats dump.bin --by client,topic    who uses which topic\n"
        "  kwire stats dump.bin --removed-in 4.0     who breaks after an upgrade?\n"
        "  kwire stats dump.bin --by client,api,error --json\n"
        "  kwire stats dump.bin --latency --by client,api    percentiles\n"
        "  kwire stats dump.bin --slow 20            the slowest requests\n"
        "  kwire stats dump.bin --unanswered         requests without a response\n",
        stats,
    )
    add_files(parser)
    add_keylog(parser)
    parser.add_argument(
        "--by",
        metavar="COLUMNS",
        help="some of client,api,version,ip,broker,topic,software,error; default: api,version (with --latency: api)",
    )
    parser.add_argument(
        "--removed-in",
        metavar="RELEASE",
        help="list clients that use apis or versions that this release does not support; exit 1 if there are any",
    )
    parser.add_argument("--follow", action="store_true", help="keep counting as FILE grows, until Ctrl-C")
    parser.add_argument("--latency", action="store_true", help="exact percentiles of the time to the response")
    parser.add_argument(
        "--slow", nargs="?", const="", metavar="N", help="list the N slowest requests, 10 by default, with their frames"
    )
    parser.add_argument(
        "--unanswered", action="store_true", help="list requests without a response, with the reason if it is known"
    )
    parser.add_argument("--errors", action="store_true", help="also count error codes, which takes longer")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_profile(parser)
    add_colour(parser)


def stats(options: argparse.Namespace) -> int:
    """Print the table, or the clients that an upgrade breaks. Returns 1 if there are any."""
    _read_slow(options)
    if options.unanswered:
        return _list_unanswered(options)
    new = named_release(options.removed_in).name if options.removed_in else None
    tally = Tally(options)
    is_whole = tally.traffic.deep or tally.traffic.latencies is not None  # frames are numbered through the file
    is_file = not (options.recursive or options.follow or options.hex is not None)
    parts = parts_for(options.files) if is_file and not is_whole else 1
    with Helpers(parts, lambda part: _helped(options, ConnectionShare(part, parts))) as helpers:
        try:
            tally.count(ConnectionShare(0, parts), helpers)
        except KeyboardInterrupt:
            helpers.interrupt()
            tally.add(helpers)
            _show(tally.traffic, options, new)
            raise
    broken = _show(tally.traffic, options, new)
    return 1 if broken else 0


def _read_slow(options: argparse.Namespace) -> None:
    """Parse the number of --slow; a value that is not a number is a file, as in `kwire stats --slow dump.pcap`."""
    text = options.slow
    if text and not text.isdecimal():
        options.files, text = [text, *options.files], ""
    options.slow = None if text is None else int(text[:19] or 10)  # 19 digits: more than frames can be
    if options.slow == 0:
        raise UsageError("--slow 0: write a number of requests, 1 or more")
    if options.removed_in and (options.latency or options.slow):
        raise UsageError("--removed-in is about versions: it cannot be combined with --latency and --slow")


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
    found = [(file, one) for file, requests in tallies.items() for one in requests.found()]
    several = len(tallies) > 1
    if options.json:
        print(json_text({"kwire": 1, "unanswered": [_unanswered_json(file, one) for file, one in found]}))
    else:
        head = ["frame", "sent (UTC)", "s before the end", "client", "api", "known", *(["file"] if several else [])]
        rows = [[*_unanswered_row(one), *([file] if several else [])] for file, one in found]
        style = style_for(sys.stdout, options.color)
        for index, line in enumerate(table(head, rows)):
            print(style.paint("bold", line) if index == 0 else line)
    all_of = tallies.values()
    requests, none, count = (sum(getattr(one, name) for one in all_of) for name in ("requests", "expect_none", "count"))
    listed = f", {len(found)} listed" if len(found) < count else ""
    silent = f"; {none} with acks=0 expect none" if none else ""
    remark(f"{count_text(requests, 'request')}, {count} without a response{listed}{silent}")


def _unanswered_row(one: UnansweredRequest) -> list[str]:
    return [
        NOTHING if one.frame is None else str(one.frame),
        NOTHING if one.time is None else _when(one.time),
        NOTHING if one.left is None else f"{one.left:.3f}",
        one.user.client,
        f"{one.api}:{one.user.version}",
        REASONS[one.reason],
    ]


def _unanswered_json(file: str, one: UnansweredRequest) -> dict[str, object]:
    return {
        "file": file,
        "frame": one.frame,
        "time": one.time,
        "secondsBeforeEnd": one.left,
        "client": one.user.client,
        "ip": one.user.ip,
        "api": one.api,
        "version": one.user.version,
        "reason": one.reason,
    }


def _helped(options: argparse.Namespace, share: ConnectionShare) -> bytes:
    """Count a share for another process; ignore errors, since that process encounters them as well."""
    tally = Tally(options)
    with suppress(KeyboardInterrupt, KwireError, OSError):
        tally.count(share)
    return tally.packed()


class Tally:
    """Counts of all dumps, or of a share of the connections of one dump, and the streams of other protocols.

    Args:
        options: the options, which select what is counted and name the dumps.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        by = _columns(options.by or ("api" if options.latency else "api,version"))
        latencies = Latencies(options.slow or 0) if options.latency or options.slow else None
        self.traffic: Traffic = Traffic(by, errors=options.errors, catalog=catalog_of(options), latencies=latencies)
        self.non_kafka: NonKafkaStreams = NonKafkaStreams()

    def count(self, share: ConnectionShare, helpers: Helpers | None = None) -> None:
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

    def add(self, helpers: Helpers) -> None:
        """Add the counts of the helpers."""
        for packed in helpers.results():
            counted, non_kafka = msgspec.msgpack.decode(packed, type=_Packed, dec_hook=lambda kind, value: kind(value))
            self.traffic.add_counted(counted)
            self.non_kafka.add(*non_kafka)

    def packed(self) -> bytes:
        """Return the counts, serialised for `add`."""
        non_kafka = self.non_kafka
        return msgspec.msgpack.encode((self.traffic.counted, (non_kafka.counts, non_kafka.bytes, non_kafka.hints)))


_Packed = tuple[Counted, tuple[dict[str, int], dict[str, int], dict[str, str]]]


def _columns(text: str) -> list[str]:
    columns = [word.strip().casefold() for word in text.split(",") if word.strip()]
    unknown = [word for word in columns if word not in COLUMNS]
    if unknown or not columns:
        hint = "".join(f"; {suggestion(word, COLUMNS)}" for word in unknown[:1] if suggestion(word, COLUMNS))
        raise UsageError(f"--by {text}: write some of {', '.join(COLUMNS)}, separated by commas{hint}")
    return columns


def _show(traffic: Traffic, options: argparse.Namespace, new: str | None) -> bool:
    """Print the counts; return whether any client breaks."""
    found = unsupported_uses(traffic, new) if new else []
    breaks = any(one.breaks for one in found)
    if options.json:
        print(json_text(_json(traffic, found, new)))
        return breaks
    style = style_for(sys.stdout, options.color)
    for index, line in enumerate(_verdict(found, new, traffic) if new else _tables(traffic, options)):
        print(style.paint("bold", line) if index == 0 else line)
    unread = f"; {_unread_text(traffic.unread)}" if traffic.unread else ""
    remark(f"{count_text(traffic.frames, 'frame')}, {count_text(traffic.bytes, 'byte')}{unread}")
    return breaks


def _tables(traffic: Traffic, options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the requested tables: latencies, the slowest requests, or counts."""
    if options.latency:
        yield from _latency_table(traffic)
    if options.latency and options.slow:
        yield ""
    if options.slow:
        yield from _slowest_table(traffic)
    if traffic.latencies is None:
        yield from _table(traffic, options, traffic.rows())


SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


def _latency_table(traffic: Traffic) -> Iterator[str]:
    head = [*traffic.by, "responses", *(f"{name} ms" for name in SHARES)]
    rows = [
        [*key, str(len(times)), *(_milliseconds(percentile(times, share)) for share in SHARES.values())]
        for key, times in traffic.times()
    ]
    return table(head, rows, right=len(SHARES) + 1)


def _slowest_table(traffic: Traffic) -> Iterator[str]:
    found = [] if traffic.latencies is None else traffic.latencies.slowest
    several = len({answered.file for answered in found}) > 1
    head = ["latency ms", "request", "response", "sent (UTC)", "client", "api", *(["file"] if several else [])]
    rows = [
        [
            _milliseconds(one.latency / SECOND),
            *(NOTHING if number is None else str(number) for number in (one.request_frame, one.frame)),
            _when(one.asked_at),
            one.user.client,
            f"{traffic.name_of(one.user)}:{one.user.version}",
            *([one.file] if several else []),
        ]
        for one in found
    ]
    width = max([len(row[0]) for row in rows] + [len(head[0])])
    head[0], rows = head[0].rjust(width), [[row[0].rjust(width), *row[1:]] for row in rows]
    return table(head, rows)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f}"


def _when(seconds: float) -> str:
    """Format a time as date and time of day (UTC), rounded down to milliseconds."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return NOTHING
    return moment.isoformat(" ", "milliseconds")[:23]


def _latency_json(traffic: Traffic) -> dict[str, object]:
    """Return the percentiles of latency, in seconds, and the slowest requests as JSON."""
    if traffic.latencies is None:
        return {}
    rows = [
        {
            **dict(zip(traffic.by, key, strict=True)),
            "responses": len(times),
            "latencySeconds": {name: percentile(times, share) for name, share in SHARES.items()},
        }
        for key, times in traffic.times()
    ]
    slowest = [
        {
            "file": one.file,
            "requestFrame": one.request_frame,
            "frame": one.frame,
            "time": one.asked_at,
            "latencySeconds": one.latency / SECOND,
            "client": one.user.client,
            "ip": one.user.ip,
            "api": traffic.name_of(one.user),
            "version": one.user.version,
        }
        for one in traffic.latencies.slowest
    ]
    return {"latencies": rows} | ({"slowest": slowest} if traffic.latencies.most else {})


def _table(traffic: Traffic, options: argparse.Namespace, rows: list[Row]) -> Iterator[str]:
    timed = any(row.count.answered for row in rows)
    head = [*traffic.by, "requests", "responses", "bytes out", "bytes in"]
    head += ["mean ms", "max ms"] if timed else []
    values = [[*row.key, *_numbers(row.count, timed)] for row in rows]
    if options.errors:
        head, values = (
            [*head, "errors"],
            [[*value, str(row.count.errors.total())] for value, row in zip(values, rows, strict=True)],
        )
    yield from table(head, values, right=len(head) - len(traffic.by))
    if options.errors:
        yield from (f"  {count} x {name}" for name, count in traffic.errors.most_common())


def _numbers(count: Count, timed: bool) -> list[str]:
    numbers = [count.requests, count.responses, count.request_bytes, count.response_bytes]
    mean = count.mean
    times = [NOTHING] * 2 if mean is None else [f"{mean * 1000:.1f}", f"{count.longest * 1000:.1f}"]
    return [*map(str, numbers), *(times if timed else ())]


def _unread_text(counts: Mapping[str, int]) -> str:
    from ..render.line import unread_text  # this imports messages and records, which counting does not need

    return unread_text(counts)


def _verdict(found: list[UnsupportedUse], new: str | None, traffic: Traffic) -> Iterator[str]:
    """Yield sentences: which clients break, which fall back to older versions, and what could not be decoded."""
    broken = [one for one in found if one.breaks]
    clients = {(one.client, one.software, one.ip) for one in broken}
    if not any(row.count.requests for row in traffic.rows()):
        yield f"unknown whether clients break with Kafka {new}: no request was read"
    elif not broken:
        yield f"no incompatible clients found: Kafka {new} supports every version seen"
    else:
        verb = "breaks" if len(clients) == 1 else "break"
        yield f"{count_text(len(clients), 'client')} {verb} with Kafka {new}:"
    last = None
    for one in broken:
        who = _who(one)
        if who != last:
            yield escape(f"  {who}")
        last = who
        yield f"    uses {one.api} v{one.version} ({count_text(one.requests, 'request')}); {one.why}"
    for one in found:
        if not one.breaks:
            yield escape(f"  {_who(one)} falls back from {one.api} v{one.version}, if it asks for versions; {one.why}")
    unread = {code: count for code, count in traffic.unread.items() if code != BareToken.code}
    if unread:
        yield f"not read: {_unread_text(unread)}; requests of other clients and versions may be among them"


def _who(one: UnsupportedUse) -> str:
    name = "clients without an id" if one.client == NOTHING else f"client {json.dumps(one.client, ensure_ascii=False)}"
    return " ".join(
        [
            name,
            *([f"({one.software})"] if one.software != NOTHING else []),
            *([f"from {one.ip}"] if one.ip != NOTHING else []),
        ]
    )


def _json(traffic: Traffic, found: list[UnsupportedUse], new: str | None) -> dict[str, object]:
    members: dict[str, object] = {
        "kwire": 1,
        "frames": traffic.frames,
        "bytes": traffic.bytes,
        "unread": dict(traffic.unread),
        "rows": [{**dict(zip(traffic.by, row.key, strict=True)), **_count_json(row.count)} for row in traffic.rows()],
    }
    members |= _latency_json(traffic)
    if new:
        members["removedIn"] = {"release": new, "clients": [one._asdict() for one in found]}
    return members


def _count_json(count: Count) -> dict[str, object]:
    members: dict[str, object] = {
        "requests": count.requests,
        "responses": count.responses,
        "requestBytes": count.request_bytes,
        "responseBytes": count.response_bytes,
    }
    if count.answered:
        members |= {"meanSeconds": count.mean, "longestSeconds": count.longest}
    return members | ({"errors": dict(count.errors)} if count.errors else {})
