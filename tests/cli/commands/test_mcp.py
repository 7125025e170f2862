"""`kwire mcp`, asked by the official client over stdin and stdout."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from kwire.cli.commands.mcp import MOST_JSON, MOST_TEXT, Tools
from kwire.cli.main import main
from kwire.cli.output.tool_schemas import OUTPUT_SCHEMAS
from tests.conftest import ROOT

jsonschema: Any = importlib.import_module("jsonschema")  # which mcp needs; it has no types
CAPTURE = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


def asked(*calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Start the server and call tools; return the tools' list, then each result."""

    async def run() -> list[Any]:
        server = StdioServerParameters(command=sys.executable, args=["-m", "kwire", "mcp", CAPTURE], cwd=str(ROOT))
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            found: list[Any] = [(await session.list_tools()).tools]
            for name, arguments in calls:
                found.append(await session.call_tool(name, arguments))
            return found

    return asyncio.run(run())


def text(result: Any) -> str:
    return "".join(part.text for part in result.content)


def test_an_assistant_finds_the_slow_and_the_failed() -> None:
    tools, files, stats, lines, one, secret = asked(
        ("files", {}),
        ("stats", {"file": CAPTURE}),
        ("decode", {"file": CAPTURE, "where": "error_code", "fields": "frame,api,error_code"}),
        ("explain", {"file": CAPTURE, "frame": 5}),
        ("decode", {"file": "/etc/passwd"}),
    )
    assert [tool.name for tool in tools] == [
        "files",
        "stats",
        "latency",
        "decode",
        "explain",
        "exchange",
        "timeline",
        "cluster",
        "groups",
        "compare",
        "schema",
        "errors",
    ]
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    assert text(files) == CAPTURE
    assert "JoinGroup" in text(stats)
    assert text(lines).splitlines()[:2] == ["frame\tapi\terror_code", "21\tJoinGroup\tMEMBER_ID_REQUIRED"]
    assert text(one).startswith("Metadata v12 response, correlation 7")
    assert secret.is_error
    assert "may be read" in text(secret)
    assert "root:" not in text(secret)


def test_only_named_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.bin").write_bytes(bytes.fromhex("0000000400000007"))
    (tmp_path / "out.bin").write_bytes(bytes.fromhex("0000000400000007"))
    (tmp_path / "in/link.bin").symlink_to(tmp_path / "out.bin")
    (tmp_path / "in/inner.bin").symlink_to("a.bin")
    (tmp_path / "in/loop.bin").symlink_to("loop.bin")
    tools = Tools([tmp_path / "in"])
    files = tools.files().text.splitlines()
    assert [Path(file).name for file in files] == ["a.bin", "inner.bin"]
    assert all("1 frame" in tools.decode(file).text for file in files)  # what is listed is not refused
    assert "1 frame" in tools.decode(str(tmp_path / "in/a.bin")).text
    for name in ("out.bin", "in/link.bin", "in/../out.bin", "in", "in/none", "in/loop.bin", "a\0b"):
        with pytest.raises(ValueError, match="may be read"):
            tools.decode(str(tmp_path / name))


def test_what_looks_like_an_option_is_none() -> None:
    tools = Tools([Path(CAPTURE)])
    with pytest.raises(ValueError, match="there is no"):
        tools.schema("--help")
    with pytest.raises(ValueError, match="column 1"):
        tools.decode(CAPTURE, where="--show-secrets")


def test_failures_and_unknown_arguments_are_errors() -> None:
    _, filter_error, schema, unknown, ok = asked(
        ("decode", {"file": CAPTURE, "where": "latncy > 1"}),
        ("schema", {"message": "Metdata"}),
        ("stats", {"file": CAPTURE, "where": "api == fetch", "limit": 3}),
        ("stats", {"file": CAPTURE, "latency": True}),
    )
    assert filter_error.is_error
    assert "latncy" in text(filter_error)
    assert schema.is_error
    assert "did you mean" in text(schema)
    assert unknown.is_error
    assert "limit" in text(unknown)
    assert not ok.is_error
    assert "p99" in text(ok) or "99" in text(ok)


def test_tools_run_the_commands_of_their_names() -> None:
    tools = Tools([Path(CAPTURE)])
    assert "MEMBER_ID_REQUIRED" in tools.exchange(CAPTURE, 20).text
    assert tools.exchange(CAPTURE, 20).text.count("JoinGroup") >= 2
    assert "rack-range" in tools.groups(CAPTURE, at="06:26:55").text
    assert "beyond" in tools.latency(CAPTURE).text
    assert len(tools.decode(CAPTURE, since="06:29:00").text) < len(tools.decode(CAPTURE).text)
    with pytest.raises(ValueError, match="choose one"):
        tools.stats(CAPTURE, slow=3, unanswered=True)
    assert len(tools.stats(CAPTURE, slow=3).text.splitlines()) < 8


def test_answers_are_bounded() -> None:
    answer = Tools([Path(CAPTURE)]).decode(
        CAPTURE, fields=",".join(["topics[].partitions[].replica_nodes[]"] * 200), first=10**9
    )
    assert len(answer.text) < 2 * MOST_TEXT + 500


