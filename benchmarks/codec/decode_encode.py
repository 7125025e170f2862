"""How fast kwire decodes, encodes and writes JSON, beside others.

    python -m benchmarks.codec.decode_encode [--only TEXT] [--rounds N]

All implementations take turns in one process, in slots of a few milliseconds of its own time, so that a slow machine
is slow for all of them. What is printed are ratios within a round: their median, and in brackets the least and the
greatest; above 1 kwire is faster. Before anything is timed, each must give back the bytes and hold the same values.
`kwire` is the engine that runs (KWIRE_ENGINE); `python` is the fallback, `reference` the path that explains. JSON text
is made of bytes, by `msgspec.json` of messages that are ready. First use makes a table of nodes or compiles source.
Peers: pip install kio==0.6.5 kafka-python==3.0.12 aiokafka==0.14.0
--others: Java, Go and Rust, each in a process of its own, in the same rounds; processor time of all its threads;
--others java is one of them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import statistics
import sys
import tempfile
import time
from pathlib import Path

import msgspec

import kwire
from benchmarks.codec.other_languages import PROGRAMS, Other, started
from benchmarks.codec.python_codecs import PEERS, Peer
from benchmarks.lib.bodies import Body, bodies
from benchmarks.lib.result_chart import check_matplotlib, draw
from benchmarks.lib.result_table import table
from benchmarks.lib.results import Row, medians
from benchmarks.lib.rounds import Timer, round_robin, spread, timer

NEEDED = ("kio", "kafka-python", "aiokafka")
OPERATIONS = ("decode", "encode", "json", "first use")
WARM = 0.1  # seconds: enough for what kwire and others do when they have seen a message often


def main() -> None:
    options = arguments()
    if options.picture:
        check_matplotlib()
    names = list(PEERS) if options.peers == "all" else ["kwire", *options.peers.split(",")]
    report_missing(names)
    rows = measured(bodies(options.only, in_turn=True), names, options)
    for operation in OPERATIONS:
        report(
            operation, rows, [name for name in (*names[1:], *PROGRAMS) if any(name in r.times(operation) for r in rows)]
        )
    if options.table:
        print("", *table(rows), sep="\n")
    if options.picture:
        draw(rows, options.picture)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="bodies whose names hold this text")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--slot", type=float, default=0.006, metavar="SECONDS", help="time of one turn")
    parser.add_argument(
        "--peers", default="kio,kafka-python,msgpack,msgspec.json,python", help=f"some of {', '.join(PEERS)}; or all"
    )
    parser.add_argument(
        "--others",
        nargs="?",
        const=",".join(PROGRAMS),
        default="",
        metavar="NAMES",
        help=f"{', '.join(PROGRAMS)} too, or some of them, which are built if need be",
    )
    parser.add_argument("--table", action="store_true", help="the README's table too")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw it too, with matplotlib: speed.png")
    return parser.parse_args()


def report_missing(names: list[str]) -> None:
    """Say which peers are measured, at which version, and which are not installed."""
    for name in names:
        if name in NEEDED:
            try:
                print(f"{name} {importlib.metadata.version(name)}")
            except importlib.metadata.PackageNotFoundError:
                print(f"{name} is not installed: its columns are left out")


def measured(chosen: list[Body], names: list[str], options: argparse.Namespace) -> list[Row]:
    """Compare what all implementations make of the bodies, and time them."""
    with tempfile.TemporaryDirectory() as scratch:
        others = started(Path(scratch), options.others.split(",")) if options.others else []
        runs = [timers for body in chosen for timers in timers_of(body, names, others)]
        times = iter(round_robin(runs, options.rounds, options.slot, min(WARM, 16 * options.slot)))
        rows = [Row(body, {operation: next(times) for operation in OPERATIONS}) for body in chosen]
        for other in others:
            other.end()
    return rows


def timers_of(body: Body, names: list[str], others: list[Other]) -> list[dict[str, Timer]]:
    """Compare what all make of one body; return what times each operation."""
    peers = {name: peer for name in names if (peer := PEERS[name](body)) is not None}
    check(body, peers)
    codecs = {name: one for name, one in peers.items() if name != "msgspec.json"}
    decode = {name: timer(one.decode, one.inputs, time.process_time) for name, one in codecs.items()}
    encode = {name: timer(one.encode, one.messages, time.process_time) for name, one in codecs.items()}
    json = {
        name: timer(one.json, one.messages if name == "msgspec.json" else one.inputs, time.process_time)
        for name, one in peers.items()
        if one.json is not None
    }
    first = {name: timer(one.first_use, [()], time.process_time) for name, one in peers.items() if one.first_use}
    for other in others:
        timers = other.load(body)
        if timers:
            decode[other.name], encode[other.name] = timers["decode"], timers["encode"]
    return [decode, encode, json, first]


def check(body: Body, peers: dict[str, Peer]) -> None:
    """Make sure that all hold the same values and write the same bytes, but for msgpack, whose bytes are others."""
    for name, peer in peers.items():
        for data, message, our in zip(body.datas, peer.messages, peers["kwire"].messages, strict=True):
            if name != "msgpack" and bytes(peer.encode(*message)) != data:
                sys.exit(f"{name} does not write the bytes of {body.label} again")
            if not peer.agrees(*our, *message):
                sys.exit(f"{name} reads other values of {body.label}")
    codec = kwire.codec(body.message, body.version)
    if codec.json_text(body.data) != msgspec.json.encode(codec.to_json(codec.decode(body.data))).decode():
        sys.exit(f"kwire writes other JSON text of {body.label}")


def report(operation: str, rows: list[Row], others: list[str]) -> None:
    """Print a table of one operation: a row a body, and the median of all."""
    print(f"\n{operation:56}{'bytes':>8}{'µs':>9}" + "".join(f"{name:>22}" for name in others))
    for row in rows:
        cells = "".join(f"{spread(row.ratios(operation, other)):>22}" for other in others)
        taken = statistics.median(row.times(operation)["kwire"]) * 1e6
        print(f"{row.body.label:56}{row.body.size:>8.0f}{taken:>9.2f}{cells}")
    cells = "".join(f"{spread(medians(rows, operation, other)):>22}" for other in others)
    print(f"{f'median of {len(rows)}, least and greatest median':73}{cells}")


if __name__ == "__main__":
    main()
