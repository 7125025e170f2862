"""How fast captures are read, beside another checkout, other commands and tshark.

    python -m benchmarks.captures.reading_speed [--against DIR] [--megabytes 30] [--only TEXT] [CAPTURE...]

Captures are made in a temporary folder: `small` is a capture of Kafka 3.9, grown (`grow_pcap.py`); in `large`, records
of 64 KB lie in packets of 1,448 bytes; in `unlike`, no body comes twice; `frames` has 100,000 small frames. CAPTUREs
of one's own are grown too. Then, in turn, each in a process of its own, with its processor time in user mode:

    walk     from a capture to its frames, in this checkout and in the one of --against
    command  of kwire, the same
    beside   two commands of this checkout, or one and tshark

What is printed is how many times as long the other takes: the median of the rounds, and in brackets the least and the
greatest. Before anything is timed, both checkouts must give the same frames, and print the same.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import kwire
from benchmarks.captures.grow_pcap import grow
from benchmarks.lib.bodies import made
from benchmarks.lib.checkouts import ROOT
from benchmarks.lib.rounds import ratios, spread
from kwire.capture.pcap_writer import PcapWriter, TcpWriter
from kwire.protocol.headers.header_versions import header_version_for

SMALL = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
KWIRE = [sys.executable, "-m", "kwire"]
LINES, JSONL = ["decode", "--no-pager"], ["decode", "--no-pager", "--jsonl"]
SEGMENT = 1448  # bytes of TCP in a packet of Ethernet
CONNECTIONS = 20
START = 1_700_000_000_000_000_000
# message, version, counts of its request and of its response (see `bodies`), and how often it comes
MIX = (
    ("Metadata", 12, (4, 1), (20, 6), 3),
    ("Fetch", 13, (10, 10), (3, 4), 6),
    ("OffsetCommit", 8, (5, 5), (5, 5), 4),
    ("Heartbeat", 4, (1, 1), (1, 1), 6),
    ("ListOffsets", 7, (3, 6), (3, 6), 2),
    ("OffsetFetch", 7, (4, 4), (4, 4), 2),
)
# Walks twice, so that what is made on first use is there, and prints the time of the second; or what it has found.
WALK = """
import hashlib, sys, time, kwire
if sys.argv[2] == "equal":
    digest = hashlib.sha256()
    for frame in kwire.read_dump(sys.argv[1]):
        digest.update(repr((frame.data, frame.source, frame.fault is None)).encode())
    print(digest.hexdigest())
else:
    for _ in range(2):
        begin = time.process_time()
        with kwire.open_dump(sys.argv[1]) as dump:
            batches = dump.captured if hasattr(dump, "captured") else dump.said  # of checkouts up to a4155e9
            count = sum(map(len, batches))
        seconds = time.process_time() - begin
    print(seconds)
"""


class Exchange(NamedTuple):
    """A request and its response, on one of the connections."""

    connection: int
    request: bytes
    response: bytes


def framed(name: str, version: int, number: int, body: bytes) -> bytes:
    """Put a header and a size in front of a body."""
    codec = kwire.codec(name, version)
    header = header_version_for(codec.spec, version)
    head = struct.pack(">i", number)
    if codec.spec.type == "request":
        client = b"client-%d" % (number % CONNECTIONS)
        head = struct.pack(">hhih", codec.spec.api_key, version, number, len(client)) + client
        header = (header or 0) - 1
    data = head + (b"\0" if header == 1 else b"") + body
    return struct.pack(">i", len(data)) + data


def exchanges(size: int, mix: tuple[tuple[str, int, tuple[int, int], tuple[int, int], int], ...]) -> Iterator[Exchange]:
    """Yield exchanges of which no body is like another, until they have so many bytes."""
    number = 0
    while size > 0:
        for name, version, asked, answered, times in mix:
            requests, responses = (
                made(f"{name}{kind}", version, *counts, False, alike=False, count=times, first=number)
                for kind, counts in (("Request", asked), ("Response", answered))
            )
            for one, other in zip(requests.datas, responses.datas, strict=True):
                number += 1
                request = framed(f"{name}Request", version, number, one)
                response = framed(f"{name}Response", version, number, other)
                size -= len(request) + len(response)
                yield Exchange(number % CONNECTIONS, request, response)


def write(path: Path, exchanges: Iterator[Exchange]) -> None:
    """Write a capture, in which a packet holds no more than Ethernet's do."""
    with path.open("wb") as stream:
        pcap, now = PcapWriter(stream), START
        ends = (("10.0.0.1", 20_000 + number) for number in range(CONNECTIONS))
        writers = [TcpWriter(pcap, end, ("10.0.0.2", 9092), now) for end in ends]
        for connection, *sides in exchanges:
            for by_client, data in zip((True, False), sides, strict=True):
                for start in range(0, len(data), SEGMENT):
                    now += 10_000
                    writers[connection].send(now, data[start : start + SEGMENT], by_client=by_client)


