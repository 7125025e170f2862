"""`--jobs` changes nothing but the number of processes: the same output, in the same order, byte for byte."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.arrow.ranges import range_tasks
from kwire.cli.main import main
from kwire.cli.output import range_jobs
from kwire.runtime.worker_pool import PoolResult, PoolTask, WorkerPool
from tests.capture.building import Conversation, capture
from tests.capture.damaged_packets import damaged_capture
from tests.conftest import ROOT, SHARED, each_of
from tests.seeds import TRIES, named, seeded

M: Any = kwire.messages
PCAP = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
CAPTURES = sorted((SHARED / "captures").glob("*.pcap*"))


class PoolHere(WorkerPool):
    """Runs the tasks in this process, each as a worker gets it."""

    def run(self, tasks: Iterable[PoolTask]) -> Iterator[PoolResult]:
        for number, task in enumerate(tasks):
            path = Path(self._folder.name, str(number))
            function, arguments = pickle.loads(pickle.dumps(task))
            with path.open("wb") as file:
                value = function(*arguments, file)
            yield PoolResult(pickle.loads(pickle.dumps(value)), path)


@pytest.fixture(autouse=True)
def _small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (range_jobs, range_tasks):
        monkeypatch.setattr(module, "LEAST_RANGE", 8_000)
    monkeypatch.setattr(range_jobs, "WorkerPool", PoolHere)
    monkeypatch.setattr("kwire.runtime.worker_pool.WorkerPool", PoolHere)


def outcome(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main([*words])
    return code, *capsys.readouterr()


def check(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Compare a command with one and with three processes; return its output."""
    alone = outcome(capsys, *words)
    assert outcome(capsys, *words, "--jobs", "3") == alone
    return alone[1]


@each_of("path", CAPTURES, most=4, ids=[path.name for path in CAPTURES])
def test_lines_and_reports_of_captures(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(capsys, "decode", str(path), "--jsonl").endswith("}\n")
    assert "<html" in check(capsys, "report", str(path))


@pytest.mark.parametrize(
    "words",
    [
        ("--api", "Metadata"),
        ("--client", "*"),
        ("--errors",),
        ("--from", "20", "--to", "60"),
        ("--from", "+0.5s"),
        ("--conn", "127.0.0.1"),
        ("--strict",),
        ("--show-secrets",),
    ],
)
def test_filters_and_several_files(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    files = str(PCAP), str(ROOT / "fixtures/dumps/kafka-3.9-zk.bin"), str(PCAP)
    check(capsys, "decode", *files, "--jsonl", *words)


def test_names_of_topic_ids_from_other_ranges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that the last range contains stands in lines of the first, and the other way round."""
    early, late, never = (bytes([number]) * 16 for number in (1, 2, 3))
    exchanges: list[tuple[Any, Any, int]] = []
    for topic_id, name in ((early, "early"), (late, "late")):
        topic = M.MetadataResponse.MetadataResponseTopic(topic_id=topic_id, name=name)
        exchanges.append((M.MetadataRequest(topics=None), M.MetadataResponse(topics=[topic]), 12))
        fetch = M.FetchRequest(topics=[M.FetchRequest.FetchTopic(topic_id=one) for one in (early, late, never)])
        exchanges[1:1] = [(fetch, M.FetchResponse(), 13)] * 150
    conversation = Conversation().open()
    for number, (request, response, version) in enumerate(exchanges):
        conversation.say(0, kwire.encode_request(request, version, correlation_id=number, client_id="me"))
        conversation.say(1, kwire.encode_response(response, version, correlation_id=number))
    path = tmp_path / "ids.pcap"
    path.write_bytes(capture(conversation.close().segments))
    lines = check(capsys, "decode", str(path), "--jsonl").splitlines()
    named = {"topics": {"AQEBAQEBAQEBAQEBAQEBAQ": "early", "AgICAgICAgICAgICAgICAg": "late"}}
    assert [json.loads(line)["names"] for line in lines if '"type":"request"' in line and "Fetch" in line] == [
        named
    ] * 300


def test_lossy_captures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = seeded("jobs")
    for number in range(TRIES):
        path = tmp_path / "lossy.pcap"
        path.write_bytes(damaged_capture(PCAP.read_bytes(), rng))
        with named(number):
            check(capsys, "decode", str(path), "--jsonl")
            check(capsys, "report", str(path))


def test_parquet_has_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for jobs in ("1", "3"):
        assert outcome(capsys, "decode", str(PCAP), "--parquet", str(tmp_path / jobs), "--jobs", jobs)[0] == 0
        files.append((tmp_path / jobs / "frames.parquet").read_bytes())
    assert files[0] == files[1]


@pytest.mark.ci  # starts three processes
def test_processes_give_the_same_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(range_jobs, "WorkerPool", WorkerPool)
    check(capsys, "decode", str(PCAP), "--jsonl")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--jobs", "0", "--jsonl"), "0: write a number of processes, 1 to 256"),
        (("--jobs", "2"), "--jobs 2 is for --jsonl and --parquet: other forms are written by one process"),
        (
            ("--jobs", "2", "--jsonl", "--where", "api == Fetch"),
            "--jobs 2 cannot be combined with --where, which one process must read",
        ),
        (("--jobs", "2", "--jsonl", "--first", "3"), "--jobs 2 cannot be combined with --first"),
    ],
)
def test_what_does_not_apply_is_refused(
    words: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = outcome(capsys, "decode", str(PCAP), *words)
    assert code == 2
    assert problem in err


def test_a_mistake_in_a_capture_is_said_as_by_one_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path: Any = tmp_path / "other.pcap"
    path.write_bytes(PCAP.read_bytes()[:20] + b"\xaa\0\0\0" + PCAP.read_bytes()[24:])
    assert check(capsys, "decode", str(path), "--jsonl") == ""
