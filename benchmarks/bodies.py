"""Bodies to measure with: made here from seeded values, the same on every run; and those of the shared material."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import kwire
from kwire import wire

CORPUS = Path(__file__).parent.parent.parent / "shared" / "speed" / "corpus"
# message, version, elements of the outer arrays, of arrays in them, and whether their elements differ in shape
MADE = (
    ("MetadataResponse", 12, 1, 1000, False),
    ("MetadataResponse", 12, 100, 10, False),
    ("MetadataResponse", 12, 100, 10, True),
    ("MetadataResponse", 12, 3, 3, False),
    ("MetadataResponse", 9, 20, 6, True),
    ("MetadataRequest", 12, 4, 0, False),
    ("FetchRequest", 13, 10, 10, False),
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
    """The bytes of one message at one version."""

    label: str
    message: str
    version: int
    data: bytes


def bodies(only: str) -> list[Body]:
    """Return the bodies whose labels hold a text: those made here, and those of the corpus if it is there."""
    found = [made(*row) for row in MADE] + (corpus() if CORPUS.is_dir() else [])
    return [body for body in found if only in body.label]


def corpus() -> list[Body]:
    """Return the bodies that kafka-clients 3.9.2 wrote."""
    rows = [line.split("\t") for line in (CORPUS / "index.tsv").read_text("utf-8").splitlines()[1:]]
    return [Body(f"{row[0][:-4]} (Java)", row[1], int(row[2]), (CORPUS / row[0]).read_bytes()) for row in rows]


def made(message: str, version: int, outer: int, inner: int, mixed: bool) -> Body:
    """Make a body of a message."""
    codec = kwire.codec(message, version)
    value = _Values(outer, inner, mixed).struct(codec.schema, 0)
    label = f"{message} v{version} {outer}x{inner}{' mixed' if mixed else ''}"
    return Body(label, message, version, codec.encode(value))


class _Values:
    """Values as clusters have them: small broker ids, names of a dozen letters, three replicas."""

    def __init__(self, outer: int, inner: int, mixed: bool) -> None:
        self.counts, self.mixed = (outer, inner), mixed
        self.rng = Random(f"{outer} {inner} {mixed}")
        self.number = 0

    def struct(self, node: Any, depth: int) -> Any:
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
            return f"{name[:8]}-{self.rng.randrange(10**4):04}"
        if isinstance(node, wire.Bytes):
            return self.rng.randbytes(200)
        fixed = {wire.Boolean: False, wire.Uuid: self.rng.randbytes(16), wire.Float64: 0.5}
        return fixed.get(type(node))

    def array(self, name: str, node: Any, depth: int) -> tuple[Any, ...]:
        if not isinstance(node.element, wire.Struct):
            usual = 0 if "offline" in name or "removing" in name or "adding" in name else 3
            odd = self.mixed and self.rng.random() < 0.1
            return tuple(self.value(name, node.element, depth) for _ in range(abs(usual - odd)))
        count = 3 if "broker" in name or "endpoint" in name or "leaders" in name else (*self.counts, 2)[min(depth, 2)]
        return tuple(self.struct(node.element, depth + 1) for _ in range(count))
