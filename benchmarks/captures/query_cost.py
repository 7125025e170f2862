"""What queries cost, beside printing the whole capture as JSON lines.

    python -m benchmarks.captures.query_cost [--megabytes 15] [--rounds 5] [--only TEXT] [CAPTURE...]

Each query and `kwire decode --jsonl` of the same capture take turns, each in a process of its own, with its processor
time in user mode. What is printed is how many times as long the query takes: the median of the rounds, and in brackets
the least and the greatest.

The captures are those of `reading_speed`: `small` repeats a capture of Kafka 3.9, in `unlike` no body comes twice.
CAPTUREs of one's own are grown.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.captures.reading_speed import JSONL, KWIRE, MADE, grown, user_seconds
from benchmarks.lib.checkouts import ROOT
from benchmarks.lib.rounds import ratios, spread

QUERIES = (
    ("--count",),
    ("--api", "Fetch"),
    ("--api", "Fetch", "--count"),
    ("--client", "*1*"),
    ("--conn", "127.0.0.1"),
    ("--errors",),
    ("--from", "1", "--to", "2"),
    ("--sort", "latency"),
    ("--sort", "size", "--first", "20"),
    ("--first", "5000"),
    ("--fields", "frame,api,latency"),
    ("--fields", "frame,time,client_id,topic,error"),
    ("--fields", "frame,error_code,topics"),
    ("--fields", "api,client,broker,size", "--format", "jsonl"),
    ("--where", "latency > 1s", "--count"),
    ("--where", "api == fetch and size > 100", "--count"),
    ("--where", "error_code != 0", "--count"),
    ("--where", 'topic == "orders"', "--count"),
    ("--where", 'group == "billing"', "--count"),
    ("--where", "partitions[].error_code == 3 or topics", "--count"),
    ("--where", 'client_id matches "^client" and not (api in (fetch, produce))'),
    ("--where", "error", "--jsonl"),
    ("--where", "type == request", "--jsonl"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", type=Path, nargs="*", metavar="CAPTURE")
    parser.add_argument("--megabytes", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="TEXT", help="captures and queries whose names hold this text")
    options = parser.parse_args()
    made = {name: MADE[name] for name in ("small", "unlike")}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (made | {source.name: grown(source) for source in options.captures}).items():
            make(path := Path(folder) / f"{name}.pcap", int(options.megabytes * 1_000_000))
            for query in QUERIES:
                title = f"{name}: {' '.join(query)}"
                if options.only in title:
                    compare(title, [*KWIRE, "decode", "--no-pager", *query, str(path)], path, options.rounds)


def compare(title: str, query: list[str], path: Path, rounds: int) -> None:
    """Print the ratio of a query to JSON lines, both in turn."""
    whole = [*KWIRE, *JSONL, str(path)]
    times = [(user_seconds(query, ROOT), user_seconds(whole, ROOT)) for _ in range(rounds)]
    print(f"{title:88} {spread(ratios(*zip(*times, strict=True)))}", flush=True)


if __name__ == "__main__":
    main()
