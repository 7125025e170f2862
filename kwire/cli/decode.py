"""`kwire decode`: frames as lines or trees, as a JSON array, or as JSON lines; or what a frame could be."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import chain, islice

from ..frames import Result, Token, Undecodable
from ..gist import Gist
from ..render.envelope import envelope, json_line
from ..render.line import frame_line
from ..render.style import Style, json_text
from ..render.tree import tree
from ..render.values import count_text
from .explain import ours
from .filters import filter_for
from .inputs import catalog_of, results
from .pager import Paged, paged
from .progress import with_progress
from .terminal import remark, style_for

Print = Callable[[str], None]


def decode(options: argparse.Namespace) -> int:
    """Print all frames as they are read.

    Returns:
        1 if a frame of Kafka's did not decode, or bytes of one are missing: a gap, packets that cannot be read, a
        frame cut short, a broken dump. Streams of other protocols (ZooKeeper's, TLS) are named in a remark and speak
        against nothing, unless there is nothing else.
    """
    if options.guess:
        from .guess import guess

        return guess(options)
    counts = {"frames": 0, "undecodable": 0, "foreign": 0, "faulty": 0, "shown": 0}
    try:
        _show(options, counts)
    except KeyboardInterrupt:
        _summary(options, counts, always=True)
        raise
    _summary(options, counts)
    return 1 if counts["undecodable"] or 0 < counts["foreign"] == counts["frames"] else 0


def _show(options: argparse.Namespace, counts: dict[str, int]) -> None:
    gist = Gist()
    wanted = filter_for(options, catalog_of(options), gist)
    decoded = _counted(results(options, salvage=not options.strict), counts)
    decoded = with_progress(decoded, wanted=not sys.stdout.isatty())
    shown = _counted_shown((result for result in decoded if wanted(result)), counts)
    with paged(not options.no_pager and "-" not in options.files) as pager:
        write = _printer(pager)
        if options.json:
            _array(shown, write)
        elif options.jsonl:
            for result in shown:
                write(json_line(result) + "\n")
        else:
            _text(ours(shown), options, gist, write)


def _counted(decoded: Iterator[Result], counts: dict[str, int]) -> Iterator[Result]:
    for result in decoded:
        counts["frames"] += 1
        if isinstance(result, Undecodable):
            counts["undecodable" if result.is_failure else "foreign"] += 1
        elif not isinstance(result, Token) and result.faults:
            counts["faulty"] += 1
        yield result


def _counted_shown(shown: Iterator[Result], counts: dict[str, int]) -> Iterator[Result]:
    for result in shown:
        counts["shown"] += 1
        yield result


def _summary(options: argparse.Namespace, counts: dict[str, int], *, always: bool = False) -> None:
    hidden = counts["frames"] > counts["shown"] and not always
    if counts["undecodable"] or counts["faulty"] or hidden or always:
        faulty = f", {counts['faulty']} with faults" if counts["faulty"] else ""
        shown = f", {counts['shown']} shown" if hidden else ""
        remark(f"{count_text(counts['frames'], 'frame')}, {counts['undecodable']} undecodable{faulty}{shown}")


def _array(decoded: Iterator[Result], write: Print) -> None:
    separator = "[\n"
    for result in decoded:
        write(separator + json_text(envelope(result)))
        separator = ",\n"
    write("\n]\n" if separator != "[\n" else "[]\n")


def _text(decoded: Iterator[Result], options: argparse.Namespace, gist: Gist, write: Print) -> None:
    """Write trees if they are asked for, or if there is but one frame; else lines.

    Standard input is written line by line as it comes; if it was one frame, its fields follow.
    """
    style = style_for(sys.stdout, options.color)
    if options.verbose:
        _trees(decoded, style, write)
        return
    live = "-" in options.files
    first = list(islice(decoded, 1 if live else 2))
    if len(first) == 1 and not live:
        _trees(iter(first), style, write)
        return
    count = 0
    for result in chain(first, decoded):
        write(frame_line(result, gist, style) + "\n")
        count += 1
    if count == 1:
        write("\n".join([*tree(first[0], style)][1:]) + "\n")


def _trees(decoded: Iterator[Result], style: Style, write: Print) -> None:
    for index, result in enumerate(decoded):
        write("\n" * bool(index) + "\n".join(tree(result, style)) + "\n")


def _printer(pager: Paged | None) -> Print:
    """Return what prints one message at once, so that who reads a pipe sees it; or gives it to the pager."""
    if pager is not None:
        return pager.write
    return lambda text: print(text, end="", flush=True)
