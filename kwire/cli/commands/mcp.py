"""`kwire mcp`: read-only commands as tools for assistants, by the Model Context Protocol over stdin and stdout."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from ...errors import DumpError, MissingExtra

MOST_TEXT = 40_000  # characters of a tool's result
MOST_SECONDS = 120
MOST_FRAMES = 500


EXAMPLES = """\
  kwire mcp dump.pcap
  kwire mcp captures/

The assistant reads the named files, and files in named folders, and no others;
it writes nothing. Secrets are masked. As a server in the assistant's settings:
  {"command": "kwire", "args": ["mcp", "/path/to/captures"]}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="dumps, or folders of dumps, that may be read")


class Tools:
    """The tools: each runs a command of kwire in a separate process, and returns its output.

    Args:
        roots: files and folders that may be read.
    """

    def __init__(self, roots: list[Path]) -> None:
        self.roots: list[Path] = [root.resolve() for root in roots]

    @property
    def functions(self) -> list[Callable[..., str]]:
        """The tools, in the order in which they are listed."""
        return [self.files, self.stats, self.decode, self.explain, self.cluster, self.schema, self.errors]

    def files(self) -> str:
        """List the files that can be read."""
        found = [path for root in self.roots for path in (sorted(root.rglob("*")) if root.is_dir() else [root])]
        return _bounded("\n".join(str(path) for path in found if self._may_be_read(path)))

    def stats(self, file: str, by: str = "api") -> str:
        """Count the frames of a dump: requests, errors, bytes and latency.

        Args:
            file: one of `files`.
            by: api, client, version, ip or topic, or several of them separated by commas.
        """
        return self._run("stats", f"--by={by}", "--", self._allowed(file))

    def decode(self, file: str, where: str = "", fields: str = "", first: int = 50) -> str:
        """Decode frames of a dump, one line per frame: time, direction, api:version, correlation id, size, errors.

        Args:
            file: one of `files`.
            where: a display filter, such as: error_code != 0 and latency > 20ms; topics[].name == "orders".
            fields: return these fields as TSV instead of lines; separated by commas: frame,api,latency,error_code.
            first: the maximum number of frames, at most 500.
        """
        chosen = [f"--where={where}"] * bool(where) + [f"--fields={fields}"] * bool(fields)
        return self._run("decode", *chosen, f"--first={_count(first)}", "--no-pager", "--", self._allowed(file))

    def explain(self, file: str, frame: int) -> str:
        """Show all fields of one frame, with the names of error codes.

        Args:
            file: one of `files`.
            frame: its number in the dump, counted from 0, as decode prints it with fields=frame.
        """
        where = f"--where=frame == {int(frame)}"
        return self._run("decode", "-v", where, "--first=1", "--no-pager", "--", self._allowed(file))

    def cluster(self, file: str) -> str:
        """Show the brokers by rack, and the topics, leaders, replicas and ISRs, from a dump or a metadata log.

        Args:
            file: one of `files`.
        """
        return self._run("cluster", "--", self._allowed(file))

    def schema(self, message: str) -> str:
        """Show the fields of a message and what they mean.

        Args:
            message: an api or message, with or without a version: Fetch:17, MetadataResponse.
        """
        return self._run("schema", "--", message)

    def errors(self, code: str) -> str:
        """Explain a Kafka error code.

        Args:
            code: a number, a name, or a part of a name.
        """
        return self._run("errors", "--", code)

    def _allowed(self, file: str) -> str:
        if not self._may_be_read(Path(file)):
            raise ValueError(f"{file} is not a file that may be read; the tool `files` lists these files")
        return str(Path(file).resolve())

    def _may_be_read(self, path: Path) -> bool:
        """Whether a path leads to a file in one of the roots, even through symbolic links."""
        try:
            target = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # no such file; a loop of links; a name with NUL
            return False
        return target.is_file() and any(target == root or root in target.parents for root in self.roots)

    def _run(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "kwire", *arguments]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=MOST_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"stopped after {MOST_SECONDS} seconds: choose fewer frames"
        out, remarks = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        return _bounded(out) + (f"\n{_bounded(remarks)}" if remarks else "")


def _count(first: int) -> int:
    return max(1, min(int(first), MOST_FRAMES))


def _bounded(text: str) -> str:
    if len(text) <= MOST_TEXT:
        return text
    return f"{text[:MOST_TEXT]}\n[{len(text) - MOST_TEXT} more characters left out: choose fewer frames or fields]"


def run(options: argparse.Namespace) -> int:
    """Serve requests over stdin and stdout until the assistant disconnects."""
    roots = [Path(name) for name in options.files]
    for root in roots:
        if not root.exists():
            raise DumpError("there is no such file or folder", file=str(root))
    server_of(Tools(roots)).run("stdio")
    return 0


def server_of(tools: Tools) -> Any:
    """Return an MCP server with these tools; raises MissingExtra."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError:
        raise MissingExtra("kwire mcp", "mcp", "mcp") from None

    def refusing(tool: Callable[..., str]) -> Callable[..., str]:
        @wraps(tool)
        def run(*given: Any, **named: Any) -> str:
            try:
                return tool(*given, **named)
            except ValueError as error:
                raise ToolError(str(error)) from None

        return run

    about = "Reads captures of Apache Kafka's wire protocol. Begin with files and stats."
    server = MCPServer("kwire", instructions=about, log_level="ERROR")
    for tool in tools.functions:
        server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))(refusing(tool))
    return server
