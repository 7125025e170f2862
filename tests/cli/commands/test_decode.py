"""Lines for many frames, a tree for one; filters, folders, and what Ctrl-C leaves behind."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from tests.cli.test_commands import out
from tests.cli.test_main import DUMP, KWIRE, ran
from tests.conftest import ROOT
from tests.protocol.test_frame_decoder import request, response

CAPTURE = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")
LINES = """\
    0 -> LeaderAndIsr:7     #22     116 B  1  lonely
    1 <- LeaderAndIsr:7     #22      38 B  @0  lonely  1
    2 -> UpdateMetadata:8   #58     359 B  1  born-after-restart
    3 <- UpdateMetadata:8   #58      12 B  @2  1
    4 -> Metadata:12        #1       55 B  lab-producer  lonely
    5 <- Metadata:12        #1      238 B  !LEADER_NOT_AVAILABLE  lonely  lab...
"""


def test_many_frames_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "decode", DUMP) == LINES


def test_and_trees_if_told(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "decode", "-v", DUMP)
    assert text.startswith('LeaderAndIsr v7 request, correlation 22, client "1", 116 bytes, frame 0 at 0\n')
    assert text.count("\n\n") == 5


def test_one_frame_is_a_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.bin"
    path.write_bytes(request(7))
    assert out(capsys, "decode", str(path)).splitlines()[0] == (
        'Metadata v1 request, correlation 7, client "me", 20 bytes, frame 0 at 0'
    )
    assert out(capsys, "decode", DUMP, "--from", "4", "--to", "4").startswith("Metadata v12 request")


def test_from_a_pipe_the_line_comes_first_and_the_fields_of_a_single_frame_follow() -> None:
    done = ran("decode", "-", data=request(7))
    assert done.stdout.decode() == "    0 -> Metadata:1         #7       20 B  me\n  topics: null\n"
    assert len(ran("decode", "-", data=request(7) + response(7)).stdout.splitlines()) == 2


def test_filters_go_for_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "decode", DUMP, "--api", "UpdateMetadata").splitlines() == LINES.splitlines()[2:4]
    for form in ("--json", "--jsonl", "-v"):
        assert out(capsys, "decode", DUMP, form, "--errors").count("LEADER_NOT_AVAILABLE") == (form == "-v")
    main(["decode", DUMP, "--errors"])
    assert "6 frames, 0 undecodable, 1 shown" in capsys.readouterr().err


def test_an_undecodable_frame_counts_though_it_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.bin"
    path.write_bytes(request(7) + bytes.fromhex("0000000a 270f 0000 00000005 ffff"))
    assert out(capsys, "decode", str(path), "--api", "Metadata", code=1).startswith("Metadata v1 request")


def test_folders_are_read_if_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/two.bin").write_bytes(request(2))
    (tmp_path / "a.bin").write_bytes(request(1))
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "state").write_text('{"leaderId": 1}')
    (tmp_path / ".hidden").write_bytes(request(3))
    assert main(["decode", "-r", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    lines = [line.split() for line in captured.out.splitlines()]
    assert [(line[0], line[4]) for line in lines] == [("a.bin", "#1"), ("two.bin", "#2")]
    assert captured.err.splitlines() == [
        f"kwire: {tmp_path}/a.bin: read as raw frames",
        f"kwire: {tmp_path}/b/two.bin: read as raw frames",
        f"kwire: {tmp_path}/empty: skipped: file is empty",
        f"kwire: {tmp_path}/state: read as a log of requests",
        *[line for line in captured.err.splitlines() if "state: skipped: a logged request, or an object" in line],
    ]
    assert "state: skipped" in captured.err
    assert main(["decode", str(tmp_path)]) == 2


def test_ctrl_c_prints_the_summary() -> None:
    with subprocess.Popen(
        [*KWIRE, "decode", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(request(1))
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=180) == 130
        assert process.stderr.read() == b"kwire: -: read as raw frames\nkwire: 1 frame, 0 undecodable\n"


def frames_shown(capsys: pytest.CaptureFixture[str], path: str, number: int) -> list[str]:
    return out(capsys, "decode", path, "--request", str(number), "--fields", "frame,type").split()[2:]


def test_a_frame_and_its_request_or_response(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.loads(line) for line in out(capsys, "decode", "--jsonl", CAPTURE).splitlines()]
    links = {line["source"]["frame"]: line["source"].get("requestFrame") for line in lines}
    for number, asked in links.items():
        if asked is not None:
            pair = [str(asked), "request", str(number), "response"]
            assert frames_shown(capsys, CAPTURE, number) == pair == frames_shown(capsys, CAPTURE, asked)
    trees = out(capsys, "decode", CAPTURE, "--request", "23").split("\n\n")
    assert [tree.split(",")[0] for tree in trees] == ["JoinGroup v9 request", "JoinGroup v9 response"]
    assert trees[1].splitlines()[0].endswith("frame 23 at 539, 903ms after frame 22")


def test_a_frame_without_a_partner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some.bin"
    silent = kwire.encode_request(kwire.messages.ProduceRequest(acks=0), 3, correlation_id=9)
    path.write_bytes(silent + request(1) + response(1) + request(2))
    assert frames_shown(capsys, str(path), 0) == ["0", "request"]
    assert main(["decode", str(path), "--request", "3"]) == 0
    assert "frame 3 has no response in" in capsys.readouterr().err
    assert main(["decode", str(path), "--request", "4"]) == 2
    assert "has 4 frames, numbered from 0" in capsys.readouterr().err
    monkeypatch.setattr("kwire.cli.input.dump_decoder.HELD", 0)
    assert frames_shown(capsys, str(path), 2) == ["2", "response"]
    assert main(["decode", str(path), "--request", "0", "--guess"]) == 2


def test_nothing_is_read_behind_a_frame_and_its_response(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.bin"
    path.write_bytes(request(1) + response(1) + bytes.fromhex("0000000a 270f 0000 00000005 ffff"))
    assert main(["decode", str(path)]) == 1
    assert main(["decode", str(path), "--request", "1"]) == 0
    capsys.readouterr()


def test_the_greatest_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")
    sizes = sorted((len(frame.data) for frame in kwire.read_dump(capture)), reverse=True)
    assert main(["decode", capture, "--sort", "size", "--fields", "size", "--first", "5"]) == 0
    assert list(map(int, capsys.readouterr().out.split()[1:])) == sizes[:5]
    assert main(["decode", capture, "--sort", "size", "--jsonl"]) == 0
    assert capsys.readouterr().out.count("\n") == 10
    assert main(["decode", capture, "--sort", "latency", "--where", "api == produce", "--fields", "type"]) == 0
    assert capsys.readouterr().out.split() == ["type", "response", "response"]  # requests have no latency
    assert main(["decode", capture, "--sort", "sizes"]) == 2
    assert "size" in capsys.readouterr().err
    assert main(["decode", capture, "--sort", "size", "--request", "3"]) == 2


def test_folders_that_contain_themselves_are_read_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/dump.bin").write_bytes(Path(DUMP).read_bytes())
    (tmp_path / "a/again").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "loop").symlink_to("loop")
    assert main(["decode", "--count", "-r", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == "6\n"
    assert captured.err.count("read as raw frames") == 1


def test_a_damaged_request_that_a_filter_excludes_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ApiVersions names the client's software in its body, which is not read before the filter."""
    data = Path(CAPTURE).read_bytes()
    assert data.count(b"apache-kafka-java") > 1
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(data.replace(b"apache-kafka-java", b"apache-kafka-jav\xff"))
    for options in (["--api", "Fetch"], ["--where", "latency > 0"], ["--count"]):
        assert out(capsys, "decode", CAPTURE, *options) == out(capsys, "decode", str(damaged), *options)
    assert "Fetch" in out(capsys, "decode", str(damaged), "--api", "Fetch")
