"""`kwire decode --guess`: every message and version that a frame could be, the likeliest first."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import groupby

from ..frames import Result, Undecodable
from ..frames.guessing import Guess, guesses
from ..frames.pieces import NoFrame
from ..render.style import escape
from ..render.tree import title
from ..render.values import count_text
from ..versions import Versions
from .inputs import UsageError, catalog_of, results, sealer
from .terminal import remark


def guess(options: argparse.Namespace) -> int:
    """Print what each frame could be, of captures those that nothing tells. Returns 1 if one could be nothing."""
    if options.body or options.named:
        raise UsageError("--guess looks for what --as would say; give one of them")
    failed = known = shown = 0
    for result in results(options, sealed=False):
        frame = result.frame
        if isinstance(frame.fault, NoFrame) or (frame.source.direction and not isinstance(result, Undecodable)):
            known += not isinstance(frame.fault, NoFrame)
            continue
        shown += 1
        found = guesses(frame, catalog_of(options))
        print(escape(f"# {_title(sealer(options)(result))}"))
        print(f"{count_text(len(found), 'message')} that the frame could be" + (", best first" if found else ""))
        for line in _lines(found):
            print(escape(line), flush=True)
        failed |= not found
    if known and not shown:
        remark(f"nothing to guess: connections say what {count_text(known, 'frame')} hold; see kwire decode")
    return failed


def _title(result: Result) -> str:
    """Say which frame it is; what it looks like at first sight is one guess of many."""
    source = result.frame.source
    if not isinstance(result, Undecodable) or isinstance(result.frame.fault, NoFrame):
        return title(result)
    return f"frame {source.frame} at {source.offset}, {count_text(len(result.frame.data), 'byte')}"


def _lines(found: list[Guess]) -> Iterator[str]:
    """Write neighbours of one api, equal in everything, on one line."""
    for key, group in groupby(found, lambda guess: (guess.codec.name, guess.named, guess.doubts, guess.evidence)):
        members = list(group)
        versions = ",".join(str(version) for version in sorted(guess.codec.version for guess in members))
        spec = members[0].codec.spec
        span = str(Versions.parse(versions))
        yield f"  {spec.api_name + ':' + span:<34} {spec.type:<9} {_why(key[1], key[2], key[3])}"


def _why(named: bool, doubts: int, evidence: int) -> str:
    words = ["its header says so"] if named else []
    if evidence:
        words.append(f"{evidence} characters of text")
    if doubts:
        words.append(count_text(doubts, "odd value"))
    return ", ".join(words) or "nothing for or against"
