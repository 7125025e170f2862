"""Several captures are merged by time; frames keep the numbers of their files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kwire.capture.open_capture import open_packets
from kwire.cli.input.dumps import NamedInput
from kwire.cli.input.merged_inputs import BegunInput, TimedBatches, group_inputs, merge_by_time
from tests.capture.building import Conversation, capture
from tests.capture.request_logs.test_request_log import LINE, LOG4J
from tests.cli.input.test_non_kafka_streams import run_command
from tests.conftest import ROOT

PCAP = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
START = 1_700_000_000_000_000_000


@pytest.fixture
def halves(tmp_path: Path) -> tuple[str, str]:
    """The connections of a real capture, divided into two captures: their frames interleave."""
    data = PCAP.read_bytes()
    parts, connections, at = [bytearray(data[:24]), bytearray(data[:24])], dict[bytes, int](), 24
    with open_packets(PCAP) as packets:
        for packet in packets:
            size = 16 + len(packet.data)
            ip = packet.data[14:] if packet.link == 1 else packet.data
            ports = ip[20:24] if ip[20:22] < ip[22:24] else ip[22:24] + ip[20:22]
            number = connections.setdefault(ports, len(connections))
            parts[number % 2] += data[at : at + size]
            at += size
    assert len(connections) > 5
    for name, part in zip("ba", parts, strict=True):
        (tmp_path / f"{name}.pcap").write_bytes(part)
    return str(tmp_path / "a.pcap"), str(tmp_path / "b.pcap")


def frames_in(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run_command(capsys, "decode", "--jsonl", *arguments)[1].splitlines()]


def in_time(*files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted((frame for file in files for frame in file), key=lambda frame: float(frame["source"]["time"]))


@pytest.mark.parametrize(
    "more", [(), ("--where", "api != Fetch"), ("--api", "Metadata"), ("--response-frames",), ("--client", "lab*")]
)
def test_json_lines_are_those_of_both_files_by_time(
    more: tuple[str, ...], halves: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = (frames_in(capsys, file, *more) for file in halves)
    merged = frames_in(capsys, *halves, *more)
    assert merged == in_time(one, other)
    files = [frame["source"]["file"] for frame in merged]
    assert sum(first != second for first, second in pairwise(files)) > 2  # they interleave
    assert frames_in(capsys, *reversed(halves), *more) == merged


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl", "table"])
def test_fields_are_in_the_same_order(form: str, halves: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    frames = frames_in(capsys, *halves)
    expected = [(frame["source"]["file"], frame["source"]["frame"]) for frame in frames]
    _, text, _ = run_command(capsys, "decode", *halves, "--fields", "file,frame", "--format", form)
    lines = text.splitlines()[form != "jsonl" :]
    if form == "jsonl":
        rows = [tuple(json.loads(line).values()) for line in lines]
    else:
        cells = [line.split("," if form == "csv" else None) for line in lines]
        rows = [(file, int(number)) for file, number in cells]
    assert rows == expected


def test_lines_begin_with_their_file(halves: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    frames = frames_in(capsys, *halves)
    expected = [[Path(frame["source"]["file"]).name, str(frame["source"]["frame"])] for frame in frames]
    _, text, _ = run_command(capsys, "decode", *halves)
    assert [line.split()[:2] for line in text.splitlines() if not line.startswith("#")] == expected
    _, text, _ = run_command(capsys, "decode", *halves, "-v", "--no-pager")
    titles = [line.split() for line in text.splitlines() if line and not line.startswith(" ")]
    assert [[title[0], title[title.index("frame") + 1]] for title in titles] == expected
    _, text, _ = run_command(capsys, "decode", halves[0])
    assert text.splitlines()[1].split()[0] == "0"  # one file needs no name


def test_files_of_one_name_are_told_apart(
    tmp_path: Path, halves: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    other = Path(halves[1]).rename(tmp_path / "other/a.pcap")
    _, text, _ = run_command(capsys, "decode", halves[0], str(other))
    assert {line.split()[0] for line in text.splitlines()[1:]} == {f"{tmp_path.name}/a.pcap", "other/a.pcap"}


def test_the_first_frames_are_the_first_of_all(halves: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    frames = frames_in(capsys, *halves)
    assert frames_in(capsys, *halves, "--first", "20") == frames[:20]
    assert run_command(capsys, "decode", *halves, "--count")[1] == f"{len(frames)}\n"
    assert json.loads(run_command(capsys, "decode", *halves, "--json")[1]) == frames


def test_inputs_without_packets_stay_where_they_are(
    tmp_path: Path, halves: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    raw = tmp_path / "raw.bin"
    raw.write_bytes(bytes.fromhex("0000000a 0003 0001 00000007 0000"))
    files = [frame["source"]["file"] for frame in frames_in(capsys, halves[1], str(raw), halves[0])]
    assert files.index(str(raw)) == files.count(halves[1])  # which is not merged across it
    assert files[-1] == halves[0]
    together = [frame["source"]["file"] for frame in frames_in(capsys, str(raw), *halves)]
    assert together[0] == str(raw)


def test_a_capture_is_open_only_while_it_has_frames(tmp_path: Path) -> None:
    events: list[str] = []

    def named(number: int, *times: int) -> NamedInput:
        def open_it() -> Iterator[Any]:
            events.append(f"open {number}")
            yield SimpleNamespace(number=number, times=times)
            events.append(f"close {number}")

        return NamedInput(str(number), True, open_it)

    def batches_of(dump: Any) -> TimedBatches[int]:
        return TimedBatches(iter([list(dump.times[:2]), [], list(dump.times[2:])]), lambda time: time, iter)

    group = [BegunInput(1, named(1, 2, 4, 6)), BegunInput(3, named(2, 3, 5)), BegunInput(7, named(3, 7))]
    group.append(BegunInput(8, named(4)))
    assert list(merge_by_time(group, batches_of)) == [2, 3, 4, 5, 6, 7]
    assert events == [
        *("open 1", "open 2", "close 2", "close 1"),
        *("open 3", "close 3", "open 4", "close 4"),
    ]


def test_items_without_a_time_stay_behind_the_one_before() -> None:
    def read(items: list[int | None], step: int) -> list[tuple[float, int | None]]:
        batches = TimedBatches(iter([items]), lambda item: item, lambda part: ((step, item) for item in part))
        return [*batches.take(2), *batches.take(9)]

    assert read([1, None, 3, None], 0) == [(0, 1), (0, None), (0, 3), (0, None)]


def test_groups_are_captures_in_order_of_their_first_packets(tmp_path: Path) -> None:
    inputs = []
    for name, start in (("c", 30), ("a", 10), ("raw", 0), ("b", 20)):
        path = tmp_path / name
        conversation = Conversation(now=START + start).open().ask(1).close()
        path.write_bytes(capture(conversation.segments) if start else b"\0")
        inputs.append(NamedInput(str(path), True, lambda: iter(())))
    inputs.append(NamedInput("-", True, lambda: iter(())))
    groups = [[Path(begun.named.file).name for begun in group] for group in group_inputs(inputs)]
    assert groups == [["a", "c"], ["raw"], ["b"], ["-"]]


def test_a_timeline_of_both_is_that_of_the_whole(halves: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    def events(*files: str) -> list[tuple[str, str, float]]:
        found = json.loads(run_command(capsys, "timeline", "--json", *files)[1])["events"]
        kept = [event for event in found if event["kind"] not in ("connection", "retry")]  # retries name frames
        return [(event["kind"], event["text"], event["time"]) for event in kept]

    whole = events(str(PCAP))
    assert events(*reversed(halves)) == whole
    assert len(whole) > 30


def test_request_logs_of_several_brokers_are_merged_by_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rotated and compressed ones, too. They were read one after the other."""
    moments = {"broker-1.log": (2, 5, 9), "broker-2.log": (1, 4, 6), "broker-3.log.gz": (3, 7, 8)}
    for name, seconds in moments.items():
        lines = [LOG4J.replace("10:00:00", f"10:00:{second:02}").replace("70000", str(second)) for second in seconds]
        data = "\n".join(lines).encode() + b"\n"
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    files = [str(tmp_path / name) for name in moments]
    merged = frames_in(capsys, *files)
    assert [frame["header"]["correlationId"] for frame in merged] == [id for id in range(1, 10) for _ in "qr"]
    assert merged == in_time(*(frames_in(capsys, file) for file in files))
    _, text, _ = run_command(capsys, "decode", *files)
    assert [line.split()[0] for line in text.splitlines() if "Metadata" in line][:4:2] == [
        "broker-2.log",
        "broker-1.log",
    ]


def test_a_log_without_times_stays_where_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    timed, bare = tmp_path / "timed.log", tmp_path / "bare.log"
    timed.write_text(LOG4J.replace("70000", "1") + "\n")
    bare.write_text(LINE.replace("70000", "2") + "\n")
    for files, ids in (((bare, timed), [2, 2, 1, 1]), ((timed, bare), [1, 1, 2, 2])):
        merged = frames_in(capsys, *map(str, files))
        assert [frame["header"]["correlationId"] for frame in merged] == ids


def test_remote_captures_are_merged_by_time(halves: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    fsspec = pytest.importorskip("fsspec")
    files = [f"memory://{Path(half).name}" for half in halves]
    for file, half in zip(files, halves, strict=True):
        with fsspec.open(file, "wb") as stream:
            stream.write(Path(half).read_bytes())
    one, other = (frames_in(capsys, file) for file in files)
    assert frames_in(capsys, *files) == in_time(one, other)
    assert [frame["source"]["file"] for frame in in_time(one, other)] != [files[0]] * len(one) + [files[1]] * len(other)
