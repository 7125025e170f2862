"""The grammars of the commands that talk to brokers, or are some: call, proxy, serve."""

from __future__ import annotations

from typing import Any

from .grammar import colour, command, profile, secrets


def call(commands: Any) -> None:
    """Add `kwire call`."""
    parser = command(
        commands,
        "call",
        "send one request to a broker, and show its answer",
        "  kwire call :9092 ApiVersions\n"
        '  kwire call :9092 Metadata \'topics:=[{"name": "orders"}]\'\n'
        "  kwire call b1:9092 FindCoordinator 'coordinatorKeys:=[\"my-group\"]'\n"
        "  kwire call :9092 DeleteGroups:2 'groupsNames:=[\"old\"]' --yes\n"
        "  kwire call :9092 Metadata:12 --offline         its bytes, and nothing sent\n"
        "\nWithout a version: the newest that both sides know. Fields that are not given\n"
        "have their defaults. Exit code 1 if the answer has an error code.\n",
        "call:call",
    )
    parser.add_argument("address", metavar="HOST:PORT", help="a broker; :PORT is on this machine")
    parser.add_argument("api", metavar="NAME[:VERSION]", help="the api")
    parser.add_argument(
        "members", nargs="*", default=[], metavar="FIELD=TEXT", help="a field; FIELD:=JSON for what is no text"
    )
    parser.add_argument("--body", metavar="FILE", help="JSON of the payload, into which fields are put; - is stdin")
    parser.add_argument("--yes", action="store_true", help="also what may change something on the broker")
    parser.add_argument("--offline", action="store_true", help="print the request's bytes as hex, and send nothing")
    parser.add_argument("--client-id", default="kwire", metavar="TEXT", help="kwire unless given")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS", help="10 unless given")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the answer as JSON, indented")
    form.add_argument("--jsonl", action="store_true", help="the answer as JSON on one line")
    secrets(parser)
    profile(parser)
    colour(parser)


def proxy(commands: Any) -> None:
    """Add `kwire proxy`."""
    parser = command(
        commands,
        "proxy",
        "stand between clients and brokers, and listen",
        "  kwire proxy :19092 broker:9092                 a line a message\n"
        "  kwire proxy :19092 broker:9092 -w seen.pcap    record a capture\n"
        "  kwire proxy :19092 broker:9092 --jsonl | jq .\n"
        "\nClients connect to the first address. Each broker that an answer names gets a\n"
        "port of its own here, and the answer names that; nothing else is changed.\n"
        "Needs no root.\n",
        "proxy:proxy",
    )
    parser.add_argument("listen", metavar="LISTEN", help="HOST:PORT to listen on; :PORT is on this machine alone")
    parser.add_argument("upstream", metavar="BROKER", help="HOST:PORT of a broker")
    parser.add_argument("-w", "--write", metavar="FILE", help="record a capture, as the brokers said it")
    parser.add_argument("--jsonl", action="store_true", help="one JSON object a message")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no messages")
    parser.add_argument("--public", action="store_true", help="listen also where other machines can connect")
    secrets(parser)
    profile(parser)
    colour(parser)


def serve(commands: Any) -> None:
    """Add `kwire serve`."""
    parser = command(
        commands,
        "serve",
        "run a small broker, or several, for tests",
        "  kwire serve                                    one on 127.0.0.1:9092, in memory\n"
        "  kwire serve :19092 --brokers 3                 three, on this port and the next ones\n"
        "  kwire serve --cluster cluster.json             brokers with racks and directories\n"
        "  kwire serve --config server.properties         as Kafka's own file says\n"
        "  kwire serve --cluster c.json --fail-log-dir 1:/data/b@30\n"
        '\ncluster.json: {"brokers": [{"id": 1, "port": 9092, "rack": "/DC1/R1",\n'
        '"logDirs": ["/data/a", "/data/b"]}, ...]}; all but the id may be missing. Without\n'
        "directories, all is kept in memory; with them topics, records and committed\n"
        "offsets are there after a restart, and one that is removed or broken is noticed.\n"
        "A directory is used by one process at a time, which holds its file .lock; what a\n"
        "damaged log loses is a line on stderr. As in Kafka, nothing is forced to the disk.\n"
        "For tests and trials: no replication over the network, no transactions, no\n"
        "security.\n",
        "serve:serve",
    )
    parser.add_argument("listen", nargs="?", default=":9092", metavar="LISTEN", help="HOST:PORT; :9092 unless given")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--brokers", type=int, default=1, metavar="N", help="so many brokers, with ids from 1 on")
    source.add_argument("--cluster", metavar="FILE", help="brokers, with racks and directories, as JSON")
    source.add_argument("--config", action="append", metavar="FILE", help="a server.properties; once for each broker")
    parser.add_argument("--partitions", type=int, default=1, metavar="N", help="of a topic made without a number")
    parser.add_argument("--replication-factor", type=int, default=1, metavar="N", help="of such a topic")
    parser.add_argument(
        "--assignor",
        metavar="NAME",
        help="places replicas, as that of kwire place; unless given, rack-aware, or with --profile KIP-879 "
        "multi-level, which needs a rack such as /DC1/R1 for each broker",
    )
    parser.add_argument("--retention-bytes", type=int, default=-1, metavar="N", help="kept of each partition; all: -1")
    parser.add_argument("--fail-log-dir", action="append", default=[], metavar="ID:DIR[@SECONDS]", help="it fails then")
    parser.add_argument("--seed", type=int, metavar="N", help="for ids and placements; by chance unless given")
    parser.add_argument("--profile", choices=("KIP-879",), help="serve CreateReplicaAssignment too")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing of clients")
    parser.add_argument("--public", action="store_true", help="listen also where other machines can connect")
