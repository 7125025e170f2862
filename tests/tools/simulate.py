"""Simulates histories of brokers and clients under faults with new seeds, for as long as one likes."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from random import SystemRandom

from kwire import testing


def main() -> int:
    """Simulate; return 1 if an invariant was violated."""
    parser = argparse.ArgumentParser(prog="simulate", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="how long to go on (default: 2)")
    parser.add_argument("--seed", type=int, help="the seed of the first history; by default a new one")
    parser.add_argument("--steps", type=int, default=12, help="faults in each history (default: 12)")
    parser.add_argument("--most", type=int, help="how many histories at most")
    parser.add_argument("--chaos", action="store_true", help="disturb requests lawfully, too")
    options = parser.parse_args()
    first = SystemRandom().randrange(10**9) if options.seed is None else options.seed
    print(f"simulating from seed {first}, {options.steps} faults each", flush=True)
    gc.freeze()  # what is imported by now need not be looked at again: a third of the time
    ends, used = time.monotonic() + options.minutes * 60, time.process_time()
    count, failing = 0, []
    while time.monotonic() < ends and count != options.most:
        result = testing.simulate(first + count, steps=options.steps, has_chaos=options.chaos)
        count += 1
        if result.violations:
            failing.append(result.schedule.seed)
            print(f"\n{result.shrink().report(result.schedule.seed)}\n", flush=True)
    rate = count / max(time.process_time() - used, 0.001)
    seeds = f": seeds {', '.join(map(str, failing))}" if failing else ""
    print(f"{count} histories, {rate:.1f} a second of processor time, {len(failing)} with violations{seeds}")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
