"""`kwire slice` writes what was chosen, with requests and responses; --fields, --count and --first of decode."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from tests.cli.test_commands import out
from tests.conftest import ROOT

CAPTURE = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


def described(path: str | Path, where: str = "frame >= 0") -> list[tuple[object, ...]]:
    wanted = kwire.parse_filter(where)
    results = kwire.decode_frames(kwire.read_dump(str(path)))
    return sorted(
        (type(one).__name__, one.frame.data, one.frame.source.client, round(one.frame.source.time or 0, 6))
        for one in results
        if wanted(one)
    )


@pytest.mark.parametrize(
    "where", ["error_code", "api == fetch", "type == request and size < 60", "latency > 20ms", "frame < 4"]
)
def test_the_part_decodes_as_the_whole_did(where: str, tmp_path: Path) -> None:
    target = tmp_path / "part.pcap"
    assert main(["slice", CAPTURE, "--where", where, "-w", str(target)]) == 0
    before, after = described(CAPTURE, where), described(target)
    assert before
    assert set(before) <= set(after) < set(described(CAPTURE))
    requests = sum(kind == "Request" for kind, *_ in after)
    assert {kind for kind, *_ in after} <= {"Request", "Response"}
    assert len(after) - requests <= requests


def test_nothing_chosen_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slice", CAPTURE, "--where", "api == Vote", "-w", str(tmp_path / "none.pcap")]) == 1
    assert "0 frames written" in capsys.readouterr().err


def test_the_input_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(Path(CAPTURE).read_bytes())
    assert main(["slice", str(copy), "-w", str(copy)]) == 2
    assert "this is the input itself" in capsys.readouterr().err
    assert main(["slice", str(copy)]) == 2
    assert "slice takes FILE and -w OUT" in capsys.readouterr().err
    assert copy.read_bytes() == Path(CAPTURE).read_bytes()


FIELDS = ["decode", CAPTURE, "--where", "error_code", "--fields", "frame,api,client_id,error_code"]


def test_fields_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    tsv = [line.split("\t") for line in out(capsys, *FIELDS).splitlines()]
    assert tsv[0] == ["frame", "api", "client_id", "error_code"]
    assert len(tsv) == 7
    assert list(csv.reader(out(capsys, *FIELDS, "--format", "csv").splitlines())) == tsv
    assert [line.split() for line in out(capsys, *FIELDS, "--format", "table").splitlines()] == tsv
    rows = [json.loads(line) for line in out(capsys, *FIELDS, "--format", "jsonl").splitlines()]
    assert [",".join(map(str, row["error_code"])) for row in rows] == [row[3] for row in tsv[1:]]


def test_count_and_first(capsys: pytest.CaptureFixture[str]) -> None:
    every = int(out(capsys, "decode", CAPTURE, "--count"))
    assert every == len(list(kwire.read_dump(CAPTURE)))
    assert int(out(capsys, "decode", CAPTURE, "--count", "--where", "error_code")) == 6
    assert len(out(capsys, "decode", CAPTURE, "--jsonl", "--first", "3").splitlines()) == 3
    assert main(["decode", CAPTURE, "--first", "0"]) == 2
    assert "1 or more" in capsys.readouterr().err


def test_a_mistake_is_shown_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", CAPTURE, "--where", "api == nonsense"]) == 2
    assert capsys.readouterr().err.splitlines()[-2:] == ["  api == nonsense", "         ^"]
