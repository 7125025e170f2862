"""Random filters choose what a plain evaluation of `--jsonl` chooses: by the engine, frame by frame, and in Python."""

from __future__ import annotations

import json
import operator
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.cli.main import main
from tests.capture.captured import CAPTURES
from tests.conftest import ROOT, each_of, needs_shared
from tests.seeds import seeded

Frame = dict[str, Any]
FRAME = re.compile(r'^{"kwire":1,"type":"[a-z]+","source":{"file":"[^"]*","frame":(\d+)', re.MULTILINE)
Test = tuple[str, Callable[[Frame], bool]]  # the text of a filter, and the same in Python
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
HEADER = {"api_key": "apiKey", "version": "apiVersion", "correlation_id": "correlationId"}
SOURCE = {"latency": "latencySeconds", "frame": "frame", "connection": "connection", "request_frame": "requestFrame"}
NUMBERS = [
    "error_code", "leader_id", "throttle_time_ms", "partition_index", "node_id", "port", "generation_id", "session_id",
    "max_wait_ms", "committed_offset", "timeout_ms", "acks", "isr_nodes", "partitions.leader_epoch",
    "current_leader.leader_id", "log_start_offset", "member_epoch", "brokers[].port", "replica_id",
]  # fmt: skip
TEXTS = ["member_id", "topics.name", "name", "host", "protocol_name", "rack", "group_id", "error_message"]


def property_of(name: str) -> Callable[[Frame], list[Any]]:
    """Return a function that reads a property from the JSON of a frame."""
    part, key = ("header", HEADER[name]) if name in HEADER else ("source", SOURCE[name])
    return lambda frame: [frame[part][key]] if key in frame.get(part, {}) else []


