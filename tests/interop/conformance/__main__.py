"""`python -m tests.interop.conformance RELEASE`: records the answers of a real broker, which it starts.

`python -m tests.interop.conformance RELEASE HOST:PORT` asks the broker that listens there, on which nothing was done.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ..kafka import real_cluster
from .askers import RealBroker
from .recording import list_lines, write_recorded


def main(release: str, place: str) -> None:
    host, _, port = place.rpartition(":")
    lines = list_lines(RealBroker(host, int(port)))
    write_recorded(release, lines)
    sys.stdout.write(f"{len(lines)} answers\n")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(*sys.argv[1:3])
    else:
        with (
            tempfile.TemporaryDirectory() as folder,
            real_cluster(sys.argv[1], Path(folder), 1, "a") as facts,
        ):
            main(sys.argv[1], facts["bootstrap"])
