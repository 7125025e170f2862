"""Small random message specs, some right and most wrong, so that two readers of specs can be compared."""

from __future__ import annotations

from random import Random
from typing import Any

SCALARS = "bool int8 int16 uint16 int32 uint32 int64 float64 string bytes records uuid".split()
RANGES = ("0+", "0+", "0+", "1+", "2+", "0-1", "2-3", "0", "3", "none")
DEFAULTS = (
    "null",
    "null",
    "-1",
    "0",
    "0x1f",
    "true",
    "NaN",
    "abc",
    "",
    "70000",
    "3000000000",
    "1e3",
    "A" * 22,
    None,
    5,
)
KINDS = ("data", "data", "data", "request", "response", "header", "metadata", "coordinator-key", "coordinator-value")
NAMES = {"request": "ThingRequest", "response": "ThingResponse"}
DEEPEST = 3


class Specs:
    """Specs drawn from `rng`; `next()` gives one as plain JSON values."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.structs = 0
        self.common = False

    def maybe(self, chance: float) -> bool:
        return self.rng.random() < chance

    def next(self) -> dict[str, Any]:
        kind = self.rng.choice(KINDS)
        valid = self.rng.choices(["0-3", "0", "2", "0+", "none"], [60, 15, 5, 5, 5])[0]
        flexible = self.rng.choices(["2+", "0+", "none", "0-3", ""], [60, 10, 20, 4, 2])[0]
        self.structs, self.common = 0, self.maybe(0.5)
        document: dict[str, Any] = {"type": kind, "name": NAMES.get(kind, "Thing")}
        if kind not in ("data", "header") and self.maybe(0.95):
            document["apiKey"] = 1
        document |= {"validVersions": valid, "flexibleVersions": flexible}
        if self.maybe(0.1):
            document["listeners"] = [self.rng.choice(["broker", "controller", "zkBroker", "nobody"])]
        if self.maybe(0.1):
            document["latestVersionUnstable"] = self.maybe(0.5)
        document["fields"] = [self.field(0, number) for number in range(self.rng.randrange(4))]
        if self.common or self.maybe(0.05):
            self.common = self.maybe(0.1)  # a struct that may hold itself
            document["commonStructs"] = [self.struct() for _ in range(self.rng.choice([1, 1, 1, 1, 2]))]
        return document

    def struct(self) -> dict[str, Any]:
        fields = [self.field(1, number) for number in range(self.rng.randrange(3))]
        name = self.rng.choices(["Common", "In1", "lower"], [30, 1, 1])[0]
        return {"name": name, "versions": self.rng.choice(RANGES), "fields": fields}

    def field(self, depth: int, number: int) -> dict[str, Any]:
        type_name = self.type_of()
        spec: dict[str, Any] = {"name": f"F{number if self.maybe(0.97) else 0}"}
        spec |= {"type": f"[]{type_name}" if self.maybe(0.35) else type_name, "versions": self.rng.choice(RANGES)}
        if (type_name.startswith("In") or self.maybe(0.02)) and self.maybe(0.95):
            below = range(self.rng.randrange(1, 3) if depth < DEEPEST else 0)
            spec["fields"] = [self.field(depth + 1, inner) for inner in below]
        nullable = spec["type"][0] in "[CI" or type_name in ("string", "bytes", "records")
        if self.maybe(0.2 if nullable else 0.02):
            spec["nullableVersions"] = self.rng.choice(RANGES)
        if self.maybe(0.25):
            self.tag(spec)
        self.rest(spec)
        return spec

    def type_of(self) -> str:
        if self.maybe(0.03):
            return self.rng.choice(["Missing", "[]", "lower", "In1"])
        if self.maybe(0.1):
            self.structs += 1
            return f"In{self.structs}"
        return "Common" if self.common and self.maybe(0.15) else self.rng.choice(SCALARS)

    def tag(self, spec: dict[str, Any]) -> None:
        spec["taggedVersions"] = self.rng.choice(["2+", "2+", "2+", *RANGES])
        if self.maybe(0.97):
            spec["tag"] = self.rng.choices([0, 1, -1], [12, 1, 1])[0]
        if self.maybe(0.15):
            del spec["versions"]

    def rest(self, spec: dict[str, Any]) -> None:
        texts = spec["type"] in ("string", "bytes")
        if self.maybe(0.2 if texts else 0.01):
            spec["flexibleVersions"] = self.rng.choice(RANGES)
        if self.maybe(0.1):
            spec["mapKey"] = self.maybe(0.5)
        if self.maybe(0.3 if spec["type"] == "bytes" else 0.01):
            spec["zeroCopy"] = True
        if self.maybe(0.12):
            spec["default"] = self.rng.choice(DEFAULTS)
        if self.maybe(0.02):
            spec["entityType"] = self.rng.choice(
                ["brokerId", "groupId", "producerId", "topicName", "unknown", "nobody"]
            )