def large(size: int) -> Iterator[Exchange]:
    """Yield Fetch requests with 64 KB of records each in their responses."""
    codec, message = kwire.codec("FetchResponse", 11), kwire.messages.FetchResponse
    request = kwire.codec("FetchRequest", 11).encode(kwire.messages.FetchRequest())
    topic = message.FetchableTopicResponse
    partition = message.PartitionData
    for number in range(size // 65_600):
        part = partition(records=number.to_bytes(4, "big") * (1 << 14))
        body = codec.encode(message(responses=[topic(topic="orders", partitions=[part])]))
        yield Exchange(
            number % CONNECTIONS,
            framed("FetchRequest", 11, number, request),
            framed("FetchResponse", 11, number, body),
        )


def grown(source: Path) -> Callable[[Path, int], None]:
    """Return what grows a capture."""

    def grow_to(path: Path, size: int) -> None:
        with path.open("wb") as out:
            grow(source, out, size)

    return grow_to


MADE: dict[str, Callable[[Path, int], None]] = {
    "small": grown(SMALL),
    "large": lambda path, size: write(path, large(size)),
    "unlike": lambda path, size: write(path, exchanges(min(size, 8_000_000), MIX)),
    "frames": lambda path, _: write(path, islice(exchanges(1 << 40, MIX[3:4]), 50_000)),
}


def environment(checkout: Path) -> dict[str, str]:
    """Return the environment in which a checkout's kwire runs, whatever the current folder is."""
    return {**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}


def user_seconds(command: list[str], checkout: Path) -> float:
    """Run a command, and return its processor time in user mode."""
    with subprocess.Popen(
        command, env=environment(checkout), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # 1: something in the capture does not decode
        raise SystemExit(f"captures: {' '.join(command)} ends with {process.returncode}")
    return usage.ru_utime


def printed(command: list[str], checkout: Path) -> bytes:
    """Run a command, and return what it prints."""
    return subprocess.run(
        command, env=environment(checkout), check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ).stdout


def walk(path: Path, checkout: Path) -> float:
    """Return the processor time of one walk from a capture to its frames."""
    return float(printed([sys.executable, "-c", WALK, str(path), "time"], checkout))


def same(command: list[str], checkouts: tuple[Path, Path]) -> None:
    """Ask that two checkouts print the same."""
    one, other = (hashlib.sha256(printed(command, checkout)).hexdigest() for checkout in checkouts)
    if one != other:
        raise SystemExit(f"captures: {' '.join(command)} prints other things in {checkouts[1]}")


def in_turn(title: str, rounds: int, theirs: Callable[[], float], ours: Callable[[], float]) -> None:
    """Print how many times as long theirs take."""
    times = [(theirs(), ours()) for _ in range(rounds)]
    found = ratios(*zip(*times, strict=True))
    print(f"{title:60} {spread(found):>22}   {min(mine for _, mine in times):8.3f} s", flush=True)


def against(name: str, path: Path, other: Path, rounds: int) -> None:
    """Compare the walk and, of the captures that are for it, commands with those of another checkout."""
    size = path.stat().st_size / 1e6
    same([sys.executable, "-c", WALK, str(path), "equal"], (ROOT, other))
    in_turn(f"walk {name}, {size:.0f} MB | {other}", rounds, lambda: walk(path, other), lambda: walk(path, ROOT))
    if name in ("small", "unlike"):
        command = [*KWIRE, *JSONL, str(path)]
        same(command, (ROOT, other))
        title = f"{' '.join(JSONL)} {name} | {other}"
        in_turn(title, rounds, lambda: user_seconds(command, other), lambda: user_seconds(command, ROOT))


def beside(name: str, path: Path, rounds: int) -> None:
    """Compare commands with each other, and with tshark."""
    pairs = [] if name != "frames" else [(LINES, JSONL), (["report"], JSONL), (["report"], ["stats"])]
    for one, other in pairs:
        titles = " ".join(one), " ".join(other)
        one, other = [*KWIRE, *one, str(path)], [*KWIRE, *other, str(path)]
        in_turn(
            f"{titles[0]} | {titles[1]}, {name}",
            rounds,
            lambda one=one: user_seconds(one, ROOT),  # type: ignore[misc]
            lambda other=other: user_seconds(other, ROOT),  # type: ignore[misc]
        )
    if shutil.which("tshark") and name not in ("frames", "unlike"):
        tshark = ["tshark", "-r", str(path), "-q", "-z", "io,phs"]
        ours = [*KWIRE, "stats", str(path)]
        title = f"tshark -q -z io,phs | stats, {name}"
        in_turn(title, min(rounds, 3), lambda: user_seconds(tshark, ROOT), lambda: user_seconds(ours, ROOT))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", type=Path, nargs="*", metavar="CAPTURE")
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout of kwire")
    parser.add_argument("--megabytes", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", metavar="TEXT", help="captures whose names hold this text")
    options = parser.parse_args()
    wanted = MADE | {source.name: grown(source) for source in options.captures}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in wanted.items():
            if options.only in name:
                make(path := Path(folder) / f"{name}.pcap", int(options.megabytes * 1_000_000))
                if options.against:
                    against(name, path, options.against, options.rounds)
                beside(name, path, options.rounds)
                path.unlink()


if __name__ == "__main__":
    main()
