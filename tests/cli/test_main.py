"""The command as people and scripts use it: exit codes, one-line errors, nothing raw on the terminal."""

from __future__ import annotations

import argparse
import gc
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from kwire.cli.main import main
from tests.conftest import ROOT, spread
from tests.protocol.test_frame_decoder import request

DUMP = str(ROOT / "fixtures/dumps/kafka-3.9-zk.bin")
KWIRE = [sys.executable, "-m", "kwire"]


def ran(*arguments: str, data: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run([*KWIRE, *arguments], input=data, capture_output=True, env=env, timeout=180, check=False)


def test_help_begins_with_examples_and_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        [],
        ["--help"],
        ["decode", "--help"],
        ["explain", "-h"],
        ["report", "-h"],
        ["encode", "-h"],
        ["stats", "-h"],
        ["help", "-h"],
        ["redact", "-h"],
        ["cluster", "-h"],
        ["spec", "check", "-h"],
        ["schema", "-h"],
        ["diff", "-h"],
        ["apis", "-h"],
        ["errors", "-h"],
        ["call", "-h"],
        ["proxy", "-h"],
    ):
        main(arguments)
        text = capsys.readouterr().out
        assert text.index("Examples:") < text.index("usage:")
        assert max(map(len, text.splitlines())) <= 80
        assert len(text.splitlines()) <= 66  # a terminal of a laptop


def test_help_loads_nothing_heavy() -> None:
    program = "import sys, kwire.cli.main; kwire.cli.main.main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=ROOT, check=True)
    for module in (b"'construct'", b"'msgspec'", b"'asyncio'", b"'pyarrow'", b"'pyspark'", b"'numpy'"):
        assert module not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["decode", "no-such-file"], "no-such-file: No such file or directory"),
        (["no-such-file"], "no-such-file: No such file or directory"),
        (["decode", "tests"], "tests: Is a directory"),
        (["decode"], "the following arguments are required: FILE"),
        (["decoed", "x"], "there is no command 'decoed'; did you mean decode?"),
        (["decode", DUMP, "--as", "Metadata"], "write NAME:VERSION, such as Metadata:12"),
        (["decode", DUMP, "--as", "Metadta:12"], "did you mean Metadata?"),
        (["decode", DUMP, "--as", "Metadata:99"], "MetadataResponse has no version 99; versions: 0-13"),
        (["decode", DUMP, "--body"], "add --as NAME:VERSION"),
        (["decode", DUMP, "--profile", "KIP-1"], "there is no profile 'KIP-1'"),
        (["explain", DUMP, "--fixture"], "no line names the writer of the bytes"),
        (["explain", DUMP, "--fixture", "--writer", "kwire"], "kwire wrote these bytes"),
        (["explain", DUMP, "--fixture", "--writer", "Kafka"], "--fixture takes one frame"),
        (["encode", "LICENSE"], "not valid JSON"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert text in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_a_bad_frame_is_a_line_and_exit_code_1() -> None:
    done = ran("decode", "-", data=request(1) + b"\0\0\0\x0a\x27\x0f\0\0\0\0\0\0\xff\xff" + request(2))
    assert done.returncode == 1
    assert b"api key 9999 is not known" in done.stdout
    assert b" #2 " in done.stdout
    assert b"3 frames, 1 undecodable" in done.stderr


@pytest.mark.ci
def test_an_endless_input_is_read_in_pieces_and_little_memory() -> None:
    program = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)); import kwire.cli.main; "
    program += "raise SystemExit(kwire.cli.main.main(['decode', '-']))"
    command = ["sh", "-c", f'cat "$1" /dev/zero | {shlex.quote(sys.executable)} -c "$2"', "-", DUMP, program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(50)]
        process.stdout.close()
        assert process.wait(timeout=180) == 0
    assert (
        sum(b"a frame of 0 bytes" in line for line in lines) > 3 or sum(b"!undecodable" in line for line in lines) > 3
    )


def test_a_closed_pipe_is_quiet() -> None:
    done = subprocess.run(
        f"{shlex.join([*KWIRE, 'explain', DUMP])} | head -1",
        shell=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert (done.returncode, done.stderr.count(b"\n")) == (0, 1)
    assert b"read as raw frames" in done.stderr
    assert done.stdout.startswith(b"# LeaderAndIsr v7 request")


def test_the_first_message_is_there_before_the_input_ends() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*KWIRE, "decode", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(request(1))
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"    0 -> Metadata:1         #1 ")
        process.stdin.close()
        assert process.wait() == 0


