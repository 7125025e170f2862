"""Followed TCP streams, as tshark 4.0 printed them, have the frames of the capture."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwire
from kwire.errors import DumpError
from kwire.input import open_dump
from kwire.input.followed_stream import followed_stream
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
        followed_stream("\n".join(lines), "x")
    assert caught.value.line is not None
    assert abs(caught.value.line - number - 1) <= (6 if form == "yaml" else 0)


def test_the_rest_of_a_side_is_kept() -> None:
    text = (SAMPLES / "follow.raw").read_text()
    lines = text.splitlines()
    cut = "\n".join([*lines[:7], lines[7][:41]])
    stream = followed_stream(cut)
    assert stream is not None
    frames = list(stream.frames("x"))
    assert b"".join(frame.data for frame in frames) == b"".join(bytes.fromhex(line) for line in cut.splitlines()[6:])
    assert frames[-1].fault is not None


def test_another_text_is_none() -> None:
    assert followed_stream("00 00 00 04 00 00 00 07") is None
