"""`kwire demo`: a dump of a real broker, explained."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from ..dumps import read_dump
from ..frames import FrameDecoder
from .explain import print_result
from .terminal import style_for

_NAME = "kafka-3.9-zk.bin"
_HERE = Path(__file__).parent
# In the wheel the dump lies beside this file, in a checkout with the fixtures.
DUMP = _HERE / _NAME if (_HERE / _NAME).exists() else _HERE.parent.parent / "fixtures" / "dumps" / _NAME

INTRODUCTION = """\
A Kafka 3.9 controller tells its brokers about a new partition (is_new_replica) and about a broker
that went away (offline_replicas); then a client asks for the same by Metadata. Every byte is real.
"""


def demo(options: argparse.Namespace) -> int:
    """Explain the bundled dump, and say what to try next."""
    style = style_for(sys.stdout, options.color)
    print(INTRODUCTION)
    decoder = FrameDecoder(trace=True)
    for frame in read_dump(DUMP):
        print_result(decoder.decode(frame), style)
        print()
    print("Try next:")
    dump = shlex.quote(str(DUMP))
    for command in (f"kwire decode {dump}", f"kwire decode {dump} --jsonl", "kwire --help"):
        print(f"  {command}")
    return 0
