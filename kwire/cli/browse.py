"""`kwire browse`: the frames of a dump in a terminal, with fields and bytes beside them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Any

from ..errors import MissingExtra
from ..protocol import Frame
from .inputs import Reading, catalog_of, dumps_in, title_of
from .options import add_command, add_files, add_profile, add_secrets
from .output import FrameOutput, output_bytes


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "browse",
        about,
        "  kwire browse dump.pcap\n"
        "  kwire proxy :9092 --listen :9093 -w - | kwire browse -\n"
        "\nThe list, the fields and the bytes are one picture: move in one of them and the\n"
        "others follow. Keys: Tab next pane, / filter, c one connection, r request or\n"
        "response, s slowest first, w write as pcap, q quit.\n",
        browse,
    )
    add_files(parser)
    parser.add_argument("--as", dest="named", help=argparse.SUPPRESS)
    parser.add_argument("--body", action="store_true", help=argparse.SUPPRESS)
    add_secrets(parser)
    add_profile(parser)


def browse(options: argparse.Namespace) -> int:
    """Browse until the user leaves."""
    try:
        from ..browse.app import Browser
    except ImportError as error:
        raise MissingExtra("kwire browse", "textual", "tui") from error
    from ..browse.frame_index import FrameIndex

    frames = _frames(options)
    if "-" in options.files:
        _free_the_keyboard()

    def export(chosen: Iterator[Frame], file: str) -> int:
        with output_bytes(file, options.files, recursive=options.recursive) as stream:
            output = FrameOutput(stream)
            for frame in chosen:
                output.write(frame)
            output.finish()
        return output.count

    with FrameIndex(catalog_of(options), sealed=not options.show_secrets) as index:
        Browser(frames, index, title_of(options), export).run()
    return 0


def _frames(options: argparse.Namespace) -> Iterator[Frame]:
    Reading(options)  # so that wrong options are an error before the screen is taken
    for dump in dumps_in(options):
        yield from dump.frames


def _free_the_keyboard() -> None:
    """Read the dump from the pipe, and keys from the terminal."""
    pipe = os.dup(0)
    terminal = os.open("/dev/tty", os.O_RDONLY)
    os.dup2(terminal, 0)
    os.close(terminal)
    sys.stdin = os.fdopen(pipe)
