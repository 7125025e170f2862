"""`kwire mcp`: read-only commands as tools for assistants, by the Model Context Protocol over stdin and stdout."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ...errors import DumpError, MissingExtra
from ..options.inputs import add_keylog
from ..options.registry import add_registry, deserializer_of
from ..output.tool_schemas import OUTPUT_SCHEMAS

MOST_TEXT = 40_000  # characters of a tool's result
MOST_SECONDS = 120
MOST_FRAMES = 500
MOST_JSON = 200_000  # bytes of a structured result


EXAMPLES = """\
  kwire mcp dump.pcap
  kwire mcp captures/ --keylog tls.keys

Read-only access to these files and folders; secrets are masked. As a server in
the assistant's settings:
  {"command": "kwire", "args": ["mcp", "/path/to/captures"]}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="dumps, or folders of dumps, that may be read")
    add_keylog(parser)
    add_registry(parser)


class ToolAnswer(NamedTuple):
    """The result of a tool: as text, and structured if the command has --json (see `OUTPUT_SCHEMAS`)."""

    text: str
    data: dict[str, Any] | None = None


class Tools:
    """The tools: each runs a command of kwire in a separate process, and returns its output.

    Args:
        roots: files and folders that may be read.
        keylog: the file of TLS session keys for calls with `tls`; None if there is none.
        registry: the schemas for calls with `values`, as --registry names them; None if there are none.
    """

    def __init__(self, roots: list[Path], keylog: Path | None = None, registry: str | None = None) -> None:
        self.roots: list[Path] = [root.resolve() for root in roots]
        self.keylog: Path | None = keylog
        self.registry: str | None = registry

    @property
    def functions(self) -> list[Callable[..., ToolAnswer]]:
        """The tools, in the order in which they are listed."""
        return [
            self.files,
            self.stats,
            self.latency,
            self.decode,
            self.explain,
            self.exchange,
            self.timeline,
            self.cluster,
            self.groups,
            self.compare,
            self.schema,
            self.errors,
        ]

    def files(self) -> ToolAnswer:
        """List the files that can be read."""
        paths = [path for root in self.roots for path in (sorted(root.rglob("*")) if root.is_dir() else [root])]
        files = [str(path) for path in paths if self._may_be_read(path)]
        return ToolAnswer(_limit_text("\n".join(files)), _shorten({"files": files}))

    def stats(
        self,
        file: str,
        by: str = "api",
        latency: bool = False,
        errors: bool = False,
        slow: int = 0,
        unanswered: bool = False,
        removed_in: str = "",
        tls: bool = False,
    ) -> ToolAnswer:
        """Count the frames of a dump: requests, errors, bytes and latency.

        Args:
            file: one of `files`.
            by: api, client, version, ip or topic, or several of them separated by commas.
            latency: percentiles of latency instead of counts.
            errors: add a column of error counts.
            slow: instead of counts, so many of the slowest requests.
            unanswered: instead of counts, the requests without a response, and why.
            removed_in: instead of counts, the clients that break with this Kafka release, such as 4.0.
            tls: read the TLS connections of a capture, with the keys of the server.
        """
        modes = [f"--slow={_count(slow)}"] * bool(slow) + ["--unanswered"] * unanswered
        modes += [f"--removed-in={removed_in}"] * bool(removed_in) + ["--latency"] * latency
        if len(modes) > 1:
            raise ValueError("latency, slow, unanswered and removed_in are different tables: choose one of them")
        grouped = [f"--by={by}"] if not modes or latency else []
        return self._run_both("stats", *grouped, *modes, *["--errors"] * errors, *self._inputs(tls, file))

    def latency(self, file: str, by: str = "api", slow: int = 0, tls: bool = False) -> ToolAnswer:
        """Show where the time of requests went: waits that were asked for, time beyond them, network, thinking.

        Args:
            file: one of `files`.
            by: api, client, broker, or several of them separated by commas.
            slow: list so many of the slowest requests, too.
            tls: read the TLS connections of a capture, with the keys of the server.
        """
        slowest = [f"--slow={_count(slow)}"] * bool(slow)
        return self._run_both("latency", f"--by={by}", *slowest, *self._inputs(tls, file))

    def decode(
        self,
        file: str,
        where: str = "",
        fields: str = "",
        first: int = 50,
        since: str = "",
        until: str = "",
        tls: bool = False,
        values: bool = False,
    ) -> ToolAnswer:
        """Decode frames of a dump, or records of a log segment, one line each.

        A line of a frame has its time, direction, api:version, correlation id, size, errors.

        Args:
            file: one of `files`.
            where: a display filter, such as: error_code != 0 and latency > 20ms; topics[].name == "orders".
            fields: return these fields as TSV instead of lines; separated by commas: frame,api,latency,error_code.
            first: the maximum number of frames, at most 500.
            since: only frames from this time on, such as 2026-11-21T06:27:38 or 06:27:38.
            until: only frames up to this time.
            tls: read the TLS connections of a capture, with the keys of the server.
            values: decode keys and values of a log segment's records by schema, with the registry of the server.
        """
        schemas = self._schemas(values)
        named = {"--where": where, "--fields": fields, "--from": since, "--to": until}
        chosen = [f"{option}={value}" for option, value in named.items() if value]
        limits = f"--first={_count(first)}", "--no-pager"
        return self._run("decode", *chosen, *limits, *schemas, *self._inputs(tls, file))

    def explain(self, file: str, frame: int, tls: bool = False, values: bool = False) -> ToolAnswer:
        """Show all fields of one frame, with the names of error codes.

        Args:
            file: one of `files`.
            frame: its number in the dump, counted from 0, as decode prints it with fields=frame.
            tls: read the TLS connections of a capture, with the keys of the server.
            values: decode keys and values of its records by schema, with the registry of the server.
        """
        chosen = f"--where=frame == {int(frame)}", "--first=1", "--no-pager"
        return self._run("decode", "-v", *chosen, *self._schemas(values), *self._inputs(tls, file))

    def exchange(self, file: str, frame: int, tls: bool = False, values: bool = False) -> ToolAnswer:
        """Show a request and its response, with all fields, by the number of one of them.

        Args:
            file: one of `files`.
            frame: its number in the dump, counted from 0.
            tls: read the TLS connections of a capture, with the keys of the server.
            values: decode keys and values of records by schema, with the registry of the server.
        """
        chosen = f"--request={int(frame)}", "--no-pager"
        return self._run("decode", "-v", *chosen, *self._schemas(values), *self._inputs(tls, file))

    def timeline(self, file: str, about: str = "", since: str = "", until: str = "", tls: bool = False) -> ToolAnswer:
        """List what happened in order: leaders, ISRs, disks, rebalances and why, errors, retries, connections.

        Args:
            file: one of `files`.
            about: group:G, topic:T, client:C or broker:N; everything if it is empty.
            since: only events from this time on, such as 2026-11-21T06:27:38 or 06:27:38.
            until: only events up to this time.
            tls: read the TLS connections of a capture, with the keys of the server.
        """
        named = {"--about": about, "--from": since, "--to": until}
        chosen = [f"{option}={value}" for option, value in named.items() if value]
        return self._run_both("timeline", *chosen, *self._inputs(tls, file))

    def cluster(self, file: str, at: str = "", tls: bool = False) -> ToolAnswer:
        """Show the brokers by rack, and the topics, leaders, replicas and ISRs, from a dump or a metadata log.

        Args:
            file: one of `files`.
            at: the state at a time, or after a frame; the last one if it is empty.
            tls: read the TLS connections of a capture, with the keys of the server.
        """
        return self._run_both("cluster", *[f"--at={at}"] * bool(at), *self._inputs(tls, file))

    def groups(self, file: str, group: str = "", at: str = "", tls: bool = False) -> ToolAnswer:
        """Show consumer groups: members, racks, assignments, lag.

        Args:
            file: one of `files`.
            group: only this group.
            at: the state at a time, or after a frame; the last one if it is empty.
            tls: read the TLS connections of a capture, with the keys of the server.
        """
        named = {"--group": group, "--at": at}
        chosen = [f"{option}={value}" for option, value in named.items() if value]
        return self._run_both("cluster", "--groups", *chosen, *self._inputs(tls, file))

    def compare(self, before: str, after: str, tls: bool = False) -> ToolAnswer:
        """Compare the traffic of two captures: clients, versions, topics, errors, latencies.

        Args:
            before, after: two of `files`.
            tls: read the TLS connections of both, with the keys of the server.
        """
        return self._run_both("compare", *self._inputs(tls, before, after))

    def schema(self, message: str) -> ToolAnswer:
        """Show the fields of a message and what they mean.

        Args:
            message: an api or message, with or without a version: Fetch:17, MetadataResponse.
        """
        return self._run_both("schema", "--", message, member="messages")

    def errors(self, code: str) -> ToolAnswer:
        """Explain a Kafka error code.

        Args:
            code: a number, a name, or a part of a name.
        """
        return self._run_both("errors", "--", code, member="errors")

    def _inputs(self, tls: bool, *files: str) -> list[str]:
        """Return the arguments that name files which may be read, and the keys of their TLS connections."""
        allowed = list(map(self._check_readable, files))
        if tls and self.keylog is None:
            raise ValueError("this server has no TLS keys: it is started with kwire mcp --keylog KEYS FILE")
        return [*[f"--keylog={self.keylog}"] * tls, "--", *allowed]

    def _schemas(self, values: bool) -> list[str]:
        """Return the argument that names the schemas of keys and values, if they are to be decoded."""
        if values and self.registry is None:
            raise ValueError("this server has no schemas: it is started with kwire mcp --registry URL|DIR FILE")
        return [f"--registry={self.registry}"] * values

    def _check_readable(self, file: str) -> str:
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

    def _run(self, *arguments: str) -> ToolAnswer:
        """Run a command; return its text."""
        out, remarks = self._outputs(*arguments)
        return ToolAnswer(_limit_text(out) + (f"\n{_limit_text(remarks)}" if remarks else ""))

    def _run_both(self, command: str, *arguments: str, member: str = "") -> ToolAnswer:
        """Run a command; return its text, and its JSON, a list as the value of `member`."""
        with tempfile.TemporaryDirectory(prefix="kwire-") as folder:
            file = Path(folder, "answer.json")
            answer = self._run(command, f"--json-file={file}", *arguments)
            data = json.loads(file.read_bytes())
        return answer._replace(data=_shorten({member: data} if member else data))

    def _outputs(self, *arguments: str) -> tuple[str, str]:
        """Run a command; return what it wrote to stdout and to stderr."""
        command = [sys.executable, "-m", "kwire", *arguments]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=MOST_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise ValueError(f"stopped after {MOST_SECONDS} seconds: choose fewer frames") from None
        out, remarks = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        if done.returncode not in (0, 1):  # 1: done, but something needs attention, such as undecodable frames
            raise ValueError(_limit_text(remarks).strip() or f"kwire ended with exit code {done.returncode}")
        return out, remarks


