"""What the tests of captures share: a run's conversations as they were on the wire, and the brokers' log of them."""

from __future__ import annotations

import gzip
import ipaddress
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import kwire
from kwire import Request, Response, Undecodable
from kwire.protocol.frames.stream_faults import CutShort
from tests.conftest import SHARED

CAPTURES = SHARED / "captures"
RUNS = sorted(path.name.removesuffix(".requests.jsonl.gz") for path in CAPTURES.glob("*.requests.jsonl.gz"))
CAPTURE = (".pcap", ".pcapng", ".pcap.gz", ".pcapng.gz", ".pcap.zst", ".pcapng.zst")
_CONNECTION = re.compile(r"(.+):(\d+)-(.+):(\d+)(?:-\d+){0,2}")
Ends = tuple[str, str]


@dataclass(slots=True)
class Exchange:
    """A request and what answered it; a forwarded one is what was inside an Envelope. An answer is cut where a side
    went away while it was being sent."""

    ends: Ends
    request: Request
    response: Response | None = None
    is_forwarded: bool = False
    is_cut: bool = False


def files_of(run: str) -> list[Path]:
    """The captures of a run that hold whole conversations, each connection once."""
    names = json.loads((CAPTURES / f"{run}.summary.json").read_text("utf-8"))["files"]
    return [CAPTURES / name for name in names if name.endswith(CAPTURE)]


@cache
def exchanges(run: str) -> tuple[Exchange, ...]:
    """All requests of a run, each with its answer; those inside envelopes behind the envelopes."""
    return tuple(one for path in files_of(run) for one in _exchanges(path))


def _exchanges(path: Path) -> list[Exchange]:
    found: list[Exchange] = []
    waiting: dict[int, Exchange] = {}  # by the header that the answer names
    forwarded: dict[int, Exchange] = {}
    for result in kwire.decode_frames(kwire.read_dump(path)):
        if isinstance(result, Request):
            source = result.frame.source
            assert source.broker is not None
            assert source.client is not None
            ends = end_of(source.broker), end_of(source.client)
            found.append(Exchange(ends, result))
            waiting[id(result.header)] = found[-1]
            if isinstance(result.inside, Request):
                found.append(Exchange(ends, result.inside, is_forwarded=True))
                forwarded[id(result.header)] = found[-1]
        elif isinstance(result, Response) and result.request is not None:
            waiting[id(result.request)].response = result
            if isinstance(result.inside, Response):
                forwarded[id(result.request)].response = result.inside
        elif isinstance(result, Undecodable) and is_frame(result.frame) and result.frame.data[4:8]:
            size, number = (int.from_bytes(result.frame.data[start : start + 4], "big") for start in (0, 4))
            assert size > len(result.frame.data) - 4
            for one in found:
                one.is_cut |= one.request.correlation_id == number and is_of(one, result)
    return found


def is_frame(frame: kwire.Frame) -> bool:
    """Whether the bytes are a frame, or the first bytes of one that the end of its connection cut."""
    return frame.fault is None or (isinstance(frame.fault, CutShort) and frame.fault.cause == "the connection closed")


def is_of(one: Exchange, result: Undecodable) -> bool:
    """Whether a frame is on the connection of an exchange, and an answer."""
    mine, theirs = one.request.frame.source, result.frame.source
    return theirs.direction == "response" and mine.connection == theirs.connection


def log_of(run: str) -> Iterator[dict[str, Any]]:
    """The lines of a run's request log."""
    with gzip.open(CAPTURES / f"{run}.requests.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def ends_of(connection: str | None) -> Ends | None:
    """The broker's and the client's end of a connection, as the log names it; None where it does not."""
    match = _CONNECTION.fullmatch(connection or "")
    return (end_of(f"{match[1]}:{match[2]}"), end_of(f"{match[3]}:{match[4]}")) if match else None


def end_of(text: str) -> str:
    """One end, however an IPv6 address is written."""
    host, _, port = text.rpartition(":")
    return f"{ipaddress.ip_address(host.strip('[]'))} {port}"
