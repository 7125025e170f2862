"""The grammars of the commands that ask something of whole dumps: stats, cluster, redact."""

from __future__ import annotations

from typing import Any

from .grammar import colour, command, files, inputs, profile


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


def cluster(commands: Any) -> None:
    """Add `kwire cluster`."""
    parser = command(
        commands,
        "cluster",
        "show brokers by rack, and partitions, as dumps tell",
        "  kwire cluster dump.bin                what is known at its end\n"
        "  kwire cluster dump.bin --at 120       what was known after frame 120\n"
        "  kwire cluster __cluster_metadata-0/00000000000000000000.log\n"
        "  kwire cluster reply.bin --as Metadata:12 --topic orders --json\n",
        "cluster:cluster",
    )
    inputs(parser)
    parser.add_argument("--topic", metavar="T", help="this topic alone")
    parser.add_argument("--at", type=int, metavar="FRAME", help="after this frame, or offset of a log, not at the end")
    parser.add_argument("--json", action="store_true", help="as one JSON object")
    colour(parser)


def redact(commands: Any) -> None:
    """Add `kwire redact`."""
    parser = command(
        commands,
        "redact",
        "take payloads, secrets and names out of dumps",
        "  kwire redact dump.bin -o shareable.bin\n"
        "  kwire redact dump.bin -o shareable.bin --keep topic,client\n"
        "  kwire redact --list                   what is taken out, and why\n",
        "redact:redact",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="a dump; - is standard input")
    parser.add_argument("-o", "--output", metavar="OUT", help="where to write the frames, raw")
    parser.add_argument("--keep", default="", metavar="KINDS", help="what stays, with commas between; see --list")
    parser.add_argument("--list", action="store_true", help="list the kinds of things that are taken out")
    profile(parser)
