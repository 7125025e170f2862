"""`kwire decode`: frames as trees, as a JSON array, or as JSON lines."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator

from ..frames import Undecodable
from ..frames.decoding import Result
from ..render.envelope import envelope, json_line
from ..render.style import escape
from ..render.tree import tree
from .inputs import results
from .terminal import remark, style_for


def decode(options: argparse.Namespace) -> int:
    """Print all frames as they are read. Returns 1 if one did not decode."""
    counts = {"frames": 0, "undecodable": 0, "faulty": 0}
    decoded = _counted(results(options, salvage=not options.strict), counts)
    if options.json:
        _array(decoded)
    elif options.jsonl:
        for result in decoded:
            _print(json_line(result))
    else:
        _trees(decoded, options)
    if counts["undecodable"] or counts["faulty"]:
        faulty = f", {counts['faulty']} with faults" if counts["faulty"] else ""
        remark(f"{counts['frames']} frames, {counts['undecodable']} undecodable{faulty}")
    return 1 if counts["undecodable"] else 0


def _counted(decoded: Iterator[Result], counts: dict[str, int]) -> Iterator[Result]:
    for result in decoded:
        counts["frames"] += 1
        if isinstance(result, Undecodable):
            counts["undecodable"] += 1
        elif result.faults:
            counts["faulty"] += 1
        yield result


def _array(decoded: Iterator[Result]) -> None:
    separator = "[\n"
    for result in decoded:
        _print(separator + escape(json.dumps(envelope(result), indent=2, ensure_ascii=False)), end="")
        separator = ",\n"
    print("\n]" if separator != "[\n" else "[]")


def _trees(decoded: Iterator[Result], options: argparse.Namespace) -> None:
    style = style_for(sys.stdout, options.color)
    for index, result in enumerate(decoded):
        if index:
            print()
        _print("\n".join(tree(result, style)))


def _print(text: str, end: str = "\n") -> None:
    """Print one message at once, so that who reads a pipe sees it."""
    print(text, end=end, flush=True)
