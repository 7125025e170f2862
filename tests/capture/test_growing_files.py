"""Files are read as they grow, and the captures of a folder as one."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from kwire.capture.growing_files import read_growing
from kwire.capture.open_dump import open_dump
from kwire.errors import DumpError
from tests.capture.building import ethernet, pcap
from tests.cli.input.test_non_kafka_streams import run_command
from tests.cli.test_commands import out
from tests.cli.test_main import ran
from tests.conftest import ROOT

CAPTURE = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
Step = Callable[[], object]


def pieces_of(capture: bytes, count: int) -> list[bytes]:
    """Cut a pcap between its packets."""
    ends, at = [24], 24
    while at < len(capture):
        at += 16 + int.from_bytes(capture[at + 8 : at + 12], "little")
        ends.append(at)
    cuts = [ends[len(ends) * number // count] for number in range(count)] + [len(capture)]
    cuts[0] = 24
    return [capture[start:stop] for start, stop in pairwise(cuts)]


def read(path: Path, steps: list[Step]) -> bytes:
    """Read what is followed; whenever there is nothing new, the next step is made, and after the last one it ends."""
    left = iter(steps)
    ended: list[bool] = []

    def wait() -> None:
        step = next(left, None)
        if step is None:
            ended.append(True)
        else:
            step()

    return b"".join(read_growing(path, lambda: bool(ended), wait))


def appended(path: Path, data: bytes) -> Step:
    def step() -> None:
        with path.open("ab") as stream:
            stream.write(data)
        appended_at[0] += 1_000_000_000
        os.utime(path, ns=(appended_at[0], appended_at[0]))

    return step


appended_at = [1_700_000_000_000_000_000]  # the clock of these tests: times of modification


def test_a_file_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "some.pcap"
    path.write_bytes(b"ab")
    assert read(path, [appended(path, b"cd"), lambda: None, appended(path, b"e")]) == b"abcde"


@pytest.mark.parametrize("names", [["c9", "c10", "c11"], ["z", "a", "m"]])
def test_captures_of_a_folder_are_one(names: list[str], tmp_path: Path) -> None:
    whole = CAPTURE.read_bytes()
    steps: list[Step] = [appended(tmp_path / "notes.txt", b"x" * 100), appended(tmp_path / ".hidden", whole)]
    for name, piece in zip(names, pieces_of(whole, 3), strict=True):
        steps.append(appended(tmp_path / name, whole[:24]))
        steps += [appended(tmp_path / name, part) for part in (piece[:7], piece[7:5000], piece[5000:])]
    assert read(tmp_path, steps) == whole


def test_what_is_written_before_the_next_file_begins_is_not_lost(tmp_path: Path) -> None:
    whole = CAPTURE.read_bytes()
    first, second = pieces_of(whole, 2)
    steps = [appended(tmp_path / "1", whole[:24] + first[:999])]

    def both() -> None:
        appended(tmp_path / "1", first[999:])()
        appended(tmp_path / "2", whole[:24] + second)()

    assert read(tmp_path, [*steps, both]) == whole


def test_files_that_are_there_are_read_first_in_the_order_of_their_times(tmp_path: Path) -> None:
    whole = CAPTURE.read_bytes()
    for name, piece in zip("bca", pieces_of(whole, 3), strict=True):
        appended(tmp_path / name, whole[:24] + piece)()
    assert read(tmp_path, []) == whole


def test_a_ring_of_files_is_written_anew(tmp_path: Path) -> None:
    """As tcpdump -C 1 -W 2 does; files that are renamed are not read again."""
    whole = CAPTURE.read_bytes()
    one, two, three = pieces_of(whole, 3)

    def again() -> None:
        (tmp_path / "0").write_bytes(whole[:24])
        appended(tmp_path / "0", three[:100])()

    steps = [appended(tmp_path / "0", whole[:24] + one), appended(tmp_path / "1", whole[:24] + two), again]
    steps += [lambda: (tmp_path / "1").rename(tmp_path / "1.pcap"), appended(tmp_path / "0", three[100:])]
    assert read(tmp_path, steps) == whole


def test_captures_of_other_links_are_refused(tmp_path: Path) -> None:
    appended(tmp_path / "1", pcap([(0, ethernet(b""))]))()
    appended(tmp_path / "2", pcap([(0, ethernet(b""))], link=101))()
    with pytest.raises(DumpError, match="different formats or link types"):
        read(tmp_path, [])


def test_a_file_that_becomes_shorter_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "some.pcap"
    path.write_bytes(b"abcd")
    with pytest.raises(DumpError, match="became shorter"):
        read(path, [lambda: path.write_bytes(b"a")])


def test_what_is_on_disk_when_the_end_is_signalled_is_read(tmp_path: Path) -> None:
    path = tmp_path / "some"
    path.write_bytes(b"abc")
    assert list(read_growing(path, lambda: True)) == [b"abc"]


def test_captures_that_are_there_when_the_end_is_signalled_are_read(tmp_path: Path) -> None:
    """The end comes inside the first file, when two others are there; a fourth one comes too late."""
    whole = CAPTURE.read_bytes()
    names, pieces = ["1", "2", "3"], pieces_of(whole, 3)
    appended(tmp_path / "1", whole[:24] + pieces[0][:100])()
    ended: list[bool] = []

    def end() -> None:
        appended(tmp_path / "1", pieces[0][100:])()
        for name, piece in zip(names[1:], pieces[1:], strict=True):
            appended(tmp_path / name, whole[:24] + piece)()
        ended.append(True)

    reading = read_growing(tmp_path, lambda: bool(ended), end)
    portions = [next(reading), next(reading), next(reading)]
    appended(tmp_path / "4", whole)()
    assert b"".join([*portions, *reading]) == whole


def test_what_is_written_after_the_end_was_signalled_is_not_waited_for(tmp_path: Path) -> None:
    """A writer that is faster than the reader does not keep it for ever."""
    path = tmp_path / "some"
    path.write_bytes(b"abc")
    read_on = 0
    for portion in read_growing(path, lambda: True):
        read_on += len(portion)
        appended(path, portion)()
    assert read_on == 3


def test_a_capture_that_is_removed_before_it_is_opened_is_left_out(tmp_path: Path) -> None:
    whole = CAPTURE.read_bytes()
    first, second = pieces_of(whole, 2)
    appended(tmp_path / "1", whole[:24] + first)()
    appended(tmp_path / "2", whole)()
    appended(tmp_path / "3", whole[:24] + second)()
    reading = read_growing(tmp_path, lambda: True)
    portions = [next(reading)]
    (tmp_path / "2").unlink()
    assert b"".join([*portions, *reading]) == whole


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_dump_that_is_followed_has_all_frames_that_were_written_before_the_end(
    is_folder: bool, tmp_path: Path
) -> None:
    """As a program does: it writes, tells the reader to stop, and counts what was read."""
    path = tmp_path / "some.pcap"
    whole = CAPTURE.read_bytes()
    path.write_bytes(whole[:5000])
    stopped: list[bool] = []
    with open_dump(tmp_path if is_folder else path, followed=lambda: bool(stopped)) as dump:
        frames = [next(dump.frames)]
        appended(path, whole[5000:])()
        stopped.append(True)
        frames += dump.frames
    assert len(frames) == 114
    assert all(frame.fault is None for frame in frames)


@pytest.fixture
def signals() -> Iterator[None]:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    yield
    for one, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
        signal.signal(one, handler)


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("options", [[], ["--jsonl"], ["-v"], ["--api", "Metadata"], ["--where", "latency > 0.1"]])
def test_kwire_decode_follows_a_folder_until_it_is_interrupted(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = CAPTURE.read_bytes()
    steps = [appended(tmp_path / str(number), whole[:24] + piece) for number, piece in enumerate(pieces_of(whole, 4))]

    def wait(seconds: float) -> None:
        if steps:
            steps.pop(0)()
        else:
            os.kill(os.getpid(), signal.SIGINT)

    with io.TextIOWrapper(io.BytesIO(whole)) as pipe:  # read once, too, so topic ids have no names from later frames
        monkeypatch.setattr("sys.stdin", pipe)
        wanted = out(capsys, "decode", "-", *options)
    monkeypatch.setattr("kwire.capture.growing_files.sleep", wait)
    code, found, remarks = run_command(capsys, "decode", "--follow", str(tmp_path), *options)
    assert (code, found) == (0, wanted.replace('"-"', f'"{tmp_path}"'))
    shown = {"--api": ", 14 shown", "--where": ", 4 shown"}.get(options[0] if options else "", "")
    assert f"114 frames, 0 undecodable{shown}\n" in remarks


@pytest.mark.usefixtures("signals")
def test_kwire_stats_counts_until_it_is_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some.pcap"
    path.write_bytes(CAPTURE.read_bytes())
    monkeypatch.setattr("kwire.capture.growing_files.sleep", lambda seconds: os.kill(os.getpid(), signal.SIGTERM))
    assert out(capsys, "stats", "--follow", str(path)) == out(capsys, "stats", str(path))


def test_what_cannot_be_followed() -> None:
    for arguments in (["-"], [str(CAPTURE), str(CAPTURE)], ["-r", "fixtures"], ["--hex", "00"]):
        done = ran("decode", "--follow", *arguments)
        assert done.returncode == 2
        assert b"--follow takes one file" in done.stderr
    done = ran("decode", "--follow", str(ROOT / "CHANGELOG.md"))
    assert done.returncode == 2
    assert b"only captures and raw frames" in done.stderr
