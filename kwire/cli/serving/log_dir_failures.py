"""--fail-log-dir: log directories that fail some seconds after the start."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...broker import Node
from ...broker.node import LogDir
from ..options.usage_error import UsageError

_FAILURE = re.compile(r"(\d{1,9}):(.+?)(?:@(\d{1,9}(?:\.\d{1,9})?))?")


class Failure(NamedTuple):
    """A directory that fails a number of seconds after the start."""

    log_dir: LogDir
    after: float


def failures_in(texts: Sequence[str], nodes: Sequence[Node]) -> list[Failure]:
    """Parse failures of directories, each `ID:DIR[@SECONDS]`.

    Raises:
        UsageError: a text has another form, or there is no such directory.
    """
    known = {(node.node_id, log_dir.path): log_dir for node in nodes for log_dir in node.log_dirs}
    failures = []
    for text in texts:
        match = _FAILURE.fullmatch(text)
        if match is None or (int(match[1]), match[2]) not in known:
            names = ", ".join(f"{node_id}:{path}" for node_id, path in list(known)[:5])
            raise UsageError(f"there is no log directory {text!r}; there are: {names}")
        failures.append(Failure(known[int(match[1]), match[2]], float(match[3] or 0)))
    return failures
