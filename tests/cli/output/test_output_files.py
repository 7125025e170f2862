"""No output overwrites an input, by whatever name, and what is not finished replaces no file."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from kwire.cli.output.frame_output import FrameOutput
from kwire.protocol.frames.frame import Frame, Source
from tests.cli.test_main import DUMP
from tests.conftest import ROOT

COMMANDS = (["report"], ["explain", "--html"], ["encode"], ["redact"])
LOG = str(ROOT / "fixtures/logs/__consumer_offsets-1/00000000000000000000.log")


def itself(path: Path) -> Path:
    return path


def linked(path: Path) -> Path:
    path.with_name("symbolic").symlink_to(path.name)
    return path.with_name("symbolic")


def hard_linked(path: Path) -> Path:
    os.link(path, path.with_name("hard"))
    return path.with_name("hard")


def input_for(command: list[str], folder: Path) -> Path:
    path = folder / "in.bin"
    if command == ["encode"]:
        results = kwire.decode_frames(kwire.read_dump(DUMP))
        path.write_text("".join(json.dumps(kwire.envelope(result)) + "\n" for result in results))
    else:
        path.write_bytes(Path(DUMP).read_bytes())
    return path


@pytest.mark.parametrize("name", [itself, linked, hard_linked])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_input_is_overwritten(
    command: list[str], name: Callable[[Path], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = input_for(command, tmp_path)
    before, target = path.read_bytes(), name(path)
    for file, output in ((path, target), (target, path)):
        assert main([*command, str(file), "-o", str(output)]) == 2
        assert f"{output}: this is the input itself; write to another file" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("command", [["report"], ["encode"]], ids=lambda command: command[0])
def test_standard_input_is_not_overwritten(command: list[str], tmp_path: Path) -> None:
    path = input_for(command, tmp_path)
    before = path.read_bytes()
    with path.open("rb") as stream:
        arguments = [sys.executable, "-m", "kwire", *command, "-", "-o", str(path)]
        done = subprocess.run(arguments, stdin=stream, capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert b"this is the input itself" in done.stderr
    assert path.read_bytes() == before


def test_files_of_folders_are_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = input_for(["report"], tmp_path)
    for command in (["report"], ["explain", "--html"]):
        assert main([*command, "-r", str(tmp_path), "-o", str(path)]) == 2
        assert "this is the input itself" in capsys.readouterr().err
    assert path.read_bytes() == Path(DUMP).read_bytes()


def test_parquet_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "frames.parquet").write_bytes(Path(DUMP).read_bytes())
    assert main(["decode", str(tmp_path / "frames.parquet"), "--parquet", str(tmp_path)]) == 2
    assert (tmp_path / "frames.parquet").read_bytes() == Path(DUMP).read_bytes()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_errors_name_what_was_typed(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, target = input_for(command, tmp_path), str(tmp_path / "no" / "x")
    assert main([*command, str(path), "-o", target]) == 2
    assert f"{target}: No such file or directory" in capsys.readouterr().err


def test_a_link_to_another_file_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "page.html", tmp_path / "link.html"
    target.write_text("old")
    link.symlink_to("page.html")
    assert main(["report", DUMP, "-o", str(link)]) == 0
    assert link.is_symlink()
    assert target.read_text().startswith("<!DOCTYPE html>")


def test_what_fails_prints_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    for files in ([LOG], [DUMP, LOG]):
        for command in (["explain", "--html"], ["report"]):
            for output in ([], ["-o", str(page)]):
                assert main([*command, *files, *output]) == 2
                captured = capsys.readouterr()
                assert captured.out == ""
                assert "this is a log" in captured.err
    assert page.read_text() == "old"
    assert list(tmp_path.iterdir()) == [page]


def test_raw_output_of_connections_has_whole_frames_only(capsys: pytest.CaptureFixture[str]) -> None:
    """Of anything else, a reader would take the size for that of the next frames, too."""
    file, source = io.BytesIO(), Source(client="10.0.0.1:5000", broker="10.0.0.2:9092")
    output = FrameOutput(file, raw=True)
    for text in ("", "000000", "00000000", "00000004 00000001", "00000005 00000001", "00000003 00000001"):
        output.write(Frame(bytes.fromhex(text), source))
    output.finish()
    assert file.getvalue() == bytes.fromhex("00000000 00000004 00000001")
    assert "left out: 4 incomplete frames" in capsys.readouterr().err
