"""The commands of `kwire`: what each does, and the module of it.

A module is imported only when its command runs or shows its options, so that `kwire --help` is quick.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Protocol, cast

# The modules of `kwire.cli.commands` in the order of `kwire --help`, and what each does.
COMMANDS: dict[str, str] = {
    "decode": "decode the frames of captures and other dumps",
    "explain": "show every byte of a dump and the field it belongs to",
    "browse": "browse frames, their fields and bytes in the terminal",
    "report": "write a report on dumps as one HTML page",
    "encode": "encode JSON to bytes",
    "check": "check that frames encode to the same bytes",
    "stats": "count frames by client, api, version and more",
    "latency": "show where the time of requests went",
    "timeline": "list what happened, in order of time",
    "cluster": "show brokers by rack, topics, leaders and replicas",
    "assign": "recompute a consumer group's assignment",
    "simulate": "simulate disk failures, and write the capture",
    "place": "plan replica placement across racks",
    "redact": "remove payloads, secrets and names from dumps",
    "slice": "write selected frames of a capture to a new capture",
    "wireshark": "write a dissector for Wireshark and tshark",
    "pipeline": "convert captures to tables on Spark",
    "call": "send one request to a broker, and show the response",
    "proxy": "run a proxy that shows the messages of clients",
    "serve": "run one or more small brokers for tests",
    "replay": "play the requests of a failed test again",
    "schema": "show the fields of messages",
    "compare": "compare the traffic of two captures",
    "diff": "show differences of versions, releases or dumps",
    "apis": "list apis and their versions",
    "errors": "explain error codes",
    "spec": "work on JSON message specs",
    "mcp": "serve captures to an assistant, by MCP",
    "demo": "explain a bundled dump of a real broker",
    "help": "explain a topic, such as exit-codes or filters",
}


class Command(Protocol):
    """What a module of `kwire.cli.commands` defines."""

    EXAMPLES: str  # the beginning of its help

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the command."""

    def run(self, options: argparse.Namespace) -> int:
        """Run the command; return the exit code."""


def import_command(name: str) -> Command:
    """Import the module of a command."""
    return cast(Command, import_module(f".commands.{name}", __package__))
