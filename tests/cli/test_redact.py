"""`kwire redact` writes a dump of the same size, and says what it took out."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire.cli import main
from kwire.redaction import REASONS
from tests.cli.test_commands import out
from tests.cli.test_main import DUMP


def test_the_same_shape_without_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.bin"
    assert main(["redact", DUMP, "-o", str(target)]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"kwire: {DUMP}: read as raw frames\nkwire: 6 frames, 20 values taken out\n"
    assert captured.out.splitlines()[1] == "client  3       client ids are names of applications"
    assert target.stat().st_size == 818
    assert out(capsys, "stats", str(target)) == out(capsys, "stats", DUMP)
    assert "lonely" not in out(capsys, "decode", "-v", str(target))


def test_what_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.bin"
    out(capsys, "redact", DUMP, "-o", str(target), "--keep", "topic,client,host")
    assert target.read_bytes() == Path(DUMP).read_bytes()


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(out(capsys, "redact", "--list").splitlines()) == len(REASONS) + 1


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "dump.bin"
    copy.write_bytes(Path(DUMP).read_bytes())
    for arguments, text in (
        ([DUMP], "redact takes FILE and -o OUT"),
        ([DUMP, "-o", "x", "--keep", "nonsense"], "--keep nonsense: write some of records, sasl"),
        ([str(copy), "-o", str(copy)], "this is the dump itself"),
    ):
        assert main(["redact", *arguments]) == 2
        assert text in capsys.readouterr().err
    assert copy.read_bytes() == Path(DUMP).read_bytes()
