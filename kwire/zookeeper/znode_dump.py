"""Reads znodes from JSON text: one object of paths, or a line per change."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from ..errors import ZnodeError
from .znode import Znode


def znodes_in(text: str) -> list[Znode] | None:
    """Return the znodes in JSON text; None if the text has another form.

    Args:
        text: an object that maps paths to data (strings or null), or one line of JSON per change, with `path` and
            `data`, and if known `op` (`delete` has no data), `version`, `zxid` and `time` (ISO 8601).

    Raises:
        ZnodeError: a line does not describe a change.

    >>> znodes_in('{"/controller_epoch": "7"}')
    [Znode(path='/controller_epoch', data=b'7', version=-1, zxid=-1, time=None, children=None, file='')]
    """
    if not looks_like_znodes(text):
        return None
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return [_read_change(line, number) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if "path" in whole and isinstance(whole["path"], str):
        return [_read_change(text, 1)]
    return [Znode(path, _encode_data(data)) for path, data in whole.items()]


def looks_like_znodes(head: str) -> bool:
    """Whether text starts like the JSON of znodes."""
    return re.match(r'\s*\{\s*("/[^"]*"\s*:|[^{}]*"path"\s*:\s*"/)', head) is not None


def _read_change(line: str, number: int) -> Znode:
    try:
        row = json.loads(line)
        path = row["path"]
        time = row.get("time")
        if not isinstance(path, str):
            raise TypeError("its path is not text")
        seconds = None if time is None else _parse_time(time)
        data = None if row.get("op") == "delete" else _encode_data(row.get("data"))
        return Znode(path, data, int(row.get("version", 0)), int(row.get("zxid", -1)), seconds)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ZnodeError(f"line {number} is not a change of a znode: {error}", znode="?") from None


def _parse_time(time: str) -> float:
    moment = datetime.fromisoformat(time)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _encode_data(data: Any) -> bytes:
    if data is None:
        return b""
    return data.encode() if isinstance(data, str) else json.dumps(data).encode()
