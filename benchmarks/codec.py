"""How fast kwire decodes and encodes, beside others: python benchmarks/codec.py [--only TEXT] [--rounds N]

All implementations take turns in one process, in slots of a few milliseconds of its own time, so that a slow machine
is slow for all of them. What is printed are ratios within a round: their median, and in brackets the least and the
greatest; above 1 kwire is faster. Before anything is timed, each must give back the bytes and hold the same values.
The memo is off, but in the column that has its name. Peers: pip install kio==0.6.5 kafka-python==3.0.12
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import statistics
import sys
import time
from collections.abc import Callable

from bodies import Body, bodies
from peers import PEERS, Peer

NEEDED = {"kio": "kio", "kafka-python": "kafka-python"}
Times = dict[str, list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="bodies whose names hold this text")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--slot", type=float, default=0.006, metavar="SECONDS", help="time of one turn")
    parser.add_argument("--peers", default="kio,kafka-python,msgpack", help=f"some of {', '.join(PEERS)}; or all")
    options = parser.parse_args()
    names = list(PEERS) if options.peers == "all" else ["kwire", *options.peers.split(",")]
    report_missing(names)
    chosen = bodies(options.only)
    for operation in ("decode", "encode"):
        compare(operation, chosen, names, options.rounds, options.slot)


def report_missing(names: list[str]) -> None:
    """Say which peers are measured, at which version, and which are not installed."""
    for name in names:
        if name in NEEDED:
            try:
                print(f"{name} {importlib.metadata.version(NEEDED[name])}")
            except importlib.metadata.PackageNotFoundError:
                print(f"{name} is not installed: its columns are empty")


def compare(operation: str, chosen: list[Body], names: list[str], rounds: int, slot: float) -> None:
    """Print a table of one operation: a row a body."""
    others = [name for name in names if name != "kwire" and not (name == "memo" and operation == "encode")]
    print(f"\n{operation:44}{'bytes':>8}{'µs':>9}" + "".join(f"{name:>25}" for name in others))
    runs = []
    for body in chosen:
        peers = {name: peer for name in ("kwire", *others) if (peer := PEERS[name](body)) is not None}
        check(body, peers)
        runs.append((body, {name: getattr(peer, operation) for name, peer in peers.items()}))
    times: list[Times] = [{name: [] for name in calls} for _, calls in runs]
    for _ in range(rounds):
        for (_, calls), taken in zip(runs, times, strict=True):
            for name, call in calls.items():
                taken[name].append(seconds(call, slot))
    for (body, _), taken in zip(runs, times, strict=True):
        print(row(body, taken, others))
    print(summary(runs, times, others))


def check(body: Body, peers: dict[str, Peer]) -> None:
    """Make sure that all hold the same values and write the same bytes, but for msgpack, whose bytes are others."""
    message = peers["kwire"].decode()
    for name, peer in peers.items():
        peer.decode()
        if name != "msgpack" and peer.encode() != body.data:
            sys.exit(f"{name} does not write the bytes of {body.label} again")
        if not peer.agrees(message):
            sys.exit(f"{name} reads other values of {body.label}")


def seconds(call: Callable[[], object], slot: float) -> float:
    """Return the time of one call, over as many as go into a slot."""
    gc.collect()
    count, end = 0, time.process_time() + slot / 2
    while time.process_time() < end:
        call()
        count += 1
    begin = time.process_time()
    for _ in range(count or 1):
        call()
    return (time.process_time() - begin) / (count or 1)


def ratios(taken: Times, other: str) -> list[float]:
    return [theirs / ours for ours, theirs in zip(taken["kwire"], taken[other], strict=True)]


def row(body: Body, taken: Times, others: list[str]) -> str:
    cells = ""
    for other in others:
        found = ratios(taken, other) if other in taken else []
        text = f"{statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})" if found else "-"
        cells += f"{text:>25}"
    return f"{body.label:44}{len(body.data):>8}{statistics.median(taken['kwire']) * 1e6:>9.2f}{cells}"


def summary(runs: list[tuple[Body, dict[str, Callable[[], object]]]], times: list[Times], others: list[str]) -> str:
    """Return a row of the median of all rows' medians."""
    cells = ""
    for other in others:
        found = [statistics.median(ratios(taken, other)) for taken in times if other in taken]
        text = f"{statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})" if found else "-"
        cells += f"{text:>25}"
    return f"{f'median of {len(runs)}, least and greatest median':61}{cells}"


if __name__ == "__main__":
    main()
