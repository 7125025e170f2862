"""The grammars of the commands that talk to brokers: call, proxy."""

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
        "  kwire call b1:9092 FindCoordinator:3 key=my-group\n"
        "  kwire call :9092 DeleteGroups:2 'groupsNames:=[\"old\"]' --yes\n"
        "  kwire call :9092 Metadata:12 --offline         its bytes, and nothing sent\n"
        "\nWithout a version: the newest that both sides know. Fields that are not given\n"
        "have their defaults. Exit code 1 if the answer has an error code.\n",
        "call:call",
    )
    parser.add_argument("address", metavar="HOST:PORT", help="a broker; :PORT is on this machine")
    parser.add_argument("api", metavar="NAME[:VERSION]", help="the api")
    parser.add_argument("members", nargs="*", metavar="FIELD=TEXT", help="a field; FIELD:=JSON for what is no text")
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
