"""Long output on a terminal is paged, short output and files are not; leaving the pager is quiet."""

from __future__ import annotations

import io
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kwire.cli.terminal.pager import Paged, paged
from tests.cli.test_main import DUMP, KWIRE
from tests.conftest import ROOT


def on_terminal(*arguments: str, **environment: str) -> tuple[int, str]:
    """Run kwire on a terminal of 24 lines; return its exit code and what the terminal shows."""
    main, side = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "LINES": "24", "COLUMNS": "80", **environment}
    with subprocess.Popen([*KWIRE, *arguments], stdout=side, stdin=side, env=env) as process:
        os.close(side)
        seen = b""
        try:
            while portion := os.read(main, 65536):
                seen += portion
        except OSError:  # Linux says so when the other end is closed
            pass
        code = process.wait(timeout=180)
    os.close(main)
    return code, seen.decode().replace("\r\n", "\n")


def pager(path: Path) -> str:
    return shlex.join([sys.executable, "-c", f"import sys; open({str(path)!r}, 'w').write(sys.stdin.read())"])


def test_long_output_goes_to_the_pager(tmp_path: Path) -> None:
    code, seen = on_terminal("decode", "-v", DUMP, PAGER=pager(tmp_path / "paged"))
    assert (code, seen) == (0, "")
    text = (tmp_path / "paged").read_text()
    assert text.startswith("LeaderAndIsr v7 request, correlation 22")
    assert text.count("correlation 22") == 2
    assert "cluster_id:" in text


def test_short_output_does_not(tmp_path: Path) -> None:
    code, seen = on_terminal("decode", DUMP, PAGER=pager(tmp_path / "paged"))
    assert code == 0
    assert len(seen.splitlines()) == 6
    assert not (tmp_path / "paged").exists()


@pytest.mark.parametrize("arguments", [("--no-pager",), ()])
def test_it_can_be_refused_and_one_that_is_missing_is_done_without(arguments: tuple[str, ...]) -> None:
    code, seen = on_terminal("decode", "-v", *arguments, DUMP, PAGER="no-such-pager")
    assert code == 0
    assert seen.startswith("LeaderAndIsr v7 request")
    assert len(seen.splitlines()) > 100


def test_who_leaves_the_pager_is_left_alone() -> None:
    code, seen = on_terminal("decode", "-v", *[DUMP] * 200, PAGER="head -n 1")
    assert code == 0
    assert seen == 'LeaderAndIsr v7 request, correlation 22, client "1", 116 bytes, frame 0 at 0\n'


def test_a_file_is_not_paged(capsys: pytest.CaptureFixture[str]) -> None:
    with paged() as found:
        assert found is None


def test_lines_are_held_until_the_screen_is_full() -> None:
    out = io.StringIO()
    page = Paged(out, 3, ["no-such-pager"])
    page.write("a\nb\n")
    assert out.getvalue() == ""
    page.write("c\n")
    page.write("d\n")
    page.finish()
    assert out.getvalue() == "a\nb\nc\nd\n"
