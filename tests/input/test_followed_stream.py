"""Followed TCP streams, as tshark 4.0 printed them, have the frames of the capture."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import kwire
from kwire.cli import main
from kwire.cli.help import TOPICS
from kwire.errors import DumpError
from kwire.input import open_dump
from kwire.input.decryption import decrypted
from kwire.input.packet_text import followed_streams
from tests.conftest import ROOT

CAPTURE = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
SAMPLES = ROOT / "tests/data/followed"
FORMS = ("hex", "raw", "yaml")


def of_the_capture() -> list[bytes]:
    frames = list(kwire.read_dump(str(CAPTURE)))
    return [frame.data for frame in frames if frame.source.client == "127.0.0.1:51578"]


@pytest.mark.parametrize("form", FORMS)
def test_the_frames_are_those_of_the_capture(form: str) -> None:
    path = SAMPLES / f"follow.{form}"
    with open_dump(path) as dump:
        assert dump.kind == f"a followed TCP stream ({form})"
        frames = list(dump.frames)
    assert [frame.data for frame in frames] == of_the_capture() != []
    assert {(frame.source.client, frame.source.broker) for frame in frames} == {("127.0.0.1:51578", "127.0.0.1:19020")}
    assert all((frame.source.time is not None) == (form == "yaml") for frame in frames)
    assert not [one for one in kwire.decode_frames(frames) if isinstance(one, kwire.Undecodable)]


@pytest.mark.parametrize("form", FORMS)
def test_windows_writes_the_same(form: str, tmp_path: Path) -> None:
    text = (SAMPLES / f"follow.{form}").read_text().replace("\n", "\r\n")
    target = tmp_path / "text"
    target.write_bytes(text.encode("utf-16"))  # as PowerShell's > does
    assert [frame.data for frame in kwire.read_dump(str(target))] == of_the_capture()


@pytest.mark.parametrize(("form", "line"), [("hex", 7), ("raw", 6), ("yaml", 10)])
def test_a_damaged_line_is_named(form: str, line: int) -> None:
    lines = (SAMPLES / f"follow.{form}").read_text().splitlines()
    number = next(at for at, text in enumerate(lines) if at >= line and text.strip())
    lines[number] = lines[number][:-2] + "?!" if form != "hex" else lines[number].replace(" ", "?", 12)
    with pytest.raises(DumpError) as caught:
        followed_streams("\n".join(lines), "x")
    assert caught.value.line is not None
    assert abs(caught.value.line - number - 1) <= (6 if form == "yaml" else 0)


def test_the_rest_of_a_side_is_kept() -> None:
    text = (SAMPLES / "follow.raw").read_text()
    lines = text.splitlines()
    cut = "\n".join([*lines[:7], lines[7][:41]])
    (stream,) = followed_streams(cut)
    frames = list(stream.frames("x"))
    assert b"".join(frame.data for frame in frames) == b"".join(bytes.fromhex(line) for line in cut.splitlines()[6:])
    assert frames[-1].fault is not None


def test_another_text_is_no_stream() -> None:
    assert followed_streams("00 00 00 04 00 00 00 07") == []


def test_several_streams_of_all_forms_are_read(tmp_path: Path) -> None:
    for form in FORMS:
        text = (SAMPLES / f"follow.{form}").read_text()
        (tmp_path / form).write_text(text + ("# the next one\n" if form == "yaml" else "") + text)
        frames = list(kwire.read_dump(str(tmp_path / form)))
        assert [frame.data for frame in frames] == of_the_capture() * 2
        half = len(frames) // 2
        assert [frame.source.frame for frame in frames] == list(range(2 * half))
        assert [frame.source.connection for frame in frames] == [0] * half + [1] * half


def test_a_damaged_line_of_the_second_stream_is_named() -> None:
    text = (SAMPLES / "follow.raw").read_text()
    lines = (text + text).splitlines()
    number = len(text.splitlines()) + 6
    lines[number] = "xx" + lines[number]
    with pytest.raises(DumpError) as caught:
        followed_streams("\n".join(lines), "x")
    assert caught.value.line == number + 1


def test_tls_that_tshark_decrypted_has_the_end_that_it_names() -> None:
    frames = list(kwire.read_dump(str(SAMPLES / "tls.yaml")))
    assert [frame.data for frame in frames] == of_tls()
    ends = {(frame.source.connection, frame.source.client, frame.source.broker) for frame in frames}
    assert ends == {(0, None, "127.0.0.1:9093"), (1, "127.0.0.1:51001", None)}
    assert not [one for one in kwire.decode_frames(frames) if isinstance(one, kwire.Undecodable)]


def of_tls() -> list[bytes]:
    """Return the frames of the first two connections of the capture, whose bytes were sent again over TLS."""
    frames = list(kwire.read_dump(str(CAPTURE)))
    first = list(dict.fromkeys(frame.source.connection for frame in frames))[:2]
    return [frame.data for number in first for frame in frames if frame.source.connection == number]


@pytest.mark.ci
def test_the_command_of_help_tls_decrypts(tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("needs tshark")
    text = TOPICS["tls"][1]
    command = text[text.index("tshark -r") : text.index("kwire decode -")] + "cat"
    command = command.replace("FILE", str(SAMPLES / "tls.pcap")).replace("KEYS", str(SAMPLES / "tls.keys"))
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    (tmp_path / "streams.yaml").write_bytes(done.stdout)
    assert [frame.data for frame in kwire.read_dump(str(tmp_path / "streams.yaml"))] == of_tls()


def test_kwire_names_the_command_where_it_meets_tls(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", str(SAMPLES / "tls.pcap")]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2 connections of TLS" in shown.err
    assert "kwire help tls has the command" in shown.err


KEYLOG = ["--keylog", str(SAMPLES / "tls.keys")]


@pytest.mark.ci
def test_tshark_is_run_with_the_keys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("needs tshark")
    dump = decrypted(str(SAMPLES / "tls.pcap"), KEYLOG[1])
    assert dump.kind == "2 TLS connections, decrypted by tshark"
    assert [frame.data for frame in dump.frames] == of_tls()
    assert main(["decode", str(SAMPLES / "tls.pcap"), *KEYLOG, "--fields", "frame,api,latency"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(of_tls()) + 1
    other = tmp_path / "other.keys"
    other.write_text("CLIENT_RANDOM " + "00" * 32 + " " + "00" * 48 + "\n")
    for keys, capture, problem in (
        (str(other), SAMPLES / "tls.pcap", "decrypt none of 2 TLS connections"),
        (KEYLOG[1], CAPTURE, "there is no TLS in this capture"),
        (KEYLOG[1], Path(__file__), "tshark fails: "),
    ):
        assert main(["decode", str(capture), "--keylog", keys]) == 2
        assert problem in capsys.readouterr().err


def test_what_keylog_needs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "no.keys").write_text("# none\n")
    tls = str(SAMPLES / "tls.pcap")
    for arguments, problem in (
        ([tls, *KEYLOG], "--keylog needs tshark, which is not on the PATH"),
        ([tls, "--keylog", str(tmp_path / "no.keys")], "there are no keys in this file"),
        ([tls, "--keylog", str(tmp_path / "absent")], "No such file or directory"),
        (["-", *KEYLOG], "--keylog takes captures by name"),
        (["--follow", tls, *KEYLOG], "--keylog takes captures by name"),
    ):
        assert main(["decode", *arguments]) == 2
        assert problem in capsys.readouterr().err
