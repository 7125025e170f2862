"""Runs commands of kwire, each in a process that is forked from one which has already imported kwire.

A process of its own costs 0.2 s of processor time before it begins; a forked one costs 0.02 s. Nothing else differs:
streams, folder, environment and exit code are its own, and executions are not compared (`tests.executions`).
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parent.parent
STREAMS = ("stdin", "stdout", "stderr")
WARM_UP = (  # what they import and compile is there in each process that is forked
    "decode {dump} --jsonl",
    "decode {dump} --where error_code --fields frame,client_id --sort client_id --format table",
    "stats {dump} --by topic,error",
    "cluster {dump} --json",
)


class CommandRunner:
    """The process that forks. Close it."""

    def __init__(self) -> None:
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", "from tests.commands import serve; serve()"]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, env=environment, text=True, stdin=pipe, stdout=pipe)

    def run(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str], given: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        """Run `kwire` with these arguments; return its exit code and what it wrote."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with tempfile.TemporaryDirectory() as scratch:
            paths = [Path(scratch, name) for name in STREAMS]
            paths[0].write_bytes(given)
            request = [list(words), str(folder), dict(environment), [str(path) for path in paths]]
            try:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
                code = int(self._process.stdout.readline())
            except BaseException:  # interrupted by tests.time_limits: the answer would be taken for that of the next
                self.close()
                self._process = self._start()
                raise
            return subprocess.CompletedProcess(words, code, paths[1].read_bytes(), paths[2].read_bytes())

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def serve() -> None:
    """Fork for each request, a line of JSON, until the input ends; answer with the exit code."""
    from kwire.cli.command_table import COMMANDS, import_command
    from kwire.cli.main import main

    for name in COMMANDS:
        import_command(name)
    with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        for command in WARM_UP:
            main(command.format(dump=ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").split())
    gc.collect()
    gc.freeze()  # a collection in a child would copy the memory of what it looks at
    for line in sys.stdin:
        words, folder, environment, paths = json.loads(line)
        child = os.fork()
        if child == 0:
            run_here(words, folder, environment, paths)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


def run_here(words: list[str], folder: str, environment: dict[str, str], paths: list[str]) -> NoReturn:
    """Run a command in this process, and end it."""
    from kwire.cli.main import main

    code = 70
    try:
        for number, path in enumerate(paths):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
