"""No command and no format writes a control character to a terminal; pipes and files receive every byte."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kwire
from kwire import messages as M  # noqa: N812
from kwire.capture.capture_writer import CaptureWriter
from kwire.cli.command_table import COMMANDS
from kwire.cli.main import main, parser_for
from kwire.cli.terminal.escaped_output import TerminalBytes, let_pass, terminal_text
from kwire.protocol import Source
from kwire.render.colours import COLOURS
from kwire.testing import Kafka
from kwire.testing.cluster_options import ClusterOptions
from kwire.testing.replay.recording import Recording
from tests.cli.terminal.test_pager import on_terminal
from tests.cli.test_main import KWIRE

EVIL = "\x1b]0;owned\x07\x9b31m\u202e\x7f\r\x1b[1;32mgreen"
FORMATS = ("--json", "--jsonl", "--csv", "--html", "--format", "--hex", "--verbose")


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that runs kwire at a terminal, and returns what the terminal received from both streams."""

    def run(*arguments: str) -> str:
        out, err = Terminal(), Terminal()
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, "utf-8"))
        monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(err, "utf-8"))
        assert main(arguments) in (0, 1, 2)
        return out.getvalue().decode() + err.getvalue().decode()

    return run


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A capture in which every name is hostile, in a file with a hostile name."""
    path = tmp_path_factory.mktemp(f"folder{EVIL.replace('/', '')}") / f"{EVIL}.pcap"
    broker = M.MetadataResponse.MetadataResponseBroker(node_id=1, host=EVIL, port=1, rack=f"/{EVIL}/r")
    partition = M.MetadataResponse.MetadataResponsePartition(
        partition_index=0, leader_id=1, replica_nodes=(1,), isr_nodes=(1,)
    )
    topic = M.MetadataResponse.MetadataResponseTopic(name=EVIL, partitions=(partition,))
    joined = M.JoinGroupRequest(group_id=EVIL, member_id=EVIL, protocol_type="consumer")
    failed = M.DescribeGroupsResponse(groups=(M.DescribeGroupsResponse.DescribedGroup(error_code=69, group_id=EVIL),))
    exchanges = [
        (M.ApiVersionsRequest(), M.ApiVersionsResponse(), 0),
        (M.MetadataRequest(topics=None), M.MetadataResponse(brokers=(broker,), topics=(topic,), cluster_id=EVIL), 4),
        (joined, M.JoinGroupResponse(error_code=25, member_id=EVIL), 2),
        (M.DescribeGroupsRequest(groups=(EVIL,)), failed, 2),
    ]
    with path.open("wb") as stream:
        writer = CaptureWriter(stream)
        for number, (request, response, version) in enumerate(exchanges):
            asked = kwire.encode_request(request, version, correlation_id=number, client_id=EVIL if number else "app")
            answered = kwire.encode_response(response, version, correlation_id=number)
            ends = {"client": "10.0.0.1:999", "broker": "10.0.0.2:9092", "connection": 0}
            writer.write(kwire.Frame(asked, Source(direction="request", time=number, **ends)))  # type: ignore[arg-type]
            writer.write(kwire.Frame(answered, Source(direction="response", time=number + 0.5, **ends)))  # type: ignore[arg-type]
        writer.close()
    return str(path)


FIELDS = "--fields frame,api,client_id,latency,topic_name,topics.name,file"
ON_FILES = {  # options after which a file follows
    "decode --no-pager": [
        *("", "-v", "--json", "--jsonl", "--guess", "--count", "--request 0", "--sort latency", "--strict"),
        *(f"{FIELDS} --format {form}" for form in ("tsv", "csv", "jsonl", "table")),
        *("--color never", "--color always", "--errors", "--api Metadata", f"--client {EVIL}"),
    ],
    "explain": ["", "--no-types", "--html"],
    "report": ["-o -"],
    "check": ["", "--json"],
    "stats": [
        "",
        "--json",
        "--csv",
        "--latency",
        "--slow 3 --unanswered",
        "--errors",
        "--by topic",
        "--by client_id,api",
    ],
    "cluster": ["", "--json", "--groups", "--unavailable", "--metrics", "--topic x", "--from 1970-01-01"],
    "place": ["--report", "--report --json", "--repair", "--repair --json"],
    "slice": ["-w - --api Metadata"],
    "latency": ["", "--json"],
    "timeline": ["", "--json", "--html"],
    "redact": ["-o -"],
}
WITH_NAMES = (
    *(f"{command}{form}" for command in ("apis", "errors") for form in ("", " --json", " --csv")),
    *("schema", "schema --json", "help", "assign", "assign --json", "spec check", "simulate"),
)


def commands_on(file: str, folder: Path) -> Iterator[list[str]]:
    """Yield the arguments of each form of output of each command; the last names a file that does not exist."""
    for command, forms in ON_FILES.items():
        yield from ([*command.split(), *options.split(), file] for options in forms)
    frames = folder / "frames.jsonl"
    frames.write_bytes(subprocess.run([*KWIRE, "decode", "--jsonl", file], capture_output=True, check=True).stdout)
    yield ["encode", str(frames)]
    yield ["encode", "--hex", str(frames)]
    yield ["diff", file, file]
    yield ["compare", file, file]
    yield ["compare", "--json", file, file]
    recording = folder / "recording.zip"
    Recording(ClusterOptions(), (), Path(file).read_bytes(), {1: 9092}, test=EVIL).write(recording)
    yield from (["replay", *options.split(), str(recording)] for options in ("", "--all", "--json"))
    yield from ([name, f"--{EVIL}"] for name in COMMANDS)
    yield from ([*words.split(), EVIL] for words in WITH_NAMES)
    yield ["decode", f"{EVIL}.none"]


def test_no_command_and_no_format_writes_control_characters(
    seen: Callable[..., str], capture: str, tmp_path: Path
) -> None:
    evil_shown = 0
    for arguments in commands_on(capture, tmp_path):
        text = seen(*arguments)
        if "always" in arguments:
            for colour in COLOURS:
                text = text.replace(colour, "")
        assert all(character.isprintable() or character in "\n\t" for character in text), arguments
        evil_shown += r"\u001b]0;owned" in text
    assert evil_shown > 40


def test_every_format_of_every_command_is_tried(capture: str, tmp_path: Path) -> None:
    tried: dict[str, set[str]] = {}
    for command, *words in commands_on(capture, tmp_path):
        tried.setdefault(command, set()).update(words)
    parsers = next(action.choices for action in parser_for()._actions if isinstance(action.choices, dict))
    assert set(tried) == set(COMMANDS)
    # These print after they have run a broker, Spark or a simulation; the next test runs `call`.
    for command in set(COMMANDS) - {"call", "proxy", "serve", "simulate", "pipeline"}:
        for action in parsers[command]._actions:
            names = set(action.option_strings)
            if not names & set(FORMATS) or (command != "encode" and "--hex" in names):
                continue
            assert names & tried[command], (command, names)
            if isinstance(action.choices, tuple) or action.dest == "format":
                assert {"tsv", "csv", "jsonl", "table"} <= tried[command]


def test_answers_of_brokers_do_not_either(seen: Callable[..., str]) -> None:
    with Kafka() as kafka:
        for form in ((), ("--json",), ("--jsonl",)):
            topics = "topics:=" + json.dumps([{"name": EVIL}])
            text = seen("call", kafka.bootstrap_servers, "Metadata", topics, "--yes", *form)
            assert r"\u001b]0;owned" in text
            assert all(character.isprintable() or character in "\n\t" for character in text)


def test_a_pipe_gets_exact_bytes_and_a_real_terminal_does_not(capture: str) -> None:
    words = ["decode", "--fields", "client_id", "--format", "csv", capture]
    piped = subprocess.run([*KWIRE, *words], capture_output=True, check=True).stdout
    assert EVIL.encode() in piped
    code, shown = on_terminal(*words)
    assert code == 0
    assert r"\u001b]0;owned\u0007\u009b31m\u202e\u007f\u000d\u001b[1;32mgreen" in shown
    assert not set(EVIL[:1] + "\u202e\x9b\x07") & set(shown)


def test_an_output_file_that_is_the_terminal_is_one(capture: str) -> None:
    code, shown = on_terminal("slice", capture, "-w", "/dev/stdout", "--api", "Metadata")
    assert code == 0
    assert "\x1b" not in shown
    assert r"\u001b]0;owned" in shown


@pytest.mark.parametrize("pager", ["cat -u", "tee"])
def test_what_a_pager_passes_on_is_escaped(pager: str, capture: str) -> None:
    words = ["decode", "--fields", "client_id", "--format", "csv", *[capture] * 10]
    code, shown = on_terminal(*words, PAGER=pager)
    assert code == 0
    assert "\x1b" not in shown


def test_a_character_may_come_in_two_parts() -> None:
    terminal = io.BytesIO()
    output = TerminalBytes(terminal)
    for byte in "ä\u202e".encode() + b"\xe2":
        output.write(bytes([byte]))
    output.close()
    assert terminal.getvalue().decode() == r"ä\u202e\xe2"


def test_only_what_may_pass_passes() -> None:
    terminal = io.BytesIO()
    with terminal_text(terminal) as text:
        let_pass(text, "\x1b[2m")
        text.write("\x1b[2mdim\x1b[3m\r\x1b[K\n")
    assert terminal.getvalue().decode() == f"\x1b[2mdim\\u001b[3m\\u000d\\u001b[K{os.linesep}"
    let_pass(sys.stdout, "no terminal, no error")


def test_main_leaves_the_streams_of_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(Terminal(), "utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["errors", "3"]) == 0
    assert sys.stdout is stream
    assert not stream.closed


@pytest.mark.parametrize("command", ["explain --html", "report", "decode --jsonl", "decode --json"])
def test_pages_and_json_have_no_control_characters_in_files_either(command: str, capture: str, tmp_path: Path) -> None:
    page = tmp_path / "page"
    with page.open("wb") as stream:
        to = ["-o", str(page)] if command in ("explain --html", "report") else []
        subprocess.run([*KWIRE, *command.split(), capture, *to], stdout=stream, check=True)
    text = page.read_text()
    assert r"\u001b]0;owned" in text
    assert all(character.isprintable() or character in "\n\t" for character in text)