def test_nothing_raw_reaches_the_terminal(tmp_path: Path) -> None:
    import kwire

    evil = "\x1b]0;owned\x07\x9b31m\u202e\x7f\r"
    frame = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1, client_id=evil)
    path = tmp_path / "\x1b[31m\u202e.bin"
    path.write_bytes(frame + frame[:-2])
    for arguments in (
        ["decode"],
        ["decode", "--jsonl"],
        ["decode", "--json"],
        ["explain"],
        ["explain", "--color=never"],
    ):
        done = ran(*arguments, str(path))
        for text in (done.stdout.decode(), done.stderr.decode()):
            assert all(character.isprintable() or character in "\n\t" for character in text)
    done = ran("decode", str(tmp_path / "\x1b[2Jnone"))
    assert b"\x1b" not in done.stderr


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_no_locale_makes_it_fail(locale: str) -> None:
    import kwire

    frame = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1, client_id="漢字 😀")
    done = ran("decode", "-", data=frame, LC_ALL=locale, PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert b"\\u6f22\\u5b57" in done.stdout


def test_colour_only_where_it_is_wanted() -> None:
    assert b"\x1b" not in ran("decode", DUMP).stdout
    assert b"\x1b[1;32m" in ran("decode", "-v", DUMP, "--color=always").stdout


def test_version() -> None:
    import kwire

    assert ran("--version").stdout.decode() == f"kwire {kwire.__version__} (engine: {kwire.engine})\n"


def test_garbage_is_collected_while_a_command_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not while a process starts and ends."""
    seen = list[bool]()
    frozen = gc.get_freeze_count()
    monkeypatch.setattr(gc, "freeze", lambda: None)  # what tests leave may be freed
    monkeypatch.setattr(sys, "argv", ["kwire", "decode"])

    class Parsed:
        _option_string_actions: ClassVar[dict[str, object]] = {}

        def parse_args(self, _: list[str]) -> argparse.Namespace:
            return argparse.Namespace(run=run)

    def parser_for(_: list[str]) -> Parsed:
        seen.append(gc.isenabled())
        return Parsed()

    def run(_: argparse.Namespace) -> int:
        seen.append(gc.isenabled())
        return 0

    monkeypatch.setattr(sys.modules["kwire.cli.main"], "parser_for", parser_for)

    assert main() == 0
    assert (seen, gc.isenabled()) == ([False, True], True)
    assert 0 < gc.get_freeze_count() <= frozen  # of what `tests/conftest.py` froze, some may be freed meanwhile


@pytest.mark.parametrize("command", ["decode", "decode --jsonl", "decode --json", "explain --html", "stats --json"])
def test_bytes_of_a_file_name_that_are_not_utf_8_are_escaped(command: str, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.bin"
    Path(os.fsdecode(path)).write_bytes(Path(DUMP).read_bytes())
    done = ran(*command.split(), os.fsdecode(path), PYTHONUTF8="1")
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert b"caf\\xe9.bin" in done.stdout.replace(b"\\\\", b"\\") or b"caf\\udce9.bin" in done.stdout + done.stderr


@pytest.mark.parametrize(("command", "text"), [("decode", b"0 frames, 0 undecodable"), ("explain", b"0 frames")])
def test_a_capture_without_frames_is_reported_as_such(command: str, text: bytes, tmp_path: Path) -> None:
    (tmp_path / "head.pcap").write_bytes((ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").read_bytes()[:24])
    done = ran(command, str(tmp_path / "head.pcap"))
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.endswith(b"kwire: " + text + b"\n")


def test_browse_refuses_a_pipe() -> None:
    done = ran("browse", DUMP)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"a terminal is needed" in done.stderr


@pytest.mark.parametrize("command", spread(["decode", "explain", "stats", "report", "decode --jsonl", "cluster"], 2))
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_discard_what_is_written(command: str, closed: str) -> None:
    text = f"exec {shlex.join([*KWIRE, *command.split(), DUMP])} {closed}"
    done = subprocess.run(["sh", "-c", text], capture_output=True, timeout=180, check=False)
    assert (done.returncode, b"Traceback" in done.stdout + done.stderr) == (0, False)


def test_a_closed_standard_input_is_empty() -> None:
    text = f"exec {shlex.join([*KWIRE, 'decode', '-'])} <&-"
    done = subprocess.run(["sh", "-c", text], capture_output=True, timeout=180, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"kwire: error: -: file is empty")


NINES = "9" * 5000  # more digits than Python converts to an integer
NUMBERS = [
    (f'{{"brokers": [{{"id": {NINES}}}]}}', ("encode", "decode", "cluster", "place", "assign", "serve --cluster")),
    (f'{{"header": {{"apiKey": {NINES}}}, "payload": {{}}}}', ("encode", "decode", "encode --as MetadataRequest:4")),
    (f"[{NINES}]", ("encode", "decode", "place", "spec check")),
    (f'{{"/brokers/ids/1": {"[" * 50_000}', ("cluster", "decode")),
]


@pytest.mark.parametrize(("text", "command"), [(text, each) for text, commands in NUMBERS for each in commands])
def test_huge_numbers_and_depths_in_json_are_errors(
    text: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.json").write_text(text + "\n")
    code = main([*command.split(), str(tmp_path / "x.json")])
    found = capsys.readouterr()
    assert code in (1, 2)
    assert "x.json" in found.out + found.err


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (f"call --offline :9092 Metadata:4 topics:={NINES}", "a number has too many digits"),
        (f"call :1 Metadata --timeout {NINES}", "write seconds, more than 0 and up to 1,000,000"),
        (f"decode --where api_key=={NINES} {DUMP}", "a number of 5000 digits"),
        ("serve --brokers 99999999999", "99999999999 brokers cannot be served"),
    ],
)
def test_huge_numbers_in_options_are_errors(command: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 2
    assert text in capsys.readouterr().err


def test_more_slow_requests_than_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--slow", NINES, str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")]) == 0
