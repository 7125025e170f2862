"""Writes what commands print of some files: `python -m tests.codecs.native.whole_outputs FOLDER FILE...`.

`KWIRE_ENGINE` chooses the engine of the process; `test_whole_outputs` compares the folders of two engines.
"""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from kwire.cli.main import main

COMMANDS = (
    ("report",),
    ("stats", "--json"),
    ("stats", "--latency", "--by", "client,api"),
    ("stats", "--latency", "--slow", "10", "--json"),
    ("decode",),
    ("decode", "--jsonl"),
    ("decode", "--json"),
    ("decode", "--fields", "frame,time,api,latency,request_frame,error_code,undecodable"),
)


def printed(*arguments: str) -> bytes:
    """Return the exit code of a command, and what it prints."""
    output, errors = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            code: object = main(list(arguments))
        except SystemExit as ending:
            code = ending.code
    raw = output.detach().getvalue()
    return f"exit code {code}\n{errors.getvalue()}".encode() + bytes(raw)


if __name__ == "__main__":
    folder, *files = sys.argv[1:]
    for number, file in enumerate(files):
        for command in COMMANDS:
            name = f"{number} {' '.join(command)} {Path(file).name}".replace("/", "_")
            (Path(folder) / name).write_bytes(printed(command[0], file, *command[1:]))
