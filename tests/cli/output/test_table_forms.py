"""--json and --csv of commands that print tables: the same rows as their text."""

from __future__ import annotations

import csv
import io
import json

import pytest

from kwire.cli.main import main
from tests.cli.test_commands import out
from tests.conftest import ROOT

DUMP = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("words", [["apis"], ["apis", "--release", "2.8"], ["apis", "fetch"], ["errors", "leader"]])
def test_both_forms_have_the_same_rows(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    objects, rows = json.loads(out(capsys, *words, "--json")), csv_rows(out(capsys, *words, "--csv"))
    texts = [{name: plain_text(value) for name, value in members.items()} for members in objects]
    assert texts == rows
    assert rows


def plain_text(value: object) -> str:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, bool) else str(value)


def test_rows_of_apis_are_those_of_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    objects = json.loads(out(capsys, "apis", "--json"))
    lines = out(capsys, "apis").splitlines()[1:]
    assert [line.split() for line in lines] == [
        [str(value) for value in members.values() if value is not None] for members in objects
    ]


def test_an_error_code_says_whether_it_is_retriable(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = json.loads(out(capsys, "errors", "56", "--json"))
    about = code.pop("about")
    assert code == {"code": 56, "name": "KAFKA_STORAGE_ERROR", "retriable": True, "since": "1.0.2"}
    assert about.startswith("A disk")


@pytest.mark.parametrize(
    ("options", "member"),
    [("", "rows"), ("--by client,api --errors", "rows"), ("--latency", "latencies"), ("--slow 5", "slowest")],
)
def test_csv_of_stats_has_the_rows_of_its_json(options: str, member: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = csv_rows(out(capsys, "stats", *options.split(), "--csv", DUMP))
    objects = json.loads(out(capsys, "stats", *options.split(), "--json", DUMP))[member]
    assert len(rows) == len(objects) > 2
    for row, members in zip(rows, objects, strict=True):
        for name, value in members.items():
            if name == "latencySeconds" and member == "latencies":
                assert {key: float(row[f"{name}/{key}"]) for key in value} == value
            elif isinstance(value, dict):
                assert json.loads(row[name]) == value
            else:
                assert row[name] == str(value)


def test_csv_of_unanswered_requests_has_names_even_without_rows(capsys: pytest.CaptureFixture[str]) -> None:
    names = "file,frame,time,secondsBeforeEnd,client,ip,api,version,reason\n"
    assert out(capsys, "stats", "--unanswered", "--csv", DUMP) == names


@pytest.mark.parametrize("options", ["--latency --slow 3", "--removed-in 4.0", "--json"])
def test_csv_is_one_table(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", DUMP, "--csv", *options.split()]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "--csv" in shown.err
