"""Reads files that must be text; the error names the line that is not."""

from __future__ import annotations

from pathlib import Path

from ..errors import DumpError
from ..logs import looks_like_log
from .open import CAPTURES, open_unpacked

LONGEST = 1 << 31  # bytes


def read_text(path: str | Path, hint: str) -> str:
    """Read a text in UTF-8, compressed or not.

    Args:
        path: a file; `-` is standard input.
        hint: what to do with another file.

    Raises:
        DumpError: it is no text; with what it is.
        OSError: it cannot be read.
    """
    data = bytearray()
    with open_unpacked(path) as opened:
        for portion in opened.portions():
            data += portion
            if len(data) > LONGEST:
                raise DumpError(f"more than {LONGEST} bytes of text", file=str(path), hint="split it")
    kind = _binary_kind(bytes(data[:128]))
    try:
        if kind is None:
            return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        kind = f"no text in UTF-8 (byte 0x{data[error.start]:02x} at offset {error.start})"
    raise DumpError(f"this is {kind}", file=str(path), hint=hint)


def _binary_kind(head: bytes) -> str | None:
    """Say what a file that begins so is, if it is no text.

    >>> _binary_kind(bytes.fromhex("00000004 00000007")), _binary_kind(b'{"kwire": 1}')
    ('no text, but raw frames or other bytes', None)
    """
    for kind, (magics, _) in CAPTURES.items():
        if head[:4] in magics:
            return f"a capture ({kind})"
    if b"\0" not in head:
        return None
    return "a log segment" if looks_like_log(head) else "no text, but raw frames or other bytes"
