"""Counts frames and records while they are printed: decoded, undecodable, with faults, hidden by a filter."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

from ...capture.logs.disk_entry import DiskEntry
from ...capture.logs.log_batch import LogRecord
from ...protocol import Token, Undecodable
from ...protocol.frames.stream_faults import NotKafka
from ...render.unread_counts import unread_text
from ...render.value_text import count_text
from ..input.log_entries import is_bad, is_faulty
from ..terminal.remarks import remark
from .item_text import ENTRY, Item, is_complete


def count_items(decoded: Iterator[Item], counts: Counter[str]) -> Iterator[Item]:
    """Yield items unchanged, and count them."""
    for item in decoded:
        count_item(item, counts)
        yield item


def count_item(item: Item, counts: Counter[str]) -> None:
    """Count an item: a complete frame, a frame that did not decode, or, by its error code, any other piece."""
    if isinstance(item, ENTRY):
        counts["records"] += isinstance(item, LogRecord | DiskEntry)
        counts["undecodable"] += is_bad(item)
        counts["failures"] += is_bad(item)
        counts["faulty"] += is_faulty(item)
        return
    is_piece = not is_complete(item)
    counts["frames"] += not is_piece
    if isinstance(item, Undecodable):
        counts["failures"] += item.is_failure
        counts["undecodable" if item.is_failure and not is_piece else item.error.code] += 1
    elif not isinstance(item, Token) and item.faults:
        counts["faulty"] += 1


def print_counts(options: argparse.Namespace, counts: Counter[str], *, interrupted: bool = False) -> None:
    """Print the counts on stderr, if they say more than the output does."""
    hidden, always = 0 if interrupted else counts["hidden"], interrupted or options.follow or not +counts
    unread = {code: count for code, count in counts.items() if code.isupper() and code != NotKafka.code}
    if counts["undecodable"] or counts["faulty"] or hidden or unread or always:
        records = [count_text(counts["records"], "record")] if counts["records"] else []
        frames = [count_text(counts["frames"], "frame")] if counts["frames"] or not records else []
        faulty = f", {counts['faulty']} with faults" if counts["faulty"] else ""
        shown = f", {counts['shown']} shown" if hidden else ""
        undecodable = f", {counts['undecodable']} undecodable" if counts["undecodable"] or not unread else ""
        others = f"; {unread_text(unread)}" if unread else ""
        remark(f"{', '.join(frames + records)}{undecodable}{faulty}{shown}{others}")
