"""Builds the programs in programs/ and asks them: Kafka's Java classes, franz-go's kmsg and Rust's kafka-protocol.

They are built with what their languages have for it (mvn, go and cargo fetch what they need), once, in the folder
kwire-benchmarks of ~/.cache. What is missing for one is said, and it is left out. programs/README.md says how they are
talked to.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.lib.bodies import Body
from benchmarks.lib.rounds import Timer
from kwire.schema.catalog import catalog_for

SOURCES = Path(__file__).parent / "programs"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kwire-benchmarks"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
JARS = ("org.apache.kafka:kafka-clients:3.9.2", "org.slf4j:slf4j-api:1.7.36")


class Program(NamedTuple):
    """How one is built and run, in a folder of its own.

    Attributes:
        label: what it measures, with its version.
        builders, runner: the tools for that.
        build: the commands.
        run: the command.
        warm: seconds that each function is called before it is timed.
    """

    label: str
    builders: tuple[str, ...]
    runner: str | None
    build: list[list[str]]
    run: list[str]
    warm: float = 0.0


PROGRAMS = {
    "java": Program(
        "kafka-clients 3.9.2",
        ("mvn", "javac"),
        "java",
        [
            *(["mvn", "-q", "-B", COPY, f"-Dartifact={jar}", "-DoutputDirectory=lib"] for jar in JARS),
            ["javac", "-nowarn", "-cp", "lib/*", "Clock.java"],
        ],
        ["java", "-XX:+UseSerialGC", "-Xms512m", "-cp", ".:lib/*", "Clock"],
        0.5,
    ),
    "go": Program("franz-go kmsg 1.15.0", ("go",), None, [["go", "build", "-o", "clock", "."]], ["./clock"]),
    "rust": Program(
        "kafka-protocol 0.18.0, of LeaderAndIsr and UpdateMetadata 0.14.1",
        ("cargo",),
        None,
        [["cargo", "build", "--release", "--quiet"]],
        ["./target/release/clock"],
    ),
}


def built(name: str, program: Program) -> Path:
    """Return the folder of a program, which is built if it is not there, or was from other sources.

    Raises:
        LookupError: a tool is missing, or fails.
    """
    folder = CACHE / name
    files = sorted(path for path in (SOURCES / name).rglob("*") if path.is_file())
    stamp = hashlib.sha256(repr([program, *(path.read_bytes() for path in files)]).encode()).hexdigest()
    there = folder / "stamp"
    is_built = there.exists() and there.read_text("ascii") == stamp
    needed = (() if is_built else program.builders) + ((program.runner,) if program.runner else ())
    for tool in needed:
        if shutil.which(tool) is None:
            raise LookupError(f"there is no {tool}; it needs {' and '.join(needed)}")
    if not is_built:
        shutil.copytree(SOURCES / name, folder, dirs_exist_ok=True)
        for command in program.build:
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
            if done.returncode:
                raise LookupError(f"{' '.join(command[:2])} failed: {(done.stdout + done.stderr).strip()[-400:]}")
        there.write_text(stamp, "ascii")
    return folder


class Other:
    """One program that runs, and is asked in turns.

    Args:
        name: what it is called in messages.
        command, folder: what is run, and where.
        scratch: where bodies are put for it.
        warm: as for `Program`.
    """

    def __init__(self, name: str, command: list[str], folder: Path, scratch: Path, warm: float = 0.0) -> None:
        self.name, self.warm, self.count = name, warm, 0
        self.file = scratch / f"{name}.bodies"
        environment = {**os.environ, "GOMAXPROCS": "1"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=folder, env=environment)

    def ask(self, question: str) -> str:
        """Write a line and read one."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{question}\n")
            self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            sys.exit(f"{self.name} has ended where it was asked: {question}")
        return answer

    def load(self, body: Body) -> dict[str, Timer]:
        """Hand over bodies; return what times `decode` and `encode`, or nothing if it does not have the message."""
        spec = catalog_for().spec(body.message)
        self.file.write_bytes(b"".join(len(data).to_bytes(4, "big") + data for data in body.datas))
        answer = self.ask(f"load {spec.api_key} {spec.type} {body.version} {self.file}")
        if answer != "ok":
            return {}
        again = self.file.with_suffix(".bodies.again")
        if again.read_bytes() != self.file.read_bytes():
            sys.exit(f"{self.name} does not write the bytes of {body.label} again")
        number, self.count = self.count, self.count + 1
        timers: dict[str, Timer] = {one: partial(self.time, one, number) for one in ("decode", "encode")}
        if self.warm:
            for measure in timers.values():
                measure(self.warm)
        return timers

    def time(self, operation: str, number: int, slot: float) -> float:
        """Return the seconds of one call: processor time of all threads, where the system tells that of others."""
        begin = self.clock()
        calls = int(self.ask(f"{operation} {number} {round(slot * 1e9)}"))
        return (self.clock() - begin) / calls

    def clock(self) -> float:
        """Return how long it has worked."""
        if sys.platform != "linux":
            return time.perf_counter()
        return time.clock_gettime(~self.process.pid << 3 | 2)  # as clock_getcpuclockid(3) makes it

    def end(self) -> None:
        """Let it end, which it does where nothing more is asked."""
        self.process.communicate()


def started(scratch: Path, names: Sequence[str], say: Callable[[str], None] = print) -> list[Other]:
    """Start the programs of some names that can be built here, and say which cannot."""
    found = []
    for name in names:
        program = PROGRAMS[name]
        try:
            folder = built(name, program)
        except LookupError as error:
            say(f"{name} is missing: {error}")
        else:
            say(f"{name}: {program.label}")
            found.append(Other(name, program.run, folder, scratch, program.warm))
    return found
