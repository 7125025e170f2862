"""`kwire check`: says of each frame, and each batch of a log, whether encoding it again gives the same bytes."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..errors import EncodeError
from ..logs import LogBatch, LogBytes
from ..protocol import Request, Response, Result, Token, Undecodable
from ..protocol.encoder import encode_result
from ..render.line import unread_text
from ..render.style import escape, json_text
from ..render.tree import title
from ..render.values import count_text
from ..sensitive_fields import Hidden
from .inputs import catalog_of, items, masker
from .log_entries import log_difference
from .options import add_command, add_inputs


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "check",
        about,
        "  kwire check dump.bin\n  kwire check --json a.bin b.hex\n",
        check,
    )
    add_inputs(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object, with every difference")


def check(options: argparse.Namespace) -> int:
    """Print each frame that does not come back as it was, then a count. Returns 1 if there is one."""
    frames, batches, found, unread = 0, 0, [], Counter[str]()
    for result in items(options, trace=True, sealed=False):
        if isinstance(result, Undecodable) and not result.is_failure:
            unread[result.error.code] += 1
            continue
        if isinstance(result, LogBatch | LogBytes):
            batches += isinstance(result, LogBatch)
            difference = log_difference(result)
        else:
            frames += 1
            difference = _difference(result, options)
        if difference is not None:
            found.append(difference)
            if not options.json:
                print(escape("\n".join(_lines(difference))), flush=True)
    if options.json:
        counts = {"frames": frames} | ({"batches": batches} if batches else {})
        counts["exact"] = max(0, frames + batches - len(found))
        more = {"unread": dict(unread)} if unread else {}
        print(json_text(counts | more | {"differences": found}))
    elif batches:
        what = f"{batches} batch{'es' * (batches != 1)}" + (f", {frames} frames" if frames else "")
        print(f"{what}: {len(found)} differences" if found else f"{what}: all come back byte for byte")
    else:
        left = f"; {unread_text(unread)}" if unread else ""
        print(f"{count_text(frames, 'frame')}: {frames - len(found)} encoded to the same bytes, {len(found)} not{left}")
    return 1 if found else 0


def _difference(result: Result, options: argparse.Namespace) -> dict[str, Any] | None:
    """Say where a frame and what it is encoded to again differ first; None if they do not."""
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
    start = 0 if result.frame.bare else 4  # that the size differs is no news where the rest does
    byte = next((at for at, (one, other) in pairs if at >= start and one != other), min(len(data), len(again)))
    span = next((span for span in result.spans if span.start <= byte < span.stop), None)
    faults = "; ".join(str(fault) for fault in safe.faults)
    words = [one[byte : byte + 8].hex(" ") if safe is result else str(Hidden(one[byte:])) for one in (data, again)]
    return {
        **common,
        "byte": byte,
        "field": span.path if span else "",
        "was": words[0],
        "again": words[1],
        "reason": faults or "another way to write the same",
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['file']}: {found['what']}"
    if found.get("byte") is not None:
        yield f"  byte {found['byte']:#x} ({found['byte']}), field {found['field'] or 'behind the last'}"
    if "was" in found:
        yield f"  in the dump: {found['was'] or 'nothing'}; encoded again: {found['again'] or 'nothing'}"
    yield f"  {found['reason']}"
