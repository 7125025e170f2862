"""Files are packed by size, and captures divided by connections; folders and globs are expanded."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.find_files import find_files
from kwire.arrow.input_splits import InputSplit
from kwire.arrow.read_options import BadOption, Options
from tests.arrow.captures import FRAMES, PCAP, conversation, write


def divided(*paths: Path, **options: Any) -> list[list[InputSplit]]:
    values = {"openCostInBytes": 0, "minPartitions": 1, **options}
    return BatchReader(Options.parse(values)).divide([str(path) for path in paths])


def test_raw_frames_are_not_divided(tmp_path: Path) -> None:
    path = write(tmp_path, b"".join(conversation(20)))
    units = divided(path, maxPartitionBytes=50, minPartitions=20)
    assert units == [[InputSplit(str(path), weight=path.stat().st_size)]]
    assert pickle.loads(pickle.dumps(units)) == units


def test_small_files_are_packed_and_large_ones_first(tmp_path: Path) -> None:
    paths = [write(tmp_path, b"".join(conversation(3)), f"file-{number}") for number in range(10)]
    size = paths[0].stat().st_size
    assert [len(pack) for pack in divided(*paths, maxPartitionBytes=size * 4)] == [4, 4, 2]
    assert [len(pack) for pack in divided(*paths, maxPartitionBytes=size * 4, openCostInBytes=size)] == [2] * 5
    assert len(divided(*paths, maxPartitionBytes="1g", minPartitions=5)) == 5


def test_captures_are_divided_by_connections_and_others_are_whole(tmp_path: Path) -> None:
    size = PCAP.stat().st_size
    units = [unit for pack in divided(PCAP, maxPartitionBytes=size // 4, minPartitions=4) for unit in pack]
    assert [(unit.part, unit.parts) for unit in units] == [(part, 4) for part in range(4)]
    cut = write(tmp_path, PCAP.read_bytes()[:40] + b"\xff" * size, "no packets")
    broken = [unit for pack in divided(cut, maxPartitionBytes=size // 2, minPartitions=3) for unit in pack]
    assert [(unit.part, unit.parts) for unit in broken] == [(part, 3) for part in range(3)]
    assert [len(pack) for pack in divided(PCAP, maxPartitionBytes=size // 3)] == [1]  # none has to be divided
    packed = write(tmp_path, gzip.compress(FRAMES.read_bytes()))
    junk = write(tmp_path, b"\xff" * 1000, "junk")
    for path in (packed, junk):
        assert divided(path, maxPartitionBytes=10) == [[InputSplit(str(path), weight=path.stat().st_size)]]
    assert divided(write(tmp_path, b"", "empty")) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.bin", "b.pcap", ".hidden", "_SUCCESS", "in/c.bin", "in/deep/d.bin", "_tmp/e.bin"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def names(*paths: object, **options: object) -> list[str]:
    return [Path(file.path).name for file in find_files([str(path) for path in paths], Options.parse(options))]


def test_folders_and_what_is_in_them(folder: Path) -> None:
    assert names(folder) == ["a.bin", "b.pcap"]
    assert names(folder, recursiveFileLookup="true") == ["a.bin", "b.pcap", "c.bin", "d.bin"]
    assert names(folder, recursiveFileLookup="true", pathGlobFilter="*.bin") == ["a.bin", "c.bin", "d.bin"]
    (link,) = find_files([str(folder / "a.bin")], Options())
    assert (link.size, link.changed) == (5, (folder / "a.bin").stat().st_mtime_ns)


def test_logs_of_internal_topics_are_not_hidden(tmp_path: Path) -> None:
    for name in ("orders-0", "__consumer_offsets-1", "_temporary", "__x", ".y-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name.strip('_.')}.log").write_text("x")
    assert names(tmp_path, recursiveFileLookup="true") == ["consumer_offsets-1.log", "orders-0.log"]


def test_what_is_named_is_taken_once(folder: Path) -> None:
    assert names(folder / "_SUCCESS", folder / "a.bin", folder) == ["_SUCCESS", "a.bin", "b.pcap"]


def test_globs(folder: Path) -> None:
    assert names(folder / "*.bin") == ["a.bin"]
    assert names(folder / "{a,b}.*") == ["a.bin", "b.pcap"]
    assert names(folder / "i[mn]") == ["c.bin"]
    assert names(folder / "**/d.bin") == ["d.bin"]
    (folder / "odd[1].bin").write_text("x")
    assert names(folder / "odd[1].bin") == ["odd[1].bin"]


def test_filters_are_globs_of_hadoop(tmp_path: Path) -> None:
    for name in ("a.clients.pcap", "a.controller.pcap", "a.notes.md", "b1.pcap", "b2.pcap"):
        (tmp_path / name).write_text("x")
    for glob, expected in (
        ("*.{clients,controller}.pcap", ["a.clients.pcap", "a.controller.pcap"]),
        ("{b1,a.{notes,none}}.*", ["a.notes.md", "b1.pcap"]),
        ("b[^1].pcap", ["b2.pcap"]),
        ("b[!1].pcap", ["b2.pcap"]),
        ("b?.{pcap}", ["b1.pcap", "b2.pcap"]),
        ("{b1,}.pcap", ["b1.pcap"]),
    ):
        assert names(tmp_path, pathGlobFilter=glob) == expected
    assert names(tmp_path / "b[^1].pcap") == ["b2.pcap"]
    with pytest.raises(BadOption, match="a brace is not closed"):
        names(tmp_path, pathGlobFilter="*.{pcap")


def test_files_by_their_time(folder: Path) -> None:
    os.utime(folder / "a.bin", (1000, 1000))
    assert names(folder, modifiedBefore="2000-01-01T00:00:00") == ["a.bin"]
    assert names(folder, modifiedAfter="2000-01-01T00:00:00") == ["b.pcap"]


def test_schemes(folder: Path) -> None:
    assert names(f"file://{folder}/a.bin") == names(f"file:{folder}/a.bin") == ["a.bin"]
    with pytest.raises(BadOption, match="foo is not a supported file system"):
        names("foo://bucket/key")
    with pytest.raises(BadOption, match=r"'dbfs:/nothing': \[PATH_NOT_FOUND\]"):
        names("dbfs:/nothing")


def test_a_path_that_is_not_there_is_an_error(folder: Path) -> None:
    for path in (folder / "none", folder / "*.none", ""):
        with pytest.raises(BadOption, match="PATH_NOT_FOUND"):
            names(path)
