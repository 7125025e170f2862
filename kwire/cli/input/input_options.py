"""Which options apply to which inputs: one table, and one sentence for an option that does not apply.

What --where, --fields and --sort name is checked by `kwire.query.available_paths`.
"""

from __future__ import annotations

import argparse

from ...capture.dump import Dump
from ..options.usage_error import UsageError

CAPTURE, FRAMES, LOG, FILE_BESIDE = (
    "a capture",
    "frames without packets",
    "a log",
    "a file beside the segments",
)
_RECORDS = (LOG, FILE_BESIDE)

# Attribute of the options -> the option, the inputs to which it does not apply, and what it is for.
INAPPLICABLE: dict[str, tuple[str, tuple[str, ...], str]] = {
    "named": ("--as", _RECORDS, "it names the message of a frame; --log-of names the topic of a log"),
    "log_of": ("--log-of", (CAPTURE, FRAMES, FILE_BESIDE), "it names the topic of a log; --as names a message"),
    "registry": ("--registry", (FILE_BESIDE,), "its entries have no keys and values"),
    "request": ("--request", _RECORDS, "records have no responses; --where 'offset == N' shows one"),
    "response_frames": ("--response-frames", _RECORDS, "records have no responses"),
}


def kind_of_input(dump: Dump) -> str:
    """Return the kind of an input, as the table names it."""
    if dump.batches is not None:
        return LOG
    if dump.disk is not None:
        return FILE_BESIDE
    return FRAMES if dump.captured is None else CAPTURE


def refuse_inapplicable(dump: Dump, options: argparse.Namespace) -> None:
    """Raise UsageError if an option was given that does not apply to an input."""
    kind = kind_of_input(dump)
    for attribute, (option, kinds, use) in INAPPLICABLE.items():
        value = getattr(options, attribute, None)
        if value is not None and value is not False and kind in kinds:
            raise UsageError(f"{option} does not apply to {dump.file or 'this input'}, {kind}: {use}")
