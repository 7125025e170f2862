"""Clients that are programs, and `kwire serve` as a process for them.

Where a client is missing, tests are skipped; with KWIRE_INTEROP=required they fail.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import kwire
from kwire.client.address import Address, address
from kwire.client.connection import BrokerConnection
from tests.conftest import ROOT, lacking

# -P: beside the program lies a module of the package's name
KAFKA_PYTHON = [sys.executable, "-P", "-W", "ignore", str(Path(__file__).with_name("kafka_python_client.py"))]
PATIENCE = 120.0  # seconds


def need_client(name: str) -> None:
    """Skip a test without kcat, or kafka-python, or fail it where all must be there."""
    if not (find_spec("kafka") if name == "kafka-python" else shutil.which(name)):
        lacking(name)


@contextmanager
def served(folder: Path, *options: str) -> Iterator[list[Address]]:
    """Serve a cluster until the end of the block; nothing that it has to note may have happened by then."""
    notes = folder / "served"
    command = [sys.executable, "-m", "kwire", "serve", ":0", *options]
    with notes.open("w") as stream, subprocess.Popen(command, cwd=ROOT, stderr=stream) as process:
        try:
            until(lambda: "listening" in notes.read_text())
            yield [address(place) for place in re.findall(r"127\.0\.0\.1:\d+", notes.read_text().splitlines()[0])]
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
    others = notes.read_text().splitlines()[1:]
    assert len(others) == 1, others  # how many requests there were


def until(happens: Callable[[], Any]) -> None:
    """Wait until something has happened."""
    deadline = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.02)


def group_at(places: Sequence[Address], group_id: str) -> Any:
    """Describe a group."""
    request = kwire.messages.DescribeGroupsRequest(groups=(group_id,))
    for place in places:
        with BrokerConnection(place, timeout=PATIENCE) as broker:
            answer = broker.ask(kwire.codec("DescribeGroupsRequest", 5), request)
            assert answer is not None
            (group,) = answer.message.groups
            if not group.error_code:
                return group
    raise AssertionError("no broker coordinates the group")


def until_stable(places: Sequence[Address], group_id: str, members: int) -> None:
    """Wait until a group has so many members, and each of them knows what to read."""
    state = "Stable" if members else "Empty"

    def is_so() -> bool:
        group = group_at(places, group_id)
        return len(group.members) == members and group.group_state == state

    until(is_so)


class Reader:
    """A process that writes the lines that it consumes to a file, until it is stopped in order."""

    def __init__(self, command: Sequence[str], file: Path) -> None:
        self.file, self.errors = file, file.with_suffix(".errors")
        with file.open("w") as out, self.errors.open("w") as errors:
            self.process = subprocess.Popen(command, stdout=out, stderr=errors)

    def lines(self) -> list[str]:
        return self.file.read_text().splitlines()

    def stop(self) -> list[str]:
        self.process.terminate()
        self.process.wait(PATIENCE)
        return self.lines()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *args: object) -> None:
        self.process.kill()
        self.process.wait()
