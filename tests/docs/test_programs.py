"""The client and the proxy of the tutorials run against `kwire serve`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import ROOT
from tests.docs.pages import program

CLIENT = program("docs/tutorials/write-a-client.md", "client.py")
PROXY = program("docs/tutorials/write-a-proxy.md", "proxy.py")


@contextmanager
def running(command: list[str], pattern: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a command until the block ends; yields what the pattern finds in its first line."""
    with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            assert process.stdout is not None
            found = re.search(pattern, process.stdout.readline())
            assert found
            yield found[1], process
        finally:
            process.terminate()


def test_they_are_short() -> None:
    assert all(len(code.splitlines()) <= 60 for code in (CLIENT, PROXY))


def test_the_client_through_the_proxy(tmp_path: Path) -> None:
    for name, code in (("client.py", CLIENT), ("proxy.py", PROXY)):
        (tmp_path / name).write_text(code, "utf-8")
    serve = [sys.executable, "-u", "-m", "kwire", "serve", "127.0.0.1:0"]
    with running(serve, r"(127\.0\.0\.1:\d+)") as (address, _):
        command = [sys.executable, str(tmp_path / "proxy.py"), "0", address]
        with running(command, r"listening on (\d+)") as (port, proxy):
            client = [sys.executable, str(tmp_path / "client.py"), f"127.0.0.1:{port}"]
            done = subprocess.run(client, cwd=ROOT, text=True, capture_output=True, timeout=180)
            assert done.stdout.splitlines() == ["3 Metadata 13 1", "4 DescribeCluster 2 1"], done.stderr
            assert proxy.stdout is not None
            lines = [proxy.stdout.readline() for _ in range(8)]
    assert sorted(lines) == [
        "-> ApiVersionsRequest 4 2 my-client\n",
        "-> ApiVersionsRequest 5 1 my-client\n",
        "-> DescribeClusterRequest 2 4 my-client\n",
        "-> MetadataRequest 13 3 my-client\n",
        "<- ApiVersionsResponse 0 1 my-client\n",
        "<- ApiVersionsResponse 4 2 my-client\n",
        "<- DescribeClusterResponse 2 4 my-client\n",
        "<- MetadataResponse 13 3 my-client\n",
    ]
