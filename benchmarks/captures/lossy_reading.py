"""How fast captures with lost and swapped packets are read, beside the same capture without loss.

    python -m benchmarks.captures.lossy_reading [--megabytes 30] [--rounds 5] [--only TEXT] [CAPTURE...]

The capture is made as `unlike` of `reading_speed` (or CAPTUREs are grown); copies of it lack 0.01 %, 0.1 % and 1 % of
the packets, or have 1 % of them swapped with the next one. For each copy and each way to read it, processor time is
taken by turns with the clean capture; both rates are by the bytes of the capture that is read.

    walk     from a capture to its frames
    --jsonl, stats    these commands, start to end

Printed are the speed of the copy as a share of the speed without loss, the median of the rounds, and in brackets the
least and the greatest; and how many packets the general path took. Before anything is timed, the frames of the engine
must be those of the reference.
"""

from __future__ import annotations

import argparse
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from benchmarks.captures.reading_speed import KWIRE, MIX, exchanges, grown, printed, user_seconds, walk, write
from benchmarks.lib.checkouts import ROOT
from benchmarks.lib.rounds import spread
from kwire.capture.packets.pcap import FILE_HEADER

RECORD = struct.Struct("<IIII")
# Prints a digest of all frames, as found by the engine or by the reference, and how many packets the engine left.
FRAMES = """
import hashlib, sys
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.packets.pcap import PcapReader
from kwire.codecs import native
from pathlib import Path
reader = PcapReader(iter([Path(sys.argv[1]).read_bytes()]), sys.argv[1])
digest = hashlib.sha256()
for frame in FrameExtractor("x", engine=sys.argv[2]).frames(reader):
    digest.update(repr((frame.data, frame.source, str(frame.fault), frame.closed)).encode())
print(digest.hexdigest(), *native.path_counts()["packets"])
"""


def records_in(data: bytes) -> Iterator[bytes]:
    """Yield the records of a little-endian pcap file."""
    start = FILE_HEADER
    while start < len(data):
        stop = start + RECORD.size + RECORD.unpack_from(data, start)[2]
        yield data[start:stop]
        start = stop


def drop(share: float) -> Callable[[list[bytes], Random], list[bytes]]:
    """Return what removes a share of all packets."""
    return lambda records, rng: [record for record in records if rng.random() >= share]


def swap(share: float) -> Callable[[list[bytes], Random], list[bytes]]:
    """Return what swaps a share of all packets with the next packet."""

    def swapped(records: list[bytes], rng: Random) -> list[bytes]:
        records = list(records)
        for index in range(len(records) - 1):
            if rng.random() < share:
                records[index : index + 2] = records[index + 1], records[index]
        return records

    return swapped


DAMAGES = {
    "0.01 % lost": drop(0.0001),
    "0.1 % lost": drop(0.001),
    "1 % lost": drop(0.01),
    "1 % swapped": swap(0.01),
}


def frames_of(path: Path, engine: str) -> list[str]:
    """Return the digest of a capture's frames, and how many packets the engine took and left."""
    return printed([sys.executable, "-c", FRAMES, str(path), engine], ROOT).decode().split()


def check(title: str, path: Path) -> None:
    """Ask that the engine and the reference find the same frames; print where packets went."""
    digest, taken, left = frames_of(path, "native")
    if digest != frames_of(path, "python")[0]:
        raise SystemExit(f"lossy_reading: the reference finds other frames in {title}")
    print(f"{title}: the same frames; {int(left):,} of {int(taken) + int(left):,} packets take the general path")


def compare(title: str, clean: Path, lossy: Path, rounds: int) -> None:
    """Print the speed with loss as a share of the speed without."""
    ways: dict[str, Callable[[Path], float]] = {
        "walk": lambda path: walk(path, ROOT),
        "--jsonl": lambda path: user_seconds([*KWIRE, "decode", "--no-pager", "--jsonl", str(path)], ROOT),
        "stats": lambda path: user_seconds([*KWIRE, "stats", str(path)], ROOT),
    }
    for name, seconds in ways.items():
        shares = []
        for _ in range(rounds):
            rates = [path.stat().st_size / seconds(path) / 1e6 for path in (clean, lossy)]
            shares.append(rates[1] / rates[0])
        print(f"  {name:10} {spread(shares):>22}   {rates[1]:8.0f} MB/s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", type=Path, nargs="*", metavar="CAPTURE")
    parser.add_argument("--megabytes", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="TEXT", help="damages whose names hold this text")
    options = parser.parse_args()
    size = int(options.megabytes * 1_000_000)
    makers = {source.name: grown(source) for source in options.captures}
    makers = makers or {"unlike": lambda path, size: write(path, exchanges(size, MIX))}
    with tempfile.TemporaryDirectory() as folder:
        clean, lossy = Path(folder) / "clean.pcap", Path(folder) / "lossy.pcap"
        for name, make in makers.items():
            make(clean, size)
            data = clean.read_bytes()
            records = list(records_in(data))
            for damage, change in DAMAGES.items():
                if options.only in damage:
                    lossy.write_bytes(data[:FILE_HEADER] + b"".join(change(records, Random(28))))
                    check(f"{name}, {damage}", lossy)
                    compare(f"{name}, {damage}", clean, lossy, options.rounds)


if __name__ == "__main__":
    main()
