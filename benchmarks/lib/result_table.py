"""The table of what was reached, in Markdown: for each line of it the bodies it is about, and whom it compares with.

Each figure is a median over rounds; of several bodies the median of them, and the least. Knows not how they came.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from benchmarks.lib.bodies import SHORT
from benchmarks.lib.results import Row, medians
from benchmarks.lib.rounds import ratios, short

UNIFORM = "MetadataResponse v12 1x1000"
LARGE = ("LeaderAndIsrRequest v7 1x1000", "UpdateMetadataRequest v8 1x1000")
NAMES = {
    "kio": "kio (Rust)",
    "kafka-python": "kafka-python",
    "aiokafka": "aiokafka",
    "construct": "plain construct",
    "java": "Java, warm",
    "go": "Go",
    "rust": "Rust",
}
Choice = Callable[[Row], bool]


def labelled(*texts: str) -> Choice:
    """Choose bodies whose names hold one of the texts and end with it, in our words or in those of the corpus."""
    return lambda row: row.body.label.removesuffix(" (Java)").replace("_", " ").endswith(texts)


def is_short(row: Row) -> bool:
    return row.body.size <= SHORT and " in turn" not in row.body.label


def is_of_metadata(choice: Choice) -> Choice:
    return lambda row: row.body.label.startswith("MetadataResponse") and row.body.version == 12 and choice(row)


LINES: tuple[tuple[str, str, Choice], ...] = (
    ("decode, 1 topic with 1,000 partitions of one shape", "decode", is_of_metadata(labelled("1x1000"))),
    ("decode, 100 topics with 10 partitions", "decode", is_of_metadata(labelled(" 100x10"))),
    ("the same, mixed shapes", "decode", is_of_metadata(labelled("100x10 mixed", "100x10mixed"))),
    (f"decode, messages up to {SHORT} bytes, one again and again", "decode", is_short),
    ("the same, 64 in turn of the same lengths", "decode", labelled("64 alike in turn")),
    ("the same, 64 in turn of other lengths in each", "decode", labelled("64 unlike in turn")),
    ("encode, every message", "encode", lambda row: True),
)


def table(rows: Sequence[Row]) -> list[str]:
    """Return the lines of the table; columns of what was not measured are left out."""
    others = [name for name in NAMES if any(name in row.times("decode") for row in rows)]
    head = ["", *(NAMES[name] for name in others)]
    lines = [[label, *(cell(rows, operation, choice, other) for other in others)] for label, operation, choice in LINES]
    ruled = [head, ["---", *("---:" for _ in others)], *(line for line in lines if any(line[1:]))]
    text = [f"| {' | '.join(line)} |" for line in ruled]
    return [*text, "", *(f"- {line}" for line in [*of_large(rows), *of_ceilings(rows), *of_reference(rows)])]


def cell(rows: Sequence[Row], operation: str, choice: Choice, other: str) -> str:
    """Write the median of some bodies, and of several the least."""
    figures = medians([row for row in rows if choice(row)], operation, other)
    if len(figures) < 2:
        return "".join(map(short, figures))
    return f"{short(statistics.median(figures))} ({short(min(figures))})"


def of_large(rows: Sequence[Row]) -> list[str]:
    """Compare messages that no Python peer has, a byte against a byte of kio's."""
    by_label = {row.body.label: row for row in rows}
    there = by_label.get(UNIFORM)
    if there is None or "kio" not in there.times("decode"):
        return []
    lines = []
    for row in (by_label[label] for label in LARGE if label in by_label):
        factor = row.body.size / there.body.size
        mine = row.times("decode")["kwire"]
        decode = factor * statistics.median(ratios(there.times("decode")["kio"], mine))
        encode = statistics.median(ratios(mine, row.times("encode")["kwire"]))
        figures = f"decode {short(decode)} of kio's {UNIFORM}, a byte against a byte; encode {short(encode)} of decode"
        lines.append(f"{row.body.label}: {figures}")
    return lines


def of_ceilings(rows: Sequence[Row]) -> list[str]:
    """Compare all messages with msgspec's C code, the fallback, and the time of first use."""
    lines = []
    for operation, other in (
        ("decode", "kio"),
        ("decode", "msgpack"),
        ("encode", "msgpack"),
        ("json", "msgspec.json"),
        *((operation, "python") for operation in ("decode", "encode", "json")),
    ):
        found = medians(rows, operation, other)
        if found:
            figures = f"{short(statistics.median(found))} (least {short(min(found))})"
            lines.append(f"{operation} against {other}, every message: {figures}")
    for name in ("kwire", "python"):
        taken = [
            1e3 * statistics.median(row.times("first use")[name]) for row in rows if name in row.times("first use")
        ]
        if taken:
            lines.append(f"first use, {name}: {short(statistics.median(taken))} ms (most {short(max(taken))})")
    return lines


def of_reference(rows: Sequence[Row]) -> list[str]:
    """Say how fast the reference path is beside plain construct."""
    figures = [
        statistics.median(ratios(times["construct"], times["reference"]))
        for row in rows
        for times in (row.times("decode"),)
        if "construct" in times and "reference" in times
    ]
    if not figures:
        return []
    median, least = short(statistics.median(figures)), short(min(figures))
    return [f"the reference path: {median} times as fast as plain construct (least {least})"]