def field_of(path: str) -> Callable[[Frame], list[Any]]:
    """Return a function that reads the fields with a path, at any depth of the JSON of a message."""
    names = tuple(word.removesuffix("[]") for word in path.lstrip(".").split("."))

    def read(frame: Frame) -> list[Any]:
        inside = read(frame["inside"]) if isinstance(frame.get("inside"), dict) else []
        if frame["type"] not in ("request", "response"):
            return inside
        found = [value for trail, value in frame["leaves"].get(names[-1], ()) if trail[-len(names) :] == names]
        return found + inside

    return read


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def leaves(value: Any, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield all values of a JSON object with the names above them; arrays add no name, and markers (`_hidden`) none."""
    if isinstance(value, list):
        for element in value:
            yield from leaves(element, above)
        return
    if above:
        yield above, value
    for key, member in value.items() if isinstance(value, dict) else ():
        if not key.startswith("_"):
            yield from leaves(member, (*above, snake(key)))


def index_leaves(frame: Frame) -> Frame:
    """Return a frame with the values of its message by their last name."""
    frame["leaves"] = {}
    for trail, value in leaves(frame.get("payload"), ()):
        frame["leaves"].setdefault(trail[-1], []).append((trail, value))
    if isinstance(frame.get("inside"), dict):
        index_leaves(frame["inside"])
    return frame


def compare(sign: str, value: Any, wanted: Any) -> bool:
    if isinstance(value, str) != isinstance(wanted, str) or isinstance(value, dict | list | bool | None):
        return sign == "!="
    return SIGNS[sign](value, wanted)


def draw_numbers(draw: random.Random, frames: list[Frame]) -> list[str]:
    """Return paths of fields with numbers that frames have; the dot tells them from properties."""
    names = {
        name
        for frame in draw.sample(frames, min(40, len(frames)))
        for name, found in frame["leaves"].items()
        if all(type(value) is int for _, value in found)
    }
    return [f".{name}" for name in sorted(names)] or NUMBERS


def draw_test(draw: random.Random, frames: list[Frame]) -> Test:
    """Draw a comparison, often with a value that a frame has."""
    kinds = ["number", "any", "any", "in", "text", "property", "property", "api", "type", "exists", "truth", "client"]
    kind = draw.choice(kinds)
    if kind == "api":
        api = draw.choice(["Fetch", "Metadata", "Produce", "ApiVersions", "JoinGroup", "OffsetCommit", "Heartbeat"])
        return f"api == {api}", lambda frame: frame.get("header", {}).get("apiName") == api
    if kind == "type":
        name = draw.choice(["request", "response", "incomplete", "undecodable"])
        return f"type == {name}", lambda frame: frame["type"] == name
    if kind == "client":
        part = draw.choice(["lab", "kafka", "consumer", "-", "x"])
        whole = "type in (request, response)"  # other frames have the last client of their connection
        return (
            f'(client_id contains "{part}" and {whole})',
            lambda frame: (
                frame["type"] in ("request", "response") and part in (frame.get("header", {}).get("clientId") or "")
            ),
        )
    if kind in ("exists", "truth"):
        path = draw.choice(NUMBERS + TEXTS)
        read = field_of(path)
        if kind == "truth":
            return path, lambda frame: any(map(bool, read(frame)))
        return f"exists({path})", lambda frame: bool(read(frame))
    numbers = draw_numbers(draw, frames) if kind in ("any", "in") else NUMBERS
    path = draw.choice({"text": TEXTS, "property": [*HEADER, *SOURCE]}.get(kind, numbers))
    read = property_of(path) if kind == "property" else field_of(path)
    known = [value for frame in draw.sample(frames, min(80, len(frames))) for value in read(frame)]
    known = [value for value in known if isinstance(value, int | float | str) and not isinstance(value, bool)]
    wanted = draw.choice(known) if known and draw.random() < 0.8 else ("x" if kind == "text" else draw.randint(-1, 90))
    if kind == "in" and known:
        several = [value for value in known if not isinstance(value, str)][:3] or [0]
        listed = ", ".join(map(str, several))
        return f"{path} in ({listed})", lambda frame: any(value in several for value in read(frame))
    sign = draw.choice([*SIGNS, "==", "=="])
    text = json.dumps(wanted) if isinstance(wanted, str) else f"{wanted:.9f}" if isinstance(wanted, float) else wanted
    if isinstance(wanted, float):
        wanted = float(str(text))
    return f"{path} {sign} {text}", lambda frame: any(compare(sign, value, wanted) for value in read(frame))


def draw_filter(draw: random.Random, frames: list[Frame], depth: int = 2) -> Test:
    """Draw a filter: comparisons joined by and, or, not."""
    form = draw.random()
    if not depth or form < 0.4:
        return draw_test(draw, frames)
    (one, first), (other, second) = (draw_filter(draw, frames, depth - 1) for _ in range(2))
    if form < 0.55:
        return f"not ({one})", lambda frame: not first(frame)
    if form < 0.8:
        return f"({one}) and ({other})", lambda frame: first(frame) and second(frame)
    return f"({one}) or ({other})", lambda frame: first(frame) or second(frame)


def check(path: Path, count: int, capsys: pytest.CaptureFixture[str], draw: random.Random) -> None:
    assert main(["decode", "--jsonl", str(path)]) in (0, 1)
    frames = [index_leaves(json.loads(line)) for line in capsys.readouterr().out.splitlines()]
    results = decoded(str(path))
    for _ in range(count):
        text, holds = draw_filter(draw, frames)
        expected = [frame["source"]["frame"] for frame in frames if holds(frame)]
        assert main(["decode", str(path), "--jsonl", "--where", text]) in (0, 1)
        assert [int(number) for number in FRAME.findall(capsys.readouterr().out)] == expected, text
        wanted = kwire.parse_filter(text)
        assert [result.frame.source.frame for result in results if wanted(result)] == expected, text


@cache
def decoded(path: str) -> list[Any]:
    return list(kwire.decode_frames(kwire.read_dump(path)))


def test_filters_of_a_fixture(capsys: pytest.CaptureFixture[str]) -> None:
    check(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap", 12, capsys, seeded("filters"))


@needs_shared
@pytest.mark.ci
@each_of("path", sorted(CAPTURES.glob("*.pcap")), most=4, ids=lambda path: path.stem)
def test_filters_of_brokers_captures(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(path, 10, capsys, seeded(f"filters {path.stem}"))
