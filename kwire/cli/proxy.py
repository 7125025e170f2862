"""`kwire proxy`: what clients and brokers say to each other, seen from between them."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import ExitStack, closing

from ..dumps.pcap_writer import PcapWriter
from ..frames import Result
from ..gist import Gist
from ..net.client import Address, address
from ..net.limits import Notes
from ..net.proxy import Proxy, Show
from ..render.envelope import json_line
from ..render.line import FrameLines
from ..render.values import count_text
from .inputs import UsageError, catalog_of, sealer
from .output import output_bytes
from .terminal import remark, style_for

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def proxy(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    listen, upstream = address(options.listen), address(options.upstream)
    if listen.host not in LOOPBACK and not options.public:
        raise UsageError(f"{listen} can be reached from other machines: use --public to allow this")
    if options.write == "-" and not options.quiet:
        raise UsageError("-w - writes the capture to standard output, where messages are printed: add --quiet")
    listen = Address("127.0.0.1", listen.port) if listen.host == "localhost" else listen
    with ExitStack() as stack:
        stream = stack.enter_context(output_bytes(options.write, live=True)) if options.write else None
        notes = stack.enter_context(closing(Notes(remark)))
        counts = {"messages": 0}
        made = Proxy(
            listen,
            upstream,
            show=_shower(options, counts),
            recorder=PcapWriter(stream, live=True) if stream else None,
            catalog=catalog_of(options),
            note=notes,
        )
        try:
            asyncio.run(_serve(made))
        finally:
            remark(f"{count_text(counts['messages'], 'message')} of {count_text(made.connections, 'connection')}")
    return 0


async def _serve(made: Proxy) -> None:
    where = await made.start()
    remark(f"listening on {where} for {made.upstream}; Ctrl-C ends")
    try:
        await made.run()
    finally:
        await made.stop()


def _shower(options: argparse.Namespace, counts: dict[str, int]) -> Show:
    lines, safe = FrameLines(Gist(), style_for(sys.stdout, options.color)), sealer(options)

    def show(result: Result) -> None:
        counts["messages"] += 1
        if options.quiet:
            return
        shown = safe(result)
        for line in [json_line(shown)] if options.jsonl else lines.lines(shown):
            print(line, flush=True)

    return show
