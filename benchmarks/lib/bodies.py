"""Bodies to measure with: made here from seeded values, the same on every run; and those of the shared material.

Of short messages there are three rows: one body again and again; 64 of the same lengths and counts in turn, as one
program writes them; and 64 whose texts and arrays have other lengths in each.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import kwire
from benchmarks.lib.checkouts import ROOT
from kwire.codecs import wire

CORPUS = ROOT.parent / "shared" / "speed" / "corpus"
SHORT = 1300  # bytes
IN_TURN = 64
# message, version, elements of the outer arrays, of arrays in them, and whether one element in ten differs in shape
MADE = (
    ("MetadataResponse", 12, 1, 1000, False),
    ("MetadataResponse", 12, 100, 10, False),
    ("MetadataResponse", 12, 100, 10, True),
    ("MetadataResponse", 12, 3, 3, False),
    ("MetadataResponse", 9, 20, 6, True),
    ("MetadataResponse", 5, 100, 10, False),
    ("MetadataRequest", 12, 4, 0, False),
    ("FetchRequest", 13, 10, 10, False),
    ("FetchRequest", 11, 3, 4, False),
    ("FetchResponse", 13, 1, 1, False),
    ("ProduceRequest", 9, 1, 1, False),
    ("ListOffsetsRequest", 7, 3, 6, False),
    ("OffsetCommitRequest", 8, 5, 5, False),
    ("OffsetFetchResponse", 7, 4, 4, False),
    ("FindCoordinatorResponse", 4, 3, 0, False),
    ("JoinGroupRequest", 7, 2, 0, False),
    ("SyncGroupRequest", 5, 3, 0, False),
    ("HeartbeatRequest", 4, 0, 0, False),
    ("DescribeGroupsResponse", 5, 1, 4, False),
    ("CreateTopicsRequest", 5, 2, 3, True),
    ("LeaderAndIsrRequest", 7, 1, 1000, False),
    ("LeaderAndIsrRequest", 5, 100, 10, True),
    ("UpdateMetadataRequest", 8, 1, 1000, False),
    ("UpdateMetadataRequest", 6, 100, 10, True),
)


class Body(NamedTuple):
    """The bytes of one message at one version; of several that are read in turn."""

    label: str
    message: str
    version: int
    datas: tuple[bytes, ...]

    @property
    def data(self) -> bytes:
        """The first of them."""
        return self.datas[0]

    @property
    def size(self) -> float:
        """How many bytes one has on the average."""
        return sum(map(len, self.datas)) / len(self.datas)


def bodies(only: str, in_turn: bool = False) -> list[Body]:
    """Return the bodies whose labels hold a text: those made here, and those of the corpus if it is there.

    Args:
        only: the text.
        in_turn: short messages also as 64 bodies in turn.
    """
    found = [made(*row) for row in MADE] + (corpus() if CORPUS.is_dir() else [])
    if in_turn:
        short = [row for row, body in zip(MADE, found, strict=False) if body.size <= SHORT]
        found += [made(*row, alike=alike) for alike in (True, False) for row in short]
    return [body for body in found if only in body.label]


def corpus() -> list[Body]:
    """Return the bodies that kafka-clients 3.9.2 wrote."""
    rows = [line.split("\t") for line in (CORPUS / "index.tsv").read_text("utf-8").splitlines()[1:]]
    return [Body(f"{row[0][:-4]} (Java)", row[1], int(row[2]), ((CORPUS / row[0]).read_bytes(),)) for row in rows]


def made(
    message: str,
    version: int,
    outer: int,
    inner: int,
    mixed: bool,
    *,
    alike: bool | None = None,
    count: int = IN_TURN,
    first: int = 0,
) -> Body:
    """Make a body of a message; with `alike` a count of them, of the same lengths or not: others for other `first`."""
    codec = kwire.codec(message, version)
    seeds = [""] if alike is None else [f" {number}" for number in range(first, first + count)]
    values = [_Values(outer, inner, mixed, seed, alike is False).struct(codec.schema, 0) for seed in seeds]
    turn = "" if alike is None else f" {count} {'alike' if alike else 'unlike'} in turn"
    label = f"{message} v{version} {outer}x{inner}{' mixed' if mixed else ''}{turn}"
    return Body(label, message, version, tuple(codec.encode(value) for value in values))


class _Values:
    """Values as clusters have them: small broker ids, names of a dozen letters, three replicas.

    Where they are mixed, one partition in ten lacks a replica in its ISR, and half of those have it offline.
    """

    def __init__(self, outer: int, inner: int, mixed: bool, seed: str, unlike: bool) -> None:
        self.counts, self.mixed, self.unlike = (outer, inner), mixed, unlike
        self.rng = Random(f"{outer} {inner} {mixed}{seed}")
        self.number = self.rng.randrange(1000) if seed else 0
        self.lacks = self.offline = False

    def struct(self, node: Any, depth: int) -> Any:
        self.lacks = self.mixed and self.rng.random() < 0.1
        self.offline = self.lacks and self.rng.random() < 0.5
        return node.message_class(**{f.name: self.value(f.name, f.subcon, depth) for f in node.fields})

    def value(self, name: str, node: Any, depth: int) -> Any:
        self.number += 1
        if isinstance(node, wire.Array):
            return self.array(name, node, depth)
        if isinstance(node, wire.Struct):
            return self.struct(node, depth)
        if isinstance(node, wire.Integer):
            return 0 if name == "error_code" else self.number % min(node.high, 1 << 20)
        if isinstance(node, wire.String):
            longer = "x" * self.rng.randrange(16) if self.unlike else ""
            return f"{name[:8]}-{longer}{self.rng.randrange(10**4):04}"
        if isinstance(node, wire.Bytes):
            return self.rng.randbytes(self.rng.randrange(100, 300) if self.unlike else 200)
        fixed = {wire.Boolean: False, wire.Uuid: self.rng.randbytes(16), wire.Float64: 0.5}
        return fixed.get(type(node))

    def array(self, name: str, node: Any, depth: int) -> tuple[Any, ...]:
        if not isinstance(node.element, wire.Struct):
            return tuple(self.value(name, node.element, depth) for _ in range(self.replicas(name)))
        count = 3 if "broker" in name or "endpoint" in name or "leaders" in name else (*self.counts, 2)[min(depth, 2)]
        if self.unlike and count:
            count = self.rng.randrange(1, 2 * count)
        return tuple(self.struct(node.element, depth + 1) for _ in range(count))

    def replicas(self, name: str) -> int:
        if "offline" in name:
            return int(self.offline)
        if "removing" in name or "adding" in name:
            return 0
        return 3 - (self.lacks and ("isr" in name or name == "broker_ids"))
