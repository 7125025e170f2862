"""`kwire check`: checks that encoding each frame, and each batch of a log, again gives the same bytes, and that the
files beside the segments agree with them.

A file of a broker's disk is compared with the segments and folders that it refers to; the rules are in
`kwire.capture.logs.checks`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ...capture.logs.batch_spans import explain_batch
from ...capture.logs.checks.batch_rebuild import rebuild_batch
from ...capture.logs.disk_files import DiskFile
from ...capture.logs.log_batch import LogBatch, LogBytes
from ...capture.logs.mask_logs import has_secrets
from ...errors import DecodeError, EncodeError
from ...protocol import Request, Response, Result, Token, Undecodable
from ...protocol.frame_encoder import encode_result
from ...render.escaping import escape, json_text
from ...render.frame_title import title
from ...render.record_text import batch_text
from ...render.unread_counts import unread_text
from ...render.value_text import count_text
from ...schema.sensitive_fields import Hidden
from ..input.dump_decoder import DumpDecoder
from ..input.dumps import dumps_in
from ..input.files_beside_segments import disk_differences
from ..options.inputs import add_inputs
from ..options.secrets import masker
from ..options.specs import catalog_of

MOST = 1000  # differences shown for each file


EXAMPLES = """\
  kwire check dump.bin
  kwire check --json a.bin b.hex
  kwire check -r /var/lib/kafka/data   segments, indexes, checkpoints
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_inputs(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object, with every difference")


def run(options: argparse.Namespace) -> int:
    """Print which frames and batches are not encoded to the same bytes, and errors in the files beside segments; then
    counts.

    Returns 1 if any difference was found.
    """
    counts, unread = Counter[str](), Counter[str]()
    all_differences: list[dict[str, Any]] = []
    for item in _items(options):
        if isinstance(item, Undecodable) and not item.is_failure:
            unread[item.error.code] += 1
            continue
        differences = _differences(item, options, counts)
        all_differences += differences
        if not options.json:
            for difference in differences:
                print(escape("\n".join(_lines(difference))), flush=True)
    if options.json:
        print(json_text(_summary(counts, unread) | {"differences": all_differences}))
    else:
        print("\n".join(_count_lines(counts, unread)))
    return 1 if all_differences else 0


def _items(options: argparse.Namespace) -> Iterator[Result | LogBatch | LogBytes | DiskFile]:
    reading = DumpDecoder(options, trace=True, sealed=False)
    for dump in dumps_in(options, logs=True):
        if dump.disk is not None:
            yield dump.disk
        else:
            yield from reading.items(dump)


def _differences(
    item: Result | LogBatch | LogBytes | DiskFile, options: argparse.Namespace, counts: Counter[str]
) -> list[dict[str, Any]]:
    """Return the differences found in an item, and count the item."""
    if isinstance(item, DiskFile):
        counts["files"] += 1
        differences = [*islice(_disk_differences(item), MOST)]
        counts["wrong files"] += bool(differences)
        return differences
    if isinstance(item, LogBatch | LogBytes):
        counts["batches"] += isinstance(item, LogBatch)
        difference = log_difference(item)
        counts["wrong batches"] += difference is not None
    else:
        counts["frames"] += 1
        difference = _difference(item, options)
        counts["wrong frames"] += difference is not None
    return [] if difference is None else [difference]


def _disk_differences(disk: DiskFile) -> Iterator[dict[str, Any]]:
    for difference in disk_differences(disk):
        yield {
            "file": disk.file,
            "what": disk.kind,
            "byte": difference.position,
            "field": difference.field,
            "reason": difference.reason,
        }


def _summary(counts: Counter[str], unread: Counter[str]) -> dict[str, Any]:
    """Return the counts of --json; `exact` counts the frames and batches that were encoded to the same bytes."""
    members: dict[str, Any] = {"frames": counts["frames"]}
    members |= {name: counts[name] for name in ("batches", "files") if counts[name]}
    wrong = counts["wrong frames"] + counts["wrong batches"]
    members["exact"] = max(0, counts["frames"] + counts["batches"] - wrong)
    return members | ({"unread": dict(unread)} if unread else {})


def _count_lines(counts: Counter[str], unread: Counter[str]) -> Iterator[str]:
    files, frames, batches = counts["files"], counts["frames"], counts["batches"]
    if batches:
        what = f"{batches} batch{'es' * (batches != 1)}" + (f", {frames} frames" if frames else "")
        wrong = counts["wrong frames"] + counts["wrong batches"]
        yield f"{what}: {wrong} differences" if wrong else f"{what}: all encode to the same bytes"
    elif frames or not files or unread:
        left = f"; {unread_text(unread)}" if unread else ""
        wrong = counts["wrong frames"]
        yield f"{count_text(frames, 'frame')}: {frames - wrong} encoded to the same bytes, {wrong} not{left}"
    if files:
        wrong = counts["wrong files"]
        what = f"{count_text(files, 'file')} beside segments"
        yield f"{what}: {wrong} with differences" if wrong else f"{what}: no differences"


def _difference(result: Result, options: argparse.Namespace) -> dict[str, Any] | None:
    """Return where a frame first differs from its re-encoded bytes; None if they are equal."""
    source, safe = result.frame.source, masker(options)(result)
    common = {"file": source.file, "frame": source.frame, "offset": source.offset, "what": title(safe)}
    if isinstance(safe, Undecodable):
        return {**common, "byte": safe.error.offset, "field": safe.error.path, "reason": str(safe.error)}
    if not isinstance(result, Request | Response) or isinstance(safe, Token):
        return None  # a token is its own bytes
    data = result.frame.data
    try:
        again = encode_result(result, catalog_of(options))
    except EncodeError as error:
        return {**common, "byte": None, "field": error.path, "reason": str(error)}
    if again == data:
        return None
    pairs = enumerate(zip(data, again, strict=False))
    start = 0 if result.frame.bare else 4  # a different size follows from the other difference
    byte = next((at for at, (side, other) in pairs if at >= start and side != other), min(len(data), len(again)))
    span = next((span for span in result.spans if span.start <= byte < span.stop), None)
    faults = "; ".join(str(fault) for fault in safe.faults)
    words = [side[byte : byte + 8].hex(" ") if safe is result else str(Hidden(side[byte:])) for side in (data, again)]
    return {
        **common,
        "byte": byte,
        "field": span.path if span else "",
        "was": words[0],
        "again": words[1],
        "reason": faults or "a different encoding of the same values",
    }


def _lines(finding: dict[str, Any]) -> Iterator[str]:
    yield f"{finding['file']}: {finding['what']}"
    if finding.get("byte") is not None:
        yield f"  byte {finding['byte']:#x} ({finding['byte']}), field {finding['field'] or 'after the last'}"
    if "was" in finding:
        yield f"  in the dump: {finding['was'] or 'nothing'}; encoded again: {finding['again'] or 'nothing'}"
    yield f"  {finding['reason']}"


def log_difference(item: LogBatch | LogBytes) -> dict[str, Any] | None:
    """Return where a batch first differs from its rebuilt bytes; None if they are equal, or for zeros."""
    if isinstance(item, LogBytes):
        what = f"{item.count} bytes at {item.position}"
        reason = str(item.error)
        return (
            None if item.error is None else {"file": item.file, "what": what, "byte": 0, "field": "", "reason": reason}
        )
    common = {"file": item.file, "offset": item.header.position, "what": batch_text(item.header).removeprefix("# ")}
    try:
        compared = rebuild_batch(item.header)
    except DecodeError as error:
        return {**common, "byte": error.offset - item.header.position, "field": error.path, "reason": str(error)}
    except EncodeError as error:
        return {**common, "byte": None, "field": error.path, "reason": str(error)}
    was, again = compared.was, compared.again
    if was == again:
        return None
    byte = next((at for at, (one, other) in enumerate(zip(was, again, strict=False)) if one != other), -1)
    byte = min(len(was), len(again)) if byte < 0 else byte
    explained = explain_batch(item)[compared.inside]
    span = next((one for one in explained.spans if one.start <= byte < one.stop), None) if explained else None
    faults = "; ".join(map(str, item.faults))
    hidden = has_secrets(item)
    return {
        **common,
        "byte": byte,
        "field": span.path if span else "",
        "was": str(Hidden(was[byte:])) if hidden else was[byte : byte + 8].hex(" "),
        "again": str(Hidden(again[byte:])) if hidden else again[byte : byte + 8].hex(" "),
        "reason": faults or "a different encoding of the same values" + (", in decompressed records" * compared.inside),
    }
