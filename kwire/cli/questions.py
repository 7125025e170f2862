"""The grammars of the commands that ask something of whole dumps: stats, cluster, place, redact, pipeline."""

from __future__ import annotations

from typing import Any

from .grammar import colour, command, files, inputs, profile, raw


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
        "show brokers by rack, and partitions, as dumps or a live broker tell",
        "  kwire cluster localhost:9092          what a live broker says now\n"
        "  kwire cluster dump.bin                what is known at its end\n"
        "  kwire cluster dump.bin --at 120       what was known after frame 120\n"
        "  kwire cluster __cluster_metadata-0/00000000000000000000.log\n"
        "  kwire cluster reply.bin --as Metadata:12 --topic orders --json\n",
        "cluster:cluster",
    )
    inputs(parser)
    parser.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS", help="for a broker; 10 unless given")
    parser.add_argument("--topic", metavar="T", help="this topic alone")
    parser.add_argument("--at", type=int, metavar="FRAME", help="after this frame, or offset of a log, not at the end")
    parser.add_argument("--json", action="store_true", help="as one JSON object")
    colour(parser)


ASSIGNORS = (
    "multi-level (KIP-879), rack-aware (KIP-36), rack-aware-safe (the same, without racks if only some brokers have "
    "one), simple, striped (KRaft), or MODULE:FUNCTION; unless given, multi-level if all racks are paths, "
    "else rack-aware"
)


def place(commands: Any) -> None:
    """Add `kwire place`."""
    parser = command(
        commands,
        "place",
        "place replicas over racks, and say how even it is and what is lost with what",
        "  kwire place --brokers b.json --partitions 12 --rf 3\n"
        "  kwire place --brokers b.json --partitions 12 --rf 3 --topic t --json > p.json\n"
        "      then: kafka-reassign-partitions --reassignment-json-file p.json --execute\n"
        "  kwire place --brokers b.json --current p.json          how even is it?\n"
        "  kwire place --brokers b.json --current p.json --rf 4   more replicas\n"
        "  kwire place --from dump.bin --topic orders                 as it is in a dump\n"
        '\nb.json: [{"id": 1, "rack": "/DC1/R1"}, ...], {"1": "/DC1/R1", ...}, or what\n'
        "kwire cluster --json writes. p.json: as kafka-reassign-partitions takes it.\n",
        "place:place",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--brokers", metavar="FILE", help="JSON of brokers and their racks; - is standard input")
    source.add_argument(
        "--from", dest="files", action="append", metavar="DUMP", help="brokers and partitions as a dump tells of them"
    )
    parser.add_argument("--as", dest="named", metavar="API:VERSION", help="for --from: what a response answers")
    profile(parser)
    parser.add_argument("--current", metavar="FILE", help="an assignment to look at, or to give more replicas")
    parser.add_argument("--partitions", type=int, metavar="N", help="place so many new partitions")
    parser.add_argument("--rf", type=int, metavar="N", help="replicas of each partition")
    parser.add_argument("--topic", metavar="T", help="the topic to place; of those that are there, this one alone")
    parser.add_argument("--broker-list", metavar="IDS", help="place on these brokers alone, such as 1,2,5")
    parser.add_argument("--assignor", metavar="NAME", help=ASSIGNORS)
    parser.add_argument("--disable-rack-awareness", action="store_true", help="force the simple algorithm")
    parser.add_argument(
        "--seed", type=int, metavar="N", help="of java.util.Random; by chance unless given, and printed"
    )
    parser.add_argument("--report", action="store_true", help="the report alone, without the assignment")
    parser.add_argument(
        "--json", action="store_true", help="JSON for kafka-reassign-partitions; with --report, the report"
    )
    colour(parser)
    parser.set_defaults(hex=None, recursive=False, body=False)


def redact(commands: Any) -> None:
    """Add `kwire redact`."""
    parser = command(
        commands,
        "redact",
        "take payloads, secrets and names out of dumps",
        "  kwire redact dump.pcap -o shareable.pcap\n"
        "  kwire redact dump.pcap -o shareable.pcap --keep topic,client\n"
        "  kwire redact --list                   what is taken out, and why\n"
        "\nA capture becomes a capture of the same connections, raw frames stay raw frames,\n"
        "whatever the name of OUT.\n",
        "redact:redact",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="a dump; - is standard input")
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="where to write: a capture where the input names connections"
    )
    raw(parser)
    parser.add_argument("--keep", default="", metavar="KINDS", help="what stays, with commas between; see --list")
    parser.add_argument("--list", action="store_true", help="list the kinds of things that are taken out")
    profile(parser)


def pipeline(commands: Any) -> None:
    """Add `kwire pipeline`."""
    parser = command(
        commands,
        "pipeline",
        "turn captures into Parquet on Spark, with the history of their clusters",
        "  kwire pipeline captures/ --out lake             on all cores of this machine\n"
        "  kwire pipeline 'a/*.pcap' --out lake --plots    with a drawing of each cluster\n"
        "  kwire pipeline /data --out s3a://lake/kafka --master spark://host:7077\n"
        "  kwire pipeline --zip kwire.zip                  for spark-submit\n"
        "\nlake/frames has a row a frame, by api. Beside it: partition_states, brokers,\n"
        "offline_replicas (KIP-112), rack_violations (KIP-36; rule names KIP-879's),\n"
        "isr_shrinks, sources. The captures of a folder are of one cluster, unless\n"
        "--cluster names them.\n",
        "pipeline:pipeline",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="captures, folders of them, globs")
    parser.add_argument("--out", metavar="DIR", help="where the tables go")
    parser.add_argument(
        "--master", metavar="URL", help="where Spark runs: local[2], spark://host:7077, yarn, sc://host:15002"
    )
    parser.add_argument(
        "--body",
        choices=("json", "raw", "none"),
        default="json",
        help="what the column message of the frames is; json unless given",
    )
    parser.add_argument(
        "--cluster", metavar="REGEX", help="its first group, found in the path of a file, names the cluster"
    )
    parser.add_argument("--plots", action="store_true", help="draw the history of each cluster, to DIR/plots")
    parser.add_argument("--overwrite", action="store_true", help="replace what is in DIR")
    parser.add_argument(
        "--option", action="append", metavar="NAME=VALUE", help="of the data source, such as maxPartitionBytes=64m"
    )
    parser.add_argument("--conf", action="append", metavar="NAME=VALUE", help="of Spark")
    parser.add_argument("--json", action="store_true", help="the counts as one JSON object")
    parser.add_argument("--zip", metavar="FILE", help="write kwire as a zip for spark-submit, and a script beside it")
