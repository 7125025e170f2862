"""How long the first use of a message takes, and growing all trees: .venv/bin/python benchmarks/growth.py [ROUNDS].

Each round runs in a fresh process, so that nothing is cached but the operating system's files.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

PROGRAM = """
import json, time
import kwire
from kwire.catalog import catalog_for
names = [n for n in catalog_for().names()]
kwire.codec("MetadataRequest", 0).decode(bytes(4))  # all layers warm
first = []
for name in names:
    start = time.perf_counter()
    codec = kwire.codec(name, catalog_for().spec(name).versions.last)
    try:
        codec.decode(b"")
    except kwire.DecodeError:
        pass
    first.append((time.perf_counter() - start) * 1e3)
start = time.perf_counter()
count = sum(1 for name in names for v in catalog_for().spec(name).versions if kwire.codec(name, v))
print(json.dumps({"first": first, "all": time.perf_counter() - start + sum(first) / 1e3, "count": count}))
"""


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    runs = [
        json.loads(subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True).stdout)
        for _ in range(rounds)
    ]
    medians = [statistics.median(run["first"]) for run in runs]
    worst = [max(run["first"]) for run in runs]
    totals = [run["all"] for run in runs]
    print(f"first use of a message, newest version, {len(runs[0]['first'])} messages, {rounds} fresh processes (ms)")
    for name, figures in (("median", medians), ("slowest", worst)):
        print(f"  {name:<8} min {min(figures):6.2f}  median {statistics.median(figures):6.2f}  max {max(figures):6.2f}")
    print(f"all {runs[0]['count']} trees grown (s)")
    print(f"  {'':<8} min {min(totals):6.2f}  median {statistics.median(totals):6.2f}  max {max(totals):6.2f}")


if __name__ == "__main__":
    main()
