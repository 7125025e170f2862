"""`kwire mcp`, asked by the official client over stdin and stdout."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from kwire.cli.commands.mcp import MOST_TEXT, Tools
from kwire.cli.main import main
from tests.conftest import ROOT

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
    files = tools.files().splitlines()
    assert [Path(file).name for file in files] == ["a.bin", "inner.bin"]
    assert all("1 frame" in tools.decode(file) for file in files)  # what is listed is not refused
    assert "1 frame" in tools.decode(str(tmp_path / "in/a.bin"))
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
    assert "MEMBER_ID_REQUIRED" in tools.exchange(CAPTURE, 20)
    assert tools.exchange(CAPTURE, 20).count("JoinGroup") >= 2
    assert "rack-range" in tools.groups(CAPTURE, at="06:26:55")
    assert "beyond" in tools.latency(CAPTURE)
    assert len(tools.decode(CAPTURE, since="06:29:00").splitlines()) < len(tools.decode(CAPTURE).splitlines())
    with pytest.raises(ValueError, match="choose one"):
        tools.stats(CAPTURE, slow=3, unanswered=True)
    assert len(tools.stats(CAPTURE, slow=3).splitlines()) < 8


def test_answers_are_bounded() -> None:
    answer = Tools([Path(CAPTURE)]).decode(
        CAPTURE, fields=",".join(["topics[].partitions[].replica_nodes[]"] * 200), first=10**9
    )
    assert len(answer) < 2 * MOST_TEXT + 500


def test_wrong_usage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["mcp", "no-such-folder"]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert main(["mcp", CAPTURE]) == 2
    assert "pip install 'kwire[mcp]'" in capsys.readouterr().err
