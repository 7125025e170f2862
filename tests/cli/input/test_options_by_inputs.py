"""The table of options by inputs: each cell works, or is refused in one line; none is ignored.

An option is tested with a value that excludes everything, so that an ignored option shows all items.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kwire.cli.main import main
from tests.capture.request_logs.test_request_log import LOG4J
from tests.conftest import ROOT

RAW = ROOT / "fixtures/dumps/kafka-3.9-zk.bin"
LOGS = ROOT / "fixtures/logs"


def write(name: str, make: Callable[[], bytes]) -> Callable[[Path], Path]:
    """Return a function that writes a file into a folder."""

    def write_into(folder: Path) -> Path:
        (folder / name).write_bytes(make())
        return folder / name

    return write_into


def json_lines() -> bytes:
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        assert main(["decode", "--jsonl", str(RAW)]) == 0
        return sys.stdout.getvalue().encode()
    finally:
        sys.stdout = out


INPUTS: dict[str, Callable[[Path], Path]] = {
    "capture": lambda folder: ROOT / "fixtures/dumps/kafka-3.9-zk.pcap",
    "raw frames": lambda folder: RAW,
    "hex": write("frames.hex", lambda: RAW.read_bytes()[:2000].hex().encode()),
    "JSON lines": write("frames.jsonl", json_lines),
    "request log": write("request.log", lambda: f"{LOG4J}\n".encode() * 3),
    "log segment": lambda folder: LOGS / "__consumer_offsets-1/00000000000000000000.log",
    "snapshot": lambda folder: LOGS / "__cluster_metadata-0/00000000000000000179-0000000001.checkpoint",
    "checkpoint": lambda folder: LOGS / "broker-disk/tide-0/leader-epoch-checkpoint",
}
EXCLUDING: dict[str, list[str]] = {
    "--where, size": ["--where", "size < 0"],
    "--where, property of frames": ["--where", "latency > 1h"],
    "--where, property of records": ["--where", "offset < -5"],
    "--where, field": ["--where", 'client_software_name == "absent"'],
    "--where, topic": ["--where", 'topic == "absent"'],
    "--where, type": ["--where", "type == token"],
    "--api": ["--api", "WriteTxnMarkers"],
    "--client": ["--client", "absent"],
    "--conn": ["--conn", "203.0.113.9:1"],
    "--errors": ["--errors", "--where", "undecodable contains 'ABSENT'"],
    "--from": ["--from", "2999-01-01T00:00:00"],
    "--to": ["--to", "1971-01-01T00:00:00"],
}
FORMS: dict[str, list[str]] = {
    "lines": ["--no-pager"],
    "trees": ["-v", "--no-pager"],
    "JSON lines": ["--jsonl"],
    "count": ["--count"],
    "fields": ["--fields", "size", "--format", "jsonl"],
    "sort": ["--sort", "size", "--no-pager"],
}
REFUSED = 2


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["decode", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def check_nothing_is_shown(code: int, out: str, err: str, form: str) -> None:
    """Check that a query that excludes everything showed nothing, or was refused in one line."""
    if code == REFUSED:
        errors = [line for line in err.splitlines() if line.startswith("kwire: error:")]
        assert len(errors) == 1
        assert out in ("", "0\n")
        return
    assert code == 0
    assert out == ("0\n" if form == "count" else "")


CELLS = [*((option, "count") for option in EXCLUDING), *(("--where, size", form) for form in FORMS)]


@pytest.mark.parametrize(("option", "form"), CELLS)
@pytest.mark.parametrize("kind", INPUTS)
def test_no_cell_ignores_an_option(
    kind: str, option: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = INPUTS[kind](tmp_path)
    capsys.readouterr()
    code, out, err = run(capsys, str(path), *EXCLUDING[option], *FORMS[form])
    check_nothing_is_shown(code, out, err, form)


@pytest.mark.parametrize("option", EXCLUDING)
@pytest.mark.parametrize("kind", INPUTS)
def test_options_with_several_files_and_standard_input(
    kind: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = INPUTS[kind](tmp_path)
    capsys.readouterr()
    check_nothing_is_shown(*run(capsys, str(path), str(path), *EXCLUDING[option], "--count"), "count")
    with path.open("rb") as stream:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
        check_nothing_is_shown(*run(capsys, "-", *EXCLUDING[option], "--count"), "count")


@pytest.mark.parametrize("kind", INPUTS)
def test_the_number_of_items_is_what_every_form_shows(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(INPUTS[kind](tmp_path))
    capsys.readouterr()
    count = int(run(capsys, path, "--count")[1])
    assert count > 0
    assert int(run(capsys, path, "--count", "--where", "not (size < 0)")[1]) == count
    fields = run(capsys, path, "--fields", "type", "--format", "jsonl")[1].splitlines()
    assert len(fields) >= count
    assert len(run(capsys, path, "--fields", "type", "--format", "jsonl", "--first", "1")[1].splitlines()) == 1
    assert int(run(capsys, path, path, "--count")[1]) == 2 * count
