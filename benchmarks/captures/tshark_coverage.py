"""What tshark and kwire decode of the same capture, counted by direction, api key and version, from the JSON of both.

    .venv/bin/python -m benchmarks.captures.tshark_coverage CAPTURE ...

A frame counts for tshark if it finds it, knows which api it is of, and finds nothing in it that is malformed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

KWIRE = [sys.executable, "-m", "kwire", "decode", "--no-pager", "--jsonl"]
# Every port is said to be Kafka's, so that tshark need not be told which brokers there are.
TSHARK = ["tshark", "-d", "tcp.port==1-65535,kafka"]
JSON = ["-Y", "kafka", "-T", "json"]
_FRAME = '        "kafka": {'
_MEMBER = re.compile(r' {10}"kafka\.(request_key|request\.version|response_key|response\.version)": "(-?\d+)"')

Api = tuple[str, int, int]  # "request" or "response", api key, version


class Seen(NamedTuple):
    """Frames that were decoded, by what they are; and how many were found besides."""

    decoded: Counter[Api]
    others: Counter[str]


def by_kwire(path: Path) -> Seen:
    """Count the frames that kwire decodes."""
    seen = Seen(Counter(), Counter())
    with subprocess.Popen([*KWIRE, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        for line in process.stdout:
            frame = json.loads(line)
            kind, header = frame["type"], frame.get("header", {})
            if kind in ("request", "response"):
                seen.decoded[kind, header["apiKey"], header["apiVersion"]] += 1
            else:
                seen.others[kind] += 1
    return seen


def by_tshark(path: Path) -> Seen:
    """Count the frames that tshark decodes."""
    command = [*TSHARK, "-r", str(path), *JSON]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        return seen_in(process.stdout)


def seen_in(lines: Iterable[str]) -> Seen:
    """Count the frames in tshark's JSON, which gives all frames of a packet the same key: so it is read by lines."""
    seen = Seen(Counter(), Counter())
    for frame in _frames(lines):
        if "_ws.malformed" in frame:
            seen.others["malformed"] += 1
        elif "request_key" in frame:
            seen.decoded["request", frame["request_key"], frame["request.version"]] += 1
        elif "response_key" in frame:
            seen.decoded["response", frame["response_key"], frame["response.version"]] += 1
        else:
            seen.others["answers to requests that it did not find"] += 1
    return seen


def _frames(lines: Iterable[str]) -> Iterator[dict[str, int]]:
    frame: dict[str, int] | None = None
    for line in lines:
        if line.startswith(_FRAME):
            if frame is not None:
                yield frame
            frame = {}
        elif frame is not None and (member := _MEMBER.match(line)):
            frame[member[1]] = int(member[2])
        elif frame is not None and "_ws.malformed" in line:
            frame["_ws.malformed"] = 1
    if frame is not None:
        yield frame


def report(path: Path) -> Iterator[str]:
    """Yield lines that say what both decode, and what one alone does."""
    ours, theirs = by_kwire(path), by_tshark(path)
    both = (ours.decoded & theirs.decoded).total()
    yield f"both decode {both} frames of {path.name}; {_others('kwire', ours)}, {_others('tshark', theirs)}"
    for who, more in (("kwire", ours.decoded - theirs.decoded), ("tshark", theirs.decoded - ours.decoded)):
        for (kind, key, version), count in sorted(more.items(), key=lambda item: (-item[1], item[0])):
            yield f"  {who} alone: {count} of {_name(key)} v{version} {kind}s"


def _others(who: str, seen: Seen) -> str:
    others = "".join(f", {count} {what}" for what, count in sorted(seen.others.items()))
    return f"{who} {seen.decoded.total()}{others}"


def _name(key: int) -> str:
    from kwire.schema.releases import releases

    return releases().name_of(None, key) or f"api key {key}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print("\n".join(report(Path(name))), flush=True)
