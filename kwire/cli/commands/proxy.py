"""`kwire proxy`: shows the messages between clients and brokers."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from types import TracebackType
from typing import Any

from ...capture.pcap_writer import PcapWriter
from ...client.address import LOOPBACK, Address, address
from ...client.operator_lines import OperatorLines
from ...client.proxy import Proxy
from ...client.proxy_listeners import MOST_LISTENERS
from ...errors import excerpt
from ...protocol import Result
from ...protocol.message_summary import MessageSummary
from ...render.escaping import compact_json
from ...render.frame_line import FrameLines
from ...render.json_objects.frame_json import json_line
from ...render.json_objects.frame_records import envelope_with_records
from ...render.nested_fields import frame_record_lines
from ...render.value_text import count_text
from ..options.output import add_colour
from ..options.registry import add_registry, count_undecoded, deserializer_of
from ..options.secrets import add_secrets, masker
from ..options.security import add_security, security_of
from ..options.specs import add_profile, catalog_of
from ..options.timeout import add_timeout
from ..options.usage_error import UsageError
from ..output.output_files import output_bytes
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for

MOST_WAITING = 1 << 26  # bytes of messages that wait for a registry; then clients wait, too
INDENT = "  "  # of records below their message


EXAMPLES = """\
  kwire proxy :19092 broker:9092                 one line per message
  kwire proxy :19092 broker:9092 -w seen.pcap    record a capture
  kwire proxy :19092 broker:9092 --jsonl | jq .

Clients connect to the first address. Each broker named in a response gets its
own port on the proxy, and the response is rewritten to name that port; nothing
else changes. The port is closed when no broker names that broker any more.
Needs no root.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("listen", metavar="LISTEN", help="HOST:PORT to listen on; :PORT is localhost")
    parser.add_argument("upstream", metavar="BROKER", help="HOST:PORT of a broker")
    parser.add_argument("-w", "--write", metavar="FILE", help="record a capture, with the brokers' addresses")
    parser.add_argument("--jsonl", action="store_true", help="one JSON object per message")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no messages")
    add_registry(parser)
    parser.add_argument("--public", action="store_true", help="allow addresses that other machines can reach")
    parser.add_argument(
        "--max-brokers",
        type=_number,
        default=_most_listeners(),
        metavar="N",
        help="brokers that have a port of the proxy at a time; clients connect to further ones without the proxy; "
        "default: half of the files that the process may open, up to 500",
    )
    add_timeout(parser, 10, "for a connection to a broker: name look-up, TCP, TLS and SASL together")
    add_secrets(parser)
    add_profile(parser)
    add_colour(parser)
    add_security(parser, "TLS and SASL to the brokers; clients connect to the proxy without")


def _number(text: str) -> int:
    """Parse a number from 1 on."""
    if not (text.isascii() and text.isdecimal() and int(text[:9]) > 0):
        raise argparse.ArgumentTypeError(f"{excerpt(text)}: write a number, 1 or more")
    return int(text[:9])


def _most_listeners() -> int:
    """Return a number of listeners that leaves as many files for connections."""
    try:
        import resource
    except ImportError:  # Windows
        return MOST_LISTENERS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_LISTENERS if files == resource.RLIM_INFINITY else min(MOST_LISTENERS, files // 2)


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    listen, upstream = address(options.listen), address(options.upstream)
    if listen.host not in LOOPBACK and not options.public:
        raise UsageError(f"{listen} can be reached from other machines: use --public to allow this")
    if options.write == "-" and not options.quiet:
        raise UsageError("-w - writes the capture to standard output, where messages are printed: add --quiet")
    if options.registry is not None and options.quiet:
        raise UsageError("--registry decodes the keys and values that are printed: it cannot be combined with --quiet")
    listen = Address("127.0.0.1", listen.port) if listen.host == "localhost" else listen
    with ExitStack() as stack:
        stream = stack.enter_context(output_bytes(options.write, live=True)) if options.write else None
        notes = stack.enter_context(closing(OperatorLines(remark)))
        shown = stack.enter_context(ShownMessages(options))
        made = Proxy(
            listen,
            upstream,
            show=shown,
            recorder=PcapWriter(stream, live=True) if stream else None,
            catalog=catalog_of(options),
            note=notes,
            security=security_of(options),
            timeout=options.timeout,
            most_listeners=options.max_brokers,
        )
        try:
            asyncio.run(_serve(made))
        finally:
            shown.finish()
            remark(f"{count_text(shown.count, 'message')} of {count_text(made.connections, 'connection')}")
            count_undecoded(options)
    return 0


async def _serve(made: Proxy) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: made.note(_failure(context)))
    where = await made.start()
    remark(f"listening on {where} for {made.upstream}; Ctrl-C ends")
    try:
        await made.run()
    finally:
        await made.stop()


def _failure(context: dict[str, Any]) -> str:
    """Return what asyncio reports, such as a connection that cannot be accepted for want of files, as one line."""
    error = context.get("exception")
    return f"{context['message']}: {error}" if error else str(context["message"])


class ShownMessages:
    """Prints messages in the order in which they pass.

    With --registry another thread prints them, because what asks a registry must not keep clients waiting.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.count: int = 0
        self._options = options
        self._summary = MessageSummary()
        self._style = style_for(sys.stdout, options.color)
        self._lines, self._safe = FrameLines(self._summary, self._style), masker(options)
        self._values = deserializer_of(options)
        self._printer = None if self._values is None else ThreadPoolExecutor(1, "kwire-proxy-messages")
        self._waiting = deque[tuple[Future[None], int]]()  # prints that are not done, and the bytes of their frames
        self._waiting_bytes = 0

    def __enter__(self) -> ShownMessages:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._printer is not None:
            self._printer.shutdown(cancel_futures=True)

    def __call__(self, result: Result) -> None:
        """Print a message, or leave it to the thread; errors of the thread are raised by a later call."""
        self.count += 1
        if self._options.quiet:
            return
        if self._printer is None:
            self._print(result)
            return
        size = len(result.frame.data)
        self._waiting.append((self._printer.submit(self._print, result), size))
        self._waiting_bytes += size
        while self._waiting and (self._waiting[0][0].done() or self._waiting_bytes > MOST_WAITING):
            self._take_printed()

    def finish(self) -> None:
        """Wait until all messages are printed."""
        while self._waiting:
            self._take_printed()

    def _take_printed(self) -> None:
        printed, size = self._waiting.popleft()
        self._waiting_bytes -= size
        printed.result()

    def _print(self, result: Result) -> None:
        print("".join(self._texts(self._safe(result))), end="", flush=True)

    def _texts(self, shown: Result) -> Iterator[str]:
        if not self._options.jsonl:
            yield self._lines.text(shown)
            if self._values is not None:
                style = self._style._replace(width=self._style.width - len(INDENT))
                records = frame_record_lines(shown, style, self._values, self._summary)
                yield from (f"{INDENT}{line}\n" for line in records)
        elif self._values is not None:
            yield compact_json(envelope_with_records(shown, self._values, self._summary)) + "\n"
        else:
            yield json_line(shown, self._summary) + "\n"
