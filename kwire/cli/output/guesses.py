"""`kwire decode --guess`: what each frame could be."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import groupby

from ...protocol import Result, Undecodable
from ...protocol.frames.stream_faults import NoFrame
from ...protocol.identify import Guess, guess_types
from ...render.escaping import escape
from ...render.frame_title import title
from ...render.value_text import count_text
from ...schema.version_ranges import Versions
from ..input.dump_decoder import results
from ..options.secrets import masker
from ..options.specs import catalog_of
from ..options.usage_error import UsageError
from ..terminal.remarks import remark


def guess(options: argparse.Namespace) -> int:
    """Print what each frame could be; of a capture, only unidentified frames. Returns 1 if a frame matches nothing."""
    if options.body or options.named:
        raise UsageError("--guess and --as cannot be combined: --guess finds what --as states")
    failed = known = shown = 0
    for result in results(options, sealed=False):
        frame = result.frame
        if isinstance(frame.fault, NoFrame) or (frame.source.direction and not isinstance(result, Undecodable)):
            known += not isinstance(frame.fault, NoFrame)
            continue
        shown += 1
        guesses = guess_types(frame, catalog_of(options))
        print(escape(f"# {_title(masker(options)(result))}"))
        print(f"{count_text(len(guesses), 'message')} that the frame could be" + (", best first" if guesses else ""))
        for line in _guess_lines(guesses):
            print(escape(line), flush=True)
        failed |= not guesses
    if not shown:
        reason = f"connections say what {count_text(known, 'frame')} hold; see kwire decode" if known else "0 frames"
        remark(f"nothing to guess: {reason}")
    return failed


def _title(result: Result) -> str:
    """Return the title of a frame; that of an undecodable frame names no api, which would be one guess of many."""
    source = result.frame.source
    if not isinstance(result, Undecodable) or isinstance(result.frame.fault, NoFrame):
        return title(result)
    return f"frame {source.frame} at {source.offset}, {count_text(len(result.frame.data), 'byte')}"


def _guess_lines(guesses: list[Guess]) -> Iterator[str]:
    """Yield the guesses as lines; consecutive versions of an api that give the same result share a line."""
    for key, group in groupby(guesses, lambda guess: (guess.codec.name, guess.named, guess.doubts, guess.evidence)):
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
    return ", ".join(words) or "no evidence"
