"""`kwire redact` writes a dump of the same size, and says what it took out."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from kwire.redaction import REASONS
from tests.cli.test_commands import out
from tests.cli.test_main import DUMP
from tests.conftest import ROOT


def test_the_same_shape_without_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.bin"
    assert main(["redact", DUMP, "-o", str(target)]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"kwire: {DUMP}: read as raw frames\nkwire: 6 frames, 26 values removed\n"
    assert captured.out.splitlines()[1] == "client  3       client ids are names of applications"
    assert target.stat().st_size == 818
    assert out(capsys, "stats", str(target)) == out(capsys, "stats", DUMP)
    assert "lonely" not in out(capsys, "decode", "-v", str(target))


def test_what_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.bin"
    out(capsys, "redact", DUMP, "-o", str(target), "--keep", "topic,client,host,rack")
    assert target.read_bytes() == Path(DUMP).read_bytes()


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(out(capsys, "redact", "--list").splitlines()) == len(REASONS) + 1


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "dump.bin"
    copy.write_bytes(Path(DUMP).read_bytes())
    for arguments, text in (
        ([DUMP], "redact takes FILE and -o OUT"),
        ([DUMP, "-o", "x", "--keep", "nonsense"], "--keep nonsense: write some of records, sasl"),
        ([str(copy), "-o", str(copy)], "this is the input itself"),
    ):
        assert main(["redact", *arguments]) == 2
        assert text in capsys.readouterr().err
    assert copy.read_bytes() == Path(DUMP).read_bytes()


CAPTURE = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


def test_a_capture_stays_a_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.bin"  # its name says nothing
    assert main(["redact", CAPTURE, "-o", str(target)]) == 0
    assert "written as a capture (pcap) of" in capsys.readouterr().err
    before, after = (list(kwire.read_dump(path)) for path in (CAPTURE, target))
    assert [len(frame.data) for frame in after] == [len(frame.data) for frame in before]
    for one, other in zip(before, after, strict=True):
        for name in ("client", "broker", "direction", "time"):
            assert getattr(one.source, name) == getattr(other.source, name)
    assert out(capsys, "check", str(target)).endswith("114 encoded to the same bytes, 0 not\n")


def test_raw_frames_of_a_capture_come_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.bin"
    assert main(["redact", CAPTURE, "-o", str(target), "--raw"]) == 0
    assert "raw frames of several connections" in capsys.readouterr().err
    assert target.stat().st_size == sum(len(frame.data) for frame in kwire.read_dump(CAPTURE))
