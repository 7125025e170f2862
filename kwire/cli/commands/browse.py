"""`kwire browse`: shows the frames of a dump in a terminal, beside their fields and bytes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from ...capture.dump import Dump
from ...errors import MissingExtra
from ...protocol import Frame
from ..input.dump_decoder import DumpDecoder
from ..input.dumps import dumps_in
from ..options.inputs import add_files, title_of
from ..options.registry import add_registry, deserializer_of
from ..options.secrets import add_secrets
from ..options.specs import add_profile, catalog_of
from ..options.usage_error import UsageError
from ..output.frame_output import FrameOutput
from ..output.output_files import output_bytes

if TYPE_CHECKING:
    from ..tui.frame_index import FrameIndex

PORTION = 1 << 16  # bytes read from a pipe at once

EXAMPLES = """\
  kwire browse dump.pcap
  kwire proxy :19092 broker:9092 -q -w - | kwire browse -

The list, the fields and the bytes move together: a selection in one pane is
shown in the others. Keys: ? all keys, / filter, f find, : go to frame or time,
c one connection, r request or response, s slowest first, t what happened,
a counts by api and client, w write, q quit.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_files(parser)
    parser.add_argument("--follow", action="store_true", help="keep reading as FILE or a folder of captures grows")
    parser.add_argument("--as", dest="named", help=argparse.SUPPRESS)
    parser.add_argument("--body", action="store_true", help=argparse.SUPPRESS)
    add_registry(parser)
    add_secrets(parser)
    add_profile(parser)


def run(options: argparse.Namespace) -> int:
    """Browse until the user quits."""
    try:
        from ..tui.browser import Browser
        from ..tui.frame_index import FrameIndex
    except ImportError as error:
        raise MissingExtra("kwire browse", "textual", "tui") from error

    if not sys.stdout.isatty():
        raise UsageError("a terminal is needed: kwire browse fills the screen; kwire decode writes text")
    DumpDecoder(options)  # so that wrong options are reported before the screen is cleared
    values = deserializer_of(options)
    options.stopped = Event()
    close_input = _free_the_keyboard() if "-" in options.files else None

    def export(chosen: Iterator[Frame], file: str) -> int:
        with output_bytes(file, options.files, recursive=options.recursive) as stream:
            output = FrameOutput(stream)
            for frame in chosen:
                output.write(frame)
            output.finish()
        return output.count

    def stop() -> None:
        options.stopped.set()
        if close_input is not None:
            close_input()

    with FrameIndex(catalog_of(options), sealed=not options.show_secrets) as index:
        Browser(loading(index, dumps_in(options)), index, title_of(options), export, stop, values).run()
    return 0


def loading(index: FrameIndex, dumps: Iterable[Dump]) -> Iterator[int]:
    """Read dumps into an index; yield the number of frames each time frames were added."""
    for dump in dumps:
        index.begin()
        if dump.captured is not None:
            for batch in dump.captured:
                index.add_batch(batch)
                yield len(index)
        else:
            for frame in dump.frames:
                index.add(frame)
                yield len(index)


def _free_the_keyboard() -> Callable[[], None]:
    """Read the dump from the pipe, but keys from the terminal; return what ends the dump.

    A read from a pipe cannot be interrupted, and the application waits for its threads: a thread of its own, for which
    nobody waits, copies what arrives into a second pipe, which can be ended here.
    """
    arriving = os.dup(0)
    terminal = os.open("/dev/tty", os.O_RDONLY)
    os.dup2(terminal, 0)
    os.close(terminal)
    copy, end = os.pipe()

    def copy_all() -> None:
        with suppress(BrokenPipeError), os.fdopen(end, "wb", buffering=0) as stream:
            while data := os.read(arriving, PORTION):
                stream.write(data)

    def close() -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        with suppress(OSError):
            os.dup2(nowhere, end)  # not os.close: the thread may be writing
        os.close(nowhere)

    Thread(target=copy_all, daemon=True).start()
    sys.stdin = os.fdopen(copy)
    return close
