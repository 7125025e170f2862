"""Download what several tests of CI need, while others run: `dev.py ci` starts this.

A test that needs it earlier waits for it. What cannot be downloaded is left to the tests, which report why.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tests.conftest import SHARED
from tests.interop import kafka
from tests.tools import site


def downloads() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name of each download, and the function for it."""
    yield "Pyodide", partial(site.fetch, site.CACHE)
    if SHARED.is_dir():
        for release in kafka.ORACLES:
            yield f"the oracle of Kafka {release}", partial(kafka.oracle, release)
        for release in (*kafka.RELEASES, "4.1.0"):
            yield f"Kafka {release}", partial(kafka.jars, release)
    yield "Spark's connector for Kafka", kafka.spark_connector


def main(steps: Sequence[tuple[str, Callable[[], object]]] | None = None) -> int:
    """Download one after the other; return how many downloads failed."""
    failed = 0
    for name, download in downloads() if steps is None else steps:
        try:
            download()
        except Exception as error:
            failed += 1
            print(f"{name}: {error}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
