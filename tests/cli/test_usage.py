"""Wrong usage, and input with nothing in it: a clear error, never an empty answer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kwire.cli.main import main
from tests.conftest import ROOT

PCAP = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--bogus"], "there is no option --bogus before a command"),
        (["--jsonl", PCAP], "kwire decode --jsonl FILE"),
        (["schema", "Fetch", "--schemas", "nosuch"], "error: nosuch: there is no such folder"),
        (["schema", "Fetch", "--bnf", "--json"], "argument --json: not allowed with argument --bnf"),
        (["errors", "9999"], "there is no error code '9999'"),
        (["errors", "5120"], "there is no error code '5120'"),
        (["errors", "not_leder"], "there is no error code 'not_leder'"),
        (["decode", PCAP, "--conn", "foo"], "--conn foo: write the address of an end"),
        (["decode", PCAP, "--conn", "host:9092"], "--conn host:9092: write the address of an end"),
        (["decode", "/proc/self/mem"], "/proc/self/mem: Input/output error"),
        (["stats", "/proc/self/mem"], "/proc/self/mem: Input/output error"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    if words[-1].startswith("/proc") and not sys.platform.startswith("linux"):
        pytest.skip("needs /proc")
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert text in shown.err


def test_fields_of_a_call_are_not_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", ":9092"]) == 2
    assert "the following arguments are required: NAME[:VERSION]\n" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["decode", "explain", "stats", "check", "report", "cluster"])
def test_a_folder_without_files_is_an_error(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".hidden").write_bytes(b"")
    assert main([command, "-r", str(tmp_path)]) == 2
    shown = capsys.readouterr()
    assert (shown.out, f"{tmp_path}: there are no files in this folder" in shown.err) == ("", True)


def test_guess_says_that_there_is_nothing_to_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--guess", PCAP]) == 0
    assert "nothing to guess: connections say what 114 frames hold" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:9092", "::1", "[::1]", "[::1]:9092"])
def test_addresses_of_connections(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", PCAP, "--conn", address]) == 0


def test_a_name_with_a_newline_stays_on_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a\nkwire: error: b"
    path.write_text("no hex")
    assert main(["decode", str(path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) <= 2
    assert main(["decode", str(tmp_path / "c\nd")]) == 2
    assert "c\\nd: No such file or directory" in capsys.readouterr().err


def test_the_demo_says_what_can_be_typed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / ".venv" / "bin" / "kwire"
    script.parent.mkdir(parents=True)
    script.write_text("")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script.with_name("python")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KWIRE_SHELL_PATH", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["demo"]) == 0
    assert "\n  .venv/bin/kwire --help\n" in capsys.readouterr().out
    monkeypatch.setenv("PATH", str(script.parent))
    assert main(["demo"]) == 0
    assert "\n  kwire --help\n" in capsys.readouterr().out
    monkeypatch.setenv("KWIRE_SHELL_PATH", "/nowhere")  # by dev.py, which puts .venv into PATH for what it runs alone
    assert main(["demo"]) == 0
    assert "\n  .venv/bin/kwire --help\n" in capsys.readouterr().out


def test_options_may_stand_among_files(capsys: pytest.CaptureFixture[str]) -> None:
    dump = str(ROOT / "fixtures/dumps/kafka-3.9-zk.bin")
    assert main(["decode", "--api", "Metadata", dump, "--jsonl", dump, "--strict"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert main(["call", ":9092", "Metadata", "--offline", "topics:=null"]) == 0
    assert main(["decode", dump, "--bogus", dump]) == 2
    assert "unrecognized arguments: --bogus" in capsys.readouterr().err
