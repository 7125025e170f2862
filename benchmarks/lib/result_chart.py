"""Draws what was measured: for each body how long others take, as multiples of kwire's time, on a log scale.

Of the bodies it has those made here, short ones also as 64 of other lengths in turn. Needs matplotlib.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.lib.results import Row

# name, what the key says, mark, colour (of a palette that colour-blind eyes tell apart)
MARKS = (
    ("kio", "kio (Rust reader)", "o", "#0072b2"),
    ("kafka-python", "kafka-python", "s", "#d55e00"),
    ("aiokafka", "aiokafka", "^", "#009e73"),
    ("msgpack", "msgspec's msgpack, the ceiling", "D", "#999999"),
    ("java", "Java, warm", "P", "#cc79a7"),
    ("go", "Go", "X", "#56b4e9"),
    ("rust", "Rust", "*", "#000000"),
)
SMALL, WIDE, ROW = 9, 10.5, 0.235  # points; inches


def check_matplotlib() -> None:
    """End the program where there is nothing to draw with."""
    if importlib.util.find_spec("matplotlib") is None:
        sys.exit("a picture needs matplotlib: pip install matplotlib")


def draw(rows: Sequence[Row], path: Path) -> None:
    """Write the picture to a file, in the format that its name says."""
    from matplotlib import pyplot

    shown = [row for row in rows if "(Java)" not in row.body.label and " alike " not in row.body.label]
    shown = shown or list(rows)
    size = (WIDE, 1.5 + ROW * len(shown))
    figure, axes = pyplot.subplots(1, 2, sharey=True, figsize=size, layout="constrained")
    for operation, axis in zip(("decode", "encode"), axes, strict=True):
        panel(axis, operation, shown)
    axes[0].set_yticks(range(len(shown)), [row.body.label for row in shown], fontsize=SMALL)
    axes[0].set_ylim(len(shown) - 0.4, -0.6)
    marks = {mark.get_label(): mark for axis in axes for mark in axis.get_legend_handles_labels()[0]}
    figure.legend(marks.values(), marks.keys(), loc="outside lower center", ncols=4, fontsize=SMALL + 1, frameon=False)
    figure.savefig(path, dpi=120, facecolor="white")


def panel(axis: Any, operation: str, rows: Sequence[Row]) -> None:
    """Draw one operation."""
    for name, label, mark, colour in MARKS:
        found = [(place, them) for place, row in enumerate(rows) if (them := row.ratios(operation, name))]
        if found:
            places = [place for place, _ in found]
            axis.hlines(
                places, [min(them) for _, them in found], [max(them) for _, them in found], colour, lw=1, alpha=0.6
            )
            middles = [statistics.median(them) for _, them in found]
            axis.scatter(middles, places, 30, colour, mark, label=label, zorder=3, linewidths=0)
    axis.set_xscale("log")
    axis.axvline(1, color="black", lw=1.2)
    axis.axvspan(axis.get_xlim()[0], 1, color="#f2f2f2", zorder=0)
    axis.margins(x=0)
    axis.grid(axis="x", which="both", color="#dddddd", lw=0.5)
    axis.grid(axis="y", color="#eeeeee", lw=0.5)
    axis.set_axisbelow(True)
    axis.tick_params(length=0, labelsize=SMALL)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_title(f"{operation}: time of others, kwire = 1", fontsize=SMALL + 3)
    axis.set_xlabel("◀ faster than kwire      slower than kwire ▶", fontsize=SMALL + 1)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
