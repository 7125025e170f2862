"""`kwire demo`: explains a bundled dump of a real broker, and suggests what to try next."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from pathlib import Path

from ...capture.open_dump import read_dump
from ...protocol import FrameDecoder
from ..options.output import add_colour
from ..output.explained_frame import print_result
from ..terminal.terminal_style import style_for

_DEMO_NAME = "kafka-3.9-zk.bin"
_HERE = Path(__file__).parent.parent
# In the wheel, the dump is in kwire/cli; in a checkout, it is among the fixtures.
DUMP = _HERE / _DEMO_NAME if (_HERE / _DEMO_NAME).exists() else _HERE.parent.parent / "fixtures" / "dumps" / _DEMO_NAME
INTRODUCTION = """\
A Kafka 3.9 controller tells its brokers about a new partition (is_new_replica) and about a broker
that went away (offline_replicas); then a client asks for the same by Metadata. Every byte is real.
"""


EXAMPLES = """\
  kwire demo
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_colour(parser)


def run(options: argparse.Namespace) -> int:
    """Explain the bundled dump, and suggest what to try next."""
    style = style_for(sys.stdout, options.color)
    print(INTRODUCTION)
    decoder = FrameDecoder(trace=True)
    for frame in read_dump(DUMP):
        print_result(decoder.decode(frame), style)
        print()
    print("Try next:")
    kwire, dump = _command(), shlex.quote(str(_near(DUMP)))
    for words in (f"decode {dump}", f"decode {dump} --jsonl", "--help"):
        print(f"  {kwire} {words}")
    return 0


def _command() -> str:
    """Return the command that runs this kwire: its name if it is on the PATH, else its path, or that of the
    interpreter.
    """
    script = Path(sys.executable).parent / "kwire"
    program = shutil.which("kwire", path=os.environ.get("KWIRE_SHELL_PATH"))  # dev.py has put .venv into PATH
    if program and (not script.exists() or Path(program).samefile(script)):
        return "kwire"
    return shlex.quote(str(_near(script))) if script.exists() else f"{shlex.quote(sys.executable)} -m kwire"


def _near(path: Path) -> Path:
    """Return a path relative to the working directory if it is below it, else unchanged."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