CALLS: dict[str, dict[str, Any]] = {
    "files": {},
    "stats": {"file": CAPTURE, "slow": 2},
    "latency": {"file": CAPTURE, "slow": 2},
    "timeline": {"file": CAPTURE},
    "cluster": {"file": CAPTURE},
    "groups": {"file": CAPTURE},
    "compare": {"before": CAPTURE, "after": CAPTURE},
    "schema": {"message": "Metadata:12"},
    "errors": {"code": "LEADER"},
}


def test_structured_results_are_those_of_their_schemas(capsys: pytest.CaptureFixture[str]) -> None:
    """Model Context Protocol 2025-06-18, "Structured content" and "Output schema" of tools."""
    assert CALLS.keys() == OUTPUT_SCHEMAS.keys()
    tools, *results = asked(*CALLS.items(), ("errors", {"code": "no such error"}), ("decode", {"file": CAPTURE}))
    schemas = {tool.name: tool.output_schema for tool in tools}
    assert {name: schema for name, schema in schemas.items() if schema is not None} == OUTPUT_SCHEMAS
    answers = {name: result.structured_content for name, result in zip(CALLS, results, strict=False)}
    for name, answer in answers.items():
        jsonschema.validate(answer, schemas[name], jsonschema.Draft202012Validator)
    *_, failed, lines = results
    assert failed.is_error
    assert lines.structured_content is None  # lines are text
    assert main(["timeline", "--json", CAPTURE]) == 0
    assert answers["timeline"] == json.loads(capsys.readouterr().out)
    assert [len(answers[name]["slowest"]) for name in ("stats", "latency")] == [2, 2]
    assert [message["name"] for message in answers["schema"]["messages"]] == ["MetadataRequest", "MetadataResponse"]
    assert "LEADER_NOT_AVAILABLE" in [error["name"] for error in answers["errors"]["errors"]]


def test_each_tool_reads_its_input_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, run = list[list[str]](), subprocess.run

    def counted(command: list[str], **settings: Any) -> Any:
        runs.append(command)
        return run(command, **settings)

    monkeypatch.setattr(subprocess, "run", counted)
    answer = Tools([Path(CAPTURE)]).stats(CAPTURE, errors=True)
    assert "MEMBER_ID_REQUIRED" in answer.text
    assert answer.data is not None
    assert len(answer.data["rows"]) > 5
    assert len(runs) == 1


def test_keys_of_tls_are_those_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = tmp_path / "tls.keys"
    keys.write_text("CLIENT_RANDOM 00 11\n")
    with pytest.raises(ValueError, match="kwire mcp --keylog KEYS FILE"):
        Tools([Path(CAPTURE)]).decode(CAPTURE, tls=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    tools = Tools([Path(CAPTURE)], keys)
    assert "Metadata" in tools.decode(CAPTURE).text
    calls: list[Callable[[], Any]] = [
        lambda: tools.decode(CAPTURE, tls=True),
        lambda: tools.explain(CAPTURE, 1, tls=True),
        lambda: tools.exchange(CAPTURE, 1, tls=True),
        lambda: tools.stats(CAPTURE, tls=True),
        lambda: tools.latency(CAPTURE, tls=True),
        lambda: tools.timeline(CAPTURE, tls=True),
        lambda: tools.cluster(CAPTURE, tls=True),
        lambda: tools.groups(CAPTURE, tls=True),
        lambda: tools.compare(CAPTURE, CAPTURE, tls=True),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="--keylog needs tshark"):
            call()
    assert main(["mcp", CAPTURE, "--keylog", str(tmp_path / "none")]) == 2


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("stats", "rows"),
        ("stats", "slowest"),
        ("latency", "rows"),
        ("latency", "slowest"),
        ("timeline", "events"),
        ("cluster", "brokers"),
        ("cluster", "partitions"),
        ("groups", "groups"),
        ("groups", "members"),
        ("groups", "partitions"),
        ("errors", "errors"),
        ("schema", "messages"),
    ],
)
def test_what_schemas_name_is_there(name: str, path: str) -> None:
    tools = Tools([Path(CAPTURE)])
    data = getattr(tools, name)(**CALLS[name]).data
    named = OUTPUT_SCHEMAS[name]["properties"][path]["items"]["properties"].keys()
    assert data[path]
    assert named - {"count", "until"} <= {member for item in data[path] for member in item}


def test_structured_results_are_bounded(tmp_path: Path) -> None:
    for number in range(5000):
        (tmp_path / f"{'x' * 60}{number}.bin").touch()
    data = Tools([tmp_path]).files().data
    assert data is not None
    assert 5000 - len(data["files"]) == data["leftOut"]["files"] > 0
    assert len(json.dumps(data)) < 1.2 * MOST_JSON


def test_wrong_usage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["mcp", "no-such-folder"]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert main(["mcp", CAPTURE]) == 2
    assert "pip install 'kwire[mcp]'" in capsys.readouterr().err
