"""`kwire pipeline` says what is missing, and writes a zip; the job itself is tested beside Spark."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from kwire.cli.commands.pipeline import _print
from kwire.cli.main import main
from tests.cli.test_commands import out
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name captures and a folder"),
        (["a.pcap"], "name captures and a folder"),
        (["a.pcap", "--out", "x", "--cluster", "["], "--cluster ["),
        (["a.pcap", "--out", "x", "--cluster", "a.*"], "it needs a group in parentheses"),
        (["a.pcap", "--out", "x", "--option", "mode"], "--option mode: it is NAME=VALUE"),
        (["a.pcap", "--out", "x", "--format", "csv"], "argument --format: invalid choice: 'csv'"),
        (["a.pcap", "--out", "x", "--conf", "=1"], "--conf =1: it is NAME=VALUE"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_without_pyspark_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['pyspark'] = None\nfrom kwire.cli.main import main\n"
    code += "sys.exit(main(['pipeline', 'a.pcap', '--out', 'x']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "kwire: error: kwire pipeline needs the library pyspark; pip install 'kwire[spark]'\n"


@pytest.mark.parametrize(("corrupt", "code"), [(0, 0), (3, 1)])
def test_frames_that_did_not_decode_are_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], corrupt: int, code: int
) -> None:
    class Counts(NamedTuple):
        corrupt: int
        notices: tuple[str, ...] = ("something to know",)

    job = SimpleNamespace(run=lambda *_, **__: Counts(corrupt))
    session = SimpleNamespace(session=lambda *_: nullcontext())
    engines = SimpleNamespace(engine_notices=lambda _: [])
    spark = SimpleNamespace(pipeline=job, session=session, worker_engines=engines)
    monkeypatch.setitem(sys.modules, "kwire.spark", spark)
    monkeypatch.setitem(sys.modules, "kwire.spark.history_plots", SimpleNamespace(need_matplotlib=None))
    formats = SimpleNamespace(format_settings=lambda *_: {})
    monkeypatch.setitem(sys.modules, "kwire.spark.lakes.table_formats", formats)
    monkeypatch.setattr("kwire.cli.commands.pipeline._print", lambda *_: None)
    assert main(["pipeline", "a.pcap", "--out", "x"]) == code
    assert "something to know" in capsys.readouterr().err


def test_the_zip_comes_with_the_command_to_run_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "k.zip"
    assert out(capsys, "pipeline", "--zip", str(file)) == (
        f"spark-submit --py-files {file} {tmp_path}/k-pipeline.py CAPTURES... --out DIR\n"
    )
    assert file.stat().st_size > 500_000


def test_counts_are_for_people_or_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    counts = {
        "frames": 1234567,
        "corrupt": 0,
        "bytes": 5,
        "rows": {"brokers": 3},
        "plots": ("a.png",),
        "notices": ("n",),
    }
    _print(dict(counts), False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [["frames", "1,234,567"], ["corrupt", "0"], ["bytes", "5"], ["brokers", "3"], ["a.png"]]
    _print(dict(counts), True)
    assert '"tables": {\n    "brokers": 3\n  }' in capsys.readouterr().out
