"""What a memo saves on messages in the order of captures: LeaderAndIsr, UpdateMetadata and Metadata.

All messages of one kind are decoded in one pass, with a memo and without: by new decoders for each capture, whose
source is written already and which know nothing of the messages; and once more by the same decoders, as where traffic
goes on in this way. Metadata by kio too, where it has the version. Each takes its two passes a round.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from peers import kio_of
from turns import Times, once, ratios, spread

import kwire

KINDS = {
    "LeaderAndIsrRequest": "LeaderAndIsr",
    "UpdateMetadataRequest": "UpdateMetadata",
    "MetadataResponse": "Metadata",
}
Message = tuple[int, bytes]  # version, body
Captured = list[list[Message]]  # by capture
Decode = Callable[..., Any]
Found = tuple[Captured, Times]  # messages, and how long passes over all of them took


def captured(paths: Iterable[Path]) -> dict[str, Captured]:
    """Return the bodies in captures by message, in their order."""
    found: dict[str, Captured] = {name: [] for name in KINDS}
    for path in paths:
        for of_capture in found.values():
            of_capture.append([])
        for result in kwire.decode_frames(kwire.read_dump(path)):
            if isinstance(result, kwire.Request | kwire.Response) and result.codec.name in found and not result.faults:
                body = result.codec.encode(result.message)
                assert result.frame.data.endswith(body)
                found[result.codec.name][-1].append((result.codec.version, body))
    return found


class Pass:
    """Decodes all messages of one kind, by decoders that one capture has for itself."""

    def __init__(self, captures: Captured, decoder: Callable[[int], Decode]) -> None:
        self.captures, self.decoder = captures, decoder
        self.calls: list[tuple[Decode, bytes]] = []

    def fresh(self) -> Pass:
        """Take new decoders."""
        self.calls = []
        for messages in self.captures:
            decoders = {version: self.decoder(version) for version in {version for version, _ in messages}}
            self.calls += [(decoders[version], body) for version, body in messages]
        return self

    def __call__(self) -> None:
        for decode, body in self.calls:
            decode(body)


def ours(name: str, memo: bool) -> Callable[[int], Decode]:
    """Return what makes new decoders whose source is written already, and which know no message."""

    def make(version: int) -> Decode:
        codec = kwire.codec(name, version).decoder(memo=memo)
        with contextlib.suppress(kwire.DecodeError):
            codec.decode(b"")
        return codec.decode

    return make


def by_kio(name: str) -> Callable[[int], Decode]:
    def make(version: int) -> Decode:
        found = kio_of(name, version)
        assert found is not None
        read = found[0]
        return lambda body: read(body, 0)

    return make


def check(captures: Captured, name: str) -> None:
    """Make sure that a memo changes nothing."""
    plain, memo = (Pass(captures, ours(name, memo)).fresh().calls for memo in (False, True))
    for (decode, body), (recall, _) in zip(plain * 2, memo * 2, strict=True):
        assert recall(body) == decode(body)


def times_of(name: str, captures: Captured, rounds: int) -> Times:
    """Time the passes over one kind of message, those by kio alone where it has all versions."""
    check(captures, name)
    memo, plain = Pass(captures, ours(name, True)), Pass(captures, ours(name, False))
    times: Times = {"new": [], "held": [], "new without": [], "held without": []}
    others = {}
    if all(kio_of(name, version) for messages in captures for version, _ in messages):
        others["kio"] = Pass(captures, by_kio(name)).fresh()
        times["kio"] = []
    for _ in range(rounds):
        for one, suffix in ((memo, ""), (plain, " without")):
            times[f"new{suffix}"].append(once(one.fresh()))
            times[f"held{suffix}"].append(once(one))
        for other, one in others.items():
            times[other].append(once(one))
    return times


def measured(paths: Sequence[Path], rounds: int) -> dict[str, Found]:
    """Time the messages of captures.

    Returns:
        By api the messages, and the times of passes over all of them: by decoders with a memo that are `new` or
        `held`, by those `without`, and by `kio`. "Metadata of kio" are those whose version kio has, if not all.
    """
    found = {}
    for name, captures in captured(paths).items():
        if any(captures):
            found[KINDS[name]] = captures, times_of(name, captures, rounds)
            has = [[one for one in messages if kio_of(name, one[0])] for messages in captures]
            if any(has) and has != captures:
                found[f"{KINDS[name]} of kio"] = has, times_of(name, has, rounds)
    return found


def compared(times: Times) -> dict[str, list[float]]:
    """Return how many times faster it is with a memo, a round each: on first passes, later ones, and beside kio."""
    found = {memo: ratios(times[f"{memo} without"], times[memo]) for memo in ("new", "held")}
    return found | {f"{memo} by kio": ratios(times["kio"], times[memo]) for memo in found if "kio" in times}


def report(found: dict[str, Found]) -> None:
    """Print a row for each kind of message."""
    heads = {"new": "new decoders", "held": "held decoders", "new by kio": "new, by kio", "held by kio": "held, by kio"}
    print(f"\n{'messages of captures, with a memo':34}{'messages':>9}{'bytes':>9}{'µs each':>9}", end="")
    print("".join(f"{head:>22}" for head in heads.values()))
    for name, (captures, times) in found.items():
        count = sum(map(len, captures))
        size = sum(len(body) for messages in captures for _, body in messages)
        cells = "".join(f"{spread(compared(times).get(head, [])):>22}" for head in heads)
        print(f"{name:34}{count:>9}{size:>9}{statistics.median(times['new']) / count * 1e6:>9.2f}{cells}")
