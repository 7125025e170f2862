"""What the page "Decode in the browser" runs in its worker: commands of kwire, and what they print."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout

from kwire.cli.main import main


def run(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Run a command; return its exit code, and what it prints to stdout and to stderr.

    >>> run(["decode", "--hex", "0"])
    (2, '', 'kwire: error: --hex:1: an odd number of hex digits; two digits make a byte\\n')
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = main(list(arguments))
    return code, _text(out), _text(err)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
