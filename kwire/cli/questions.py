"""The grammars of the commands that ask something of whole dumps: stats."""

from __future__ import annotations

from typing import Any

from .grammar import colour, command, files, profile


def stats(commands: Any) -> None:
    """Add `kwire stats`."""
    parser = command(
        commands,
        "stats",
        "count frames by client, api, version and more",
        "  kwire stats dump.bin                      by api and version\n"
        "  kwire stats dump.bin --by client,topic    who uses which topic\n"
        "  kwire stats dump.bin --removed-in 4.0     who breaks after an upgrade?\n"
        "  kwire stats dump.bin --errors --json\n",
        "stats:stats",
    )
    files(parser)
    parser.add_argument(
        "--by",
        default="api,version",
        metavar="COLUMNS",
        help="some of client,api,version,ip,topic,software; api,version unless given",
    )
    parser.add_argument(
        "--removed-in",
        metavar="RELEASE",
        help="who uses versions that this Kafka release does not speak; exit 1 if anybody does",
    )
    parser.add_argument("--errors", action="store_true", help="count error codes too, which takes longer")
    parser.add_argument("--json", action="store_true", help="as one JSON object")
    profile(parser)
    colour(parser)
