"""Run the tests marked `fuzz` again and again for some minutes, each round with a seed of its own.

The tests compare what they draw with the reference execution and with itself: messages and damaged messages of every
kind and version, record batches, captures, specs. Each round prints its seed, and failing cases as pytest does, with
their bytes; the failures are listed at the end.
`KWIRE_SEED=N KWIRE_TRIES=N HYPOTHESIS_PROFILE=ci pytest -m fuzz` repeats a round.
`--sanitize` fuzzes the native engine, built with sanitizers, instead (`tests.tools.sanitize`).
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import SystemRandom

from tests.tools import sanitize

ROOT = Path(__file__).parent.parent.parent
TRIES = 10  # times as many cases as in a run of the tests; a round then takes a minute or two
BROKEN = "pytest itself"
GRACE = 30  # seconds in which pytest must have ended when it is asked to


def files() -> list[str]:
    """Return the files with such tests; to collect all others takes half a minute."""
    return [str(path) for path in sorted(ROOT.glob("tests/**/test_*.py")) if "mark.fuzz" in path.read_text("utf-8")]


def failures(line: str) -> list[str]:
    """Return the test that a line of pytest's summary names as failed, if it does.

    >>> failures("FAILED tests/codecs/test_round_trip.py::test_every_message_comes_back[0] - AssertionError")
    ['tests/codecs/test_round_trip.py::test_every_message_comes_back[0]']
    """
    return re.findall(r"^(?:FAILED|ERROR) (\S+)", line)


def fuzz_round(seed: int, until: float, options: Sequence[str]) -> list[str]:
    """Run the tests once, or until a time; return the tests that failed."""
    command = [sys.executable, "-m", "pytest", "-m", "fuzz", "-n", "2", "--dist", "worksteal", *options, *files()]
    env = {**os.environ, "KWIRE_SEED": str(seed)}
    failed: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        assert process.stdout is not None
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, max(until - time.monotonic(), 0.1), GRACE)  # and again, if need be
        for line in process.stdout:
            if not re.fullmatch(r"[.s]* *(\[ *\d+%\])?\n|bringing up nodes.*\n", line):
                print(line, end="", flush=True)
            failed += failures(line)
        process.wait()
        signal.setitimer(signal.ITIMER_REAL, 0)
    if process.returncode not in (0, 1, 2, -signal.SIGINT):  # neither passed, nor failed, nor interrupted
        failed.append(f"{BROKEN}, exit code {process.returncode}")
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz for some minutes; return 1 if a case failed."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if "--sanitize" in given:
        return sanitize.main([one for one in given if one != "--sanitize"])
    parser = argparse.ArgumentParser(prog="dev.py fuzz", description="Run the tests marked fuzz with fresh seeds.")
    parser.add_argument("--minutes", type=float, default=10, help="how long (default: 10)")
    parser.add_argument("--seed", type=int, help="the seed of the first round (default: drawn)")
    parser.add_argument("--sanitize", action="store_true", help="fuzz the engine, built with ASAN and UBSAN, instead")
    options, more = parser.parse_known_args(given)
    until, found, rounds = time.monotonic() + 60 * options.minutes, list[str](), 0
    os.environ.setdefault("KWIRE_TRIES", str(TRIES))
    os.environ.setdefault("HYPOTHESIS_PROFILE", "ci")
    seed = SystemRandom().randrange(10**9) if options.seed is None else options.seed
    while time.monotonic() < until and not any(BROKEN in one for one in found):
        print(f"== round {rounds + 1}, KWIRE_SEED={seed}, KWIRE_TRIES={os.environ['KWIRE_TRIES']}", flush=True)
        found += [f"KWIRE_SEED={seed}: {one}" for one in fuzz_round(seed, until, more)]
        rounds, seed = rounds + 1, seed + 1
    print(f"== {rounds} rounds, the last one perhaps in part; {len(found)} failures", *found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
