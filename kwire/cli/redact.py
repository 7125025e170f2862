"""`kwire redact`: a dump without payloads, secrets and names, every byte where it was."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import DumpError
from ..redaction import REASONS, Redactor
from ..render.table import table
from ..render.values import count_text
from .inputs import UsageError, catalog_of, dumps_in
from .progress import with_progress
from .terminal import remark


def redact(options: argparse.Namespace) -> int:
    """Write the redacted frames, and print what was taken out and why."""
    if options.list:
        for line in table(["kind", "why it is taken out"], [list(row) for row in REASONS.items()]):
            print(line)
        return 0
    if not options.files or not options.output:
        raise UsageError("redact takes FILE and -o OUT; --list says what it takes out")
    keep = _kinds(options.keep)
    out = Path(options.output)
    if any(name != "-" and out.exists() and out.samefile(name) for name in options.files if Path(name).exists()):
        raise DumpError("this is the dump itself", file=options.output, hint="write to another file")
    redactor = Redactor(keep, catalog_of(options))
    frames = (frame for dump in dumps_in(options) for frame in dump.frames)
    count = 0
    with out.open("wb") as stream:
        for frame in with_progress(frames):
            stream.write(redactor.redact(frame))
            count += 1
    rows = [[kind, str(redactor.counts[kind]), REASONS[kind]] for kind in REASONS if redactor.counts[kind]]
    if rows:
        for line in table(["kind", "values", "why"], rows):
            print(line)
    kept = f"; kept: {', '.join(sorted(keep))}" if keep else ""
    remark(f"{count_text(count, 'frame')}, {count_text(redactor.counts.total(), 'value')} taken out{kept}")
    return 0


def _kinds(text: str) -> set[str]:
    kinds = {word.strip() for word in text.split(",") if word.strip()}
    unknown = sorted(kinds - set(REASONS))
    if unknown:
        raise UsageError(f"--keep {', '.join(unknown)}: write some of {', '.join(REASONS)}")
    return kinds
