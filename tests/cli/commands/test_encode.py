"""`kwire encode`: captures from the JSON of captures, bad lines named, what is no JSON named."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from tests.capture.building import request, response
from tests.capture.request_logs.test_request_log import LINE, LOG4J
from tests.capture.test_capture_writer import PATHS, facts, read
from tests.cli.test_main import DUMP, ran
from tests.conftest import ROOT

CAPTURE = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


def lines_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    main(["decode", "--jsonl", *arguments])
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("path", PATHS)
def test_json_lines_of_a_capture_become_the_capture(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lines").write_text("\n".join(lines_of(capsys, "--show-secrets", str(path))))
    code = main(["encode", str(tmp_path / "lines"), "-o", str(tmp_path / "again")])
    if not facts(read(path)):
        assert code == 2  # nothing but another protocol
        return
    assert code == 0
    before, after = (
        [(*fact[:7], None if fact[7] is None else int(str(fact[7])) // 1000, fact[8]) for fact in facts(read(each))]
        for each in (path, tmp_path / "again")
    )
    assert after == before


def test_bad_lines_are_named_and_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, CAPTURE)
    lines[4] = lines[4][:90]  # broken
    hidden = json.loads(lines[8])
    hidden["payload"] = {"_hidden": 7}
    lines[8] = json.dumps(hidden)
    lines[10] = lines[10].replace('"apiVersion":', '"apiVersion":9')
    target = tmp_path / "again"
    (tmp_path / "lines").write_text("\n".join(lines))
    assert main(["encode", str(tmp_path / "lines"), "-o", str(target)]) == 1
    err = capsys.readouterr().err
    for number in (5, 9, 11):
        assert f"lines:{number}: " in err
    assert f"{len(lines) - 3} frames encoded, 3 bad lines skipped" in err
    assert len(list(kwire.read_dump(target))) == len(lines) - 3


def test_bad_lines_of_a_log_are_named_and_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "broker.log"
    wrong = LOG4J.replace("controllerId", "contrllerId")  # in the response: the request is left out with it
    log.write_text(f"[2024-05-01] INFO started\n{LOG4J}\n{LOG4J[:200]}\n{wrong}\n")
    for form in ([], ["--raw"], ["--hex"]):
        assert main(["encode", str(log), *form, "-o", str(tmp_path / "out")]) == 1
        err = capsys.readouterr().err
        assert "broker.log:3: not valid JSON" in err
        assert "broker.log:4: " in err
        assert "2 bad lines skipped" in err
        assert "2 frames encoded, 2 bad lines skipped" in err
        assert len(list(kwire.read_dump(tmp_path / "out"))) == 2


def test_several_connections_as_raw_frames_are_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text(f"{LINE}\n{LINE.replace('50000', '50001')}\n")
    assert main(["encode", str(tmp_path / "log"), "-o", str(tmp_path / "out"), "--raw"]) == 0
    assert "raw frames of several connections" in capsys.readouterr().err
    assert main(["encode", str(tmp_path / "log"), "-o", str(tmp_path / "out")]) == 0
    err = capsys.readouterr().err
    assert "raw frames" not in err.replace("--raw writes raw frames", "")
    assert "they are 1970-01-01" in err
    assert {frame.source.client for frame in kwire.read_dump(tmp_path / "out")} == {
        "127.0.0.1:50000",
        "127.0.0.1:50001",
    }


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (Path(CAPTURE).read_bytes(), "this is a capture (pcap)"),
        (Path(DUMP).read_bytes(), "this is not text, but raw frames"),
        ((ROOT / "fixtures/logs/__consumer_offsets-1/00000000000000000000.log").read_bytes(), "this is a log segment"),
        (b"\xff\xfe{}", "this is not UTF-8 text (byte 0xff at offset 0)"),
        (b'{"a": "\xe4"}', "this is not UTF-8 text (byte 0xe4 at offset 7)"),
        (b"", "file is empty"),
    ],
)
def test_what_is_no_text_is_named(data: bytes, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    for arguments in (["encode"], ["encode", "--as", "Metadata:4"], ["explain", "--in-place"]):
        if data or arguments[0] == "encode":
            assert main([*arguments, str(path)]) == 2
            assert what in capsys.readouterr().err
    if data:
        assert main(["explain", "--fixture", "--in-place", str(path)]) == 2
        assert "--in-place annotates fixtures anew" in capsys.readouterr().err
    assert path.read_bytes() == data


def test_without_a_file_on_a_terminal_it_says_what_it_needs() -> None:
    leader, follower = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "kwire", "encode"], stdin=follower, capture_output=True, timeout=180, cwd=ROOT
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 2
    assert b"the following arguments are required: FILE" in done.stderr


def test_frames_without_connections_stay_raw() -> None:
    done = ran("encode", "-", data=b"\n".join(ran("decode", "--jsonl", DUMP).stdout.splitlines()))
    assert done.stdout == Path(DUMP).read_bytes()


def test_a_dump_of_another_kind_than_its_name_says(tmp_path: Path) -> None:
    (tmp_path / "dump.pcap").write_bytes(request(1) + response(1))
    done = ran("redact", str(tmp_path / "dump.pcap"), "-o", str(tmp_path / "out.pcap"))
    assert done.returncode == 0
    assert (tmp_path / "out.pcap").stat().st_size == len(request(1) + response(1))