def _count(first: int) -> int:
    return max(1, min(int(first), MOST_FRAMES))


def _limit_text(text: str) -> str:
    if len(text) <= MOST_TEXT:
        return text
    return f"{text[:MOST_TEXT]}\n[{len(text) - MOST_TEXT} more characters left out: choose fewer frames or fields]"


def _shorten(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer whose longest lists are shortened until it fits; `leftOut` counts the missing items.

    >>> answer = _shorten({"rows": [0] * 1_000_000, "few": [5]})
    >>> len(answer["rows"]), answer["few"], answer["leftOut"]
    (62500, [5], {'rows': 937500})
    """
    shortened, left_out = dict(answer), dict[str, int]()
    lists = [name for name, value in answer.items() if isinstance(value, list)]
    while lists and len(msgspec.json.encode(shortened)) > MOST_JSON:
        longest = max(lists, key=lambda name: len(msgspec.json.encode(shortened[name])))
        if not shortened[longest]:
            break
        shortened[longest] = shortened[longest][: len(shortened[longest]) // 2]
        left_out[longest] = len(answer[longest]) - len(shortened[longest])
    return {**shortened, "leftOut": left_out} if left_out else shortened


def run(options: argparse.Namespace) -> int:
    """Serve requests over stdin and stdout until the assistant disconnects."""
    roots = [Path(name) for name in options.files]
    for root in roots:
        if not root.exists():
            raise DumpError("there is no such file or folder", file=str(root))
    keylog = None if options.keylog is None else Path(options.keylog).resolve(strict=True)
    deserializer_of(options)  # so that a wrong --registry is reported at the start
    server_of(Tools(roots, keylog, options.registry)).run("stdio")
    return 0


def server_of(tools: Tools) -> Any:
    """Return an MCP server with these tools; raises MissingExtra."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import CallToolResult, TextContent, ToolAnnotations
    except ImportError:
        raise MissingExtra("kwire mcp", "mcp", "mcp") from None

    def refusing(tool: Callable[..., ToolAnswer]) -> Callable[..., Any]:
        @wraps(tool)
        def run(*given: Any, **named: Any) -> Any:
            try:
                answer = tool(*given, **named)
            except ValueError as error:
                raise ToolError(str(error)) from None
            return CallToolResult(content=[TextContent(text=answer.text)], structured_content=answer.data)

        return run

    about = "Reads captures of Apache Kafka's wire protocol. Begin with files and stats."
    server = MCPServer("kwire", instructions=about, log_level="ERROR")
    for tool in tools.functions:
        annotations = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        server.tool(annotations=annotations, structured_output=False)(refusing(tool))
    for registered in server._tool_manager.list_tools():
        _refuse_unknown_arguments(registered)
        registered.fn_metadata.output_schema = OUTPUT_SCHEMAS.get(registered.name)
    return server


def _refuse_unknown_arguments(tool: Any) -> None:
    """Make unknown arguments of a tool errors: the SDK drops them, and an assistant would believe that they count."""
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters["additionalProperties"] = False
