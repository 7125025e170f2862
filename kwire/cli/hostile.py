"""`kwire serve --hostile` and `kwire call --hostile`: peers that break the protocol, to test clients and brokers."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterable, Sequence
from random import Random

from ..broker import Node
from ..client.address import LOOPBACK, address
from ..client.operator_lines import OperatorLines
from ..errors import UnknownMessage
from ..render.value_text import count_text
from ..testing.hostile import CLIENT_KINDS, BrokerKind, ClientKind, HostileCluster
from ..testing.hostile.attack import AttackResult, attack
from ..testing.hostile.serving import HostileServing
from .options.usage_error import UsageError
from .terminal.remarks import remark

LIST, ALL = "list", "all"  # instead of a kind


def print_kinds(kinds: Iterable[BrokerKind | ClientKind], peer: str) -> None:
    """Print what each kind does, and what a sound peer then does."""
    for kind in kinds:
        print(f"{kind.name}: {kind.does}")
        print(f"  a sound {peer} {kind.sound}")


def serve_hostile(options: argparse.Namespace, nodes: Sequence[Node]) -> int:
    """Serve a hostile cluster until Ctrl-C."""
    cluster = HostileCluster(options.hostile, nodes, options.seed)
    notes = OperatorLines((lambda text: None) if options.quiet else remark)
    serving = HostileServing(cluster, notes)
    try:
        asyncio.run(_serve(serving, options.json))
    finally:
        notes.close()
        remark(f"{count_text(serving.connections, 'connection')}")
    return 0


async def _serve(serving: HostileServing, is_json: bool) -> None:
    places = await serving.start()
    kind = serving.cluster.kind
    remark(f"listening on {', '.join(map(str, places))}; Ctrl-C ends")
    remark(f"hostile: {kind.does}; a sound client {kind.sound}")
    if is_json:
        print(json.dumps({"bootstrapServers": ",".join(map(str, places))}), flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await serving.stop()


def call_hostile(options: argparse.Namespace) -> int:
    """Attack a broker, and print what it does; returns 1 if it no longer serves another client."""
    if options.hostile == LIST:
        print_kinds(CLIENT_KINDS.values(), "broker")
        return 0
    if options.hostile not in (ALL, *CLIENT_KINDS):
        raise UnknownMessage("hostile client", options.hostile, [ALL, *CLIENT_KINDS])
    if options.address is None or options.api is not None:
        raise UsageError("--hostile takes the address of a broker of your own, and no api")
    where = address(options.address)
    if where.host not in LOOPBACK and not options.yes:
        raise UsageError(f"{where} is on another machine: attack only your own test systems; --yes says that it is one")
    kinds = list(CLIENT_KINDS.values()) if options.hostile == ALL else [CLIENT_KINDS[options.hostile]]
    verdicts = asyncio.run(attack(where, kinds, options.timeout, Random()))
    for line in verdict_lines(verdicts):
        print(line)
    return 0 if all(verdict.still_serves for verdict in verdicts) else 1


def verdict_lines(verdicts: Sequence[AttackResult]) -> list[str]:
    """Return a line for each kind of client: what the broker did, and whether it answered another client."""
    return [
        f"{verdict.kind.name:<16} {verdict.did}; {'serves others' if verdict.still_serves else 'DOES NOT SERVE OTHERS'}"
        for verdict in verdicts
    ]
