"""How fast the fallback is beside an older checkout's: KWIRE_ENGINE=python, python -m benchmarks.codec.fallback DIR

Each checkout reads the same bodies in a process of its own, in the same rounds; what is printed are ratios of processor
time, their median over bodies, the least and the greatest; above 1 this checkout is faster. Both must write the bytes
again before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.lib.bodies import bodies
from benchmarks.lib.checkouts import ROOT, arguments_for
from benchmarks.lib.rounds import ratios, spread, timer

KINDS = {"one body again and again": "", "64 alike in turn": " alike ", "64 unlike in turn": " unlike "}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, metavar="DIR", help="another checkout of kwire")
    parser.add_argument("--only", default="", metavar="TEXT", help="bodies whose names hold this text")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--slot", type=float, default=0.006, metavar="SECONDS", help="time of one turn")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        serve(options)
        return
    here, other = child(options, ROOT), child(options, options.other)
    labels = [body.label for body in bodies(options.only, in_turn=True)]
    for operation in ("decode", "encode"):
        found = {label: compared(number, operation, here, other, options) for number, label in enumerate(labels)}
        for kind, mark in KINDS.items():
            chosen = [value for label, value in found.items() if (mark in label if mark else " in turn" not in label)]
            print(f"{operation}, {kind:26} {spread(chosen)}")


def compared(number: int, operation: str, here: Any, other: Any, options: argparse.Namespace) -> float:
    """Return how many times as fast this checkout is with one body."""
    times: dict[Any, list[float]] = {here: [], other: []}
    for _ in range(options.rounds):
        for one, taken in times.items():
            taken.append(ask(one, number, operation))
    return statistics.median(ratios(times[other], times[here]))


def child(options: argparse.Namespace, root: Path) -> Any:
    """Start a process that measures with one checkout."""
    benchmark = [sys.executable, *arguments_for("benchmarks.codec.fallback"), str(root)]
    command = [*benchmark, "--child", "--only", options.only, "--slot", str(options.slot)]
    env = {**os.environ, "KWIRE_ENGINE": "python", "PYTHONPATH": str(root.resolve())}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True)


def ask(process: Any, number: int, operation: str) -> float:
    """Return the seconds of one call."""
    print(json.dumps([number, operation]), file=process.stdin, flush=True)
    return float(process.stdout.readline())


def serve(options: argparse.Namespace) -> None:
    """Time what is asked for on standard input."""
    functions = [one for body in bodies(options.only, in_turn=True) for one in [pair(body)]]
    for line in sys.stdin:
        number, operation = json.loads(line)
        function, values = functions[number][operation]
        print(timer(function, [(value,) for value in values], time.process_time)(options.slot), flush=True)


def pair(body: Any) -> dict[str, tuple[Callable[[Any], Any], Iterable[Any]]]:
    """Return what decodes and encodes a body, and of what."""
    import kwire

    codec = kwire.codec(body.message, body.version)
    messages = [codec.decode(data) for data in body.datas]
    assert tuple(map(codec.encode, messages)) == body.datas, body.label
    return {"decode": (codec.decode, body.datas), "encode": (codec.encode, messages)}


if __name__ == "__main__":
    main()
