"""Files are opened and listed by path or URI; an S3 server on loopback stands for object stores."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwire.arrow.find_files import find_files
from kwire.arrow.hadoop_globs import list_glob
from kwire.arrow.read_options import BadOption, Options
from kwire.capture.files import find_entry, list_folder, open_file
from kwire.capture.open_dump import read_dump
from kwire.errors import DumpError, MissingExtra
from tests.arrow.captures import PCAP, rows_of
from tests.capture.object_store import ObjectStore, object_store
from tests.conftest import ROOT, lacking

DATA = PCAP.read_bytes()


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    """An S3 server with captures in `lake`, found by the environment."""
    try:
        with object_store() as running, pytest.MonkeyPatch.context() as patch:
            for name, value in running.environment().items():
                patch.setenv(name, value)
            running.put("lake")
            for name in ("a.pcap", "dt=1/b.pcap", "dt=2/b.pcap", "dt=2/_temporary"):
                running.put(f"lake/{name}", DATA)
            yield running
    except ImportError:
        lacking("moto")


def test_an_object_is_read_as_a_file_is(store: ObjectStore) -> None:
    for scheme in ("s3", "s3a", "s3n"):
        frames = list(read_dump(f"{scheme}://lake/a.pcap"))
        assert [frame.data for frame in frames] == [frame.data for frame in read_dump(PCAP)]
    rows = rows_of("s3://lake/a.pcap", body="none")
    assert rows == [row | {"path": "s3://lake/a.pcap"} for row in rows_of(PCAP, body="none")]


def test_ranges_are_asked_for(store: ObjectStore) -> None:
    store.ranges.clear()
    with open_file("s3://lake/a.pcap", read_ahead=1000) as stream:
        stream.seek(30_000)
        assert stream.read(5) == DATA[30_000:30_005]
        assert stream.read(5) == DATA[30_005:30_010]
    assert store.ranges == [("/lake/a.pcap", 30_000, 30_999)]


def test_a_store_that_fails_once_is_asked_again(store: ObjectStore) -> None:
    store.failures = 1
    with open_file("s3://lake/a.pcap") as stream:
        assert stream.read() == DATA
    assert store.failures == 0


def test_a_store_that_fails_for_good_is_one_line(store: ObjectStore) -> None:
    store.failures = 1000
    command = [sys.executable, "-m", "kwire", "decode", "s3://lake/a.pcap"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180)
    store.failures = 0
    assert done.returncode == 2
    assert "503" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    done = subprocess.run([*command[:-1], "s3://lake/none"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "lake/none" in done.stderr


def test_folders_and_globs_of_a_store(store: ObjectStore) -> None:
    assert [(one.name, one.is_folder) for one in list_folder("s3://lake")] == [
        ("a.pcap", False),
        ("dt=1", True),
        ("dt=2", True),
    ]
    for pattern, expected in (
        ("s3a://lake/dt={1,2}/b.*", ["s3a://lake/dt=1/b.pcap", "s3a://lake/dt=2/b.pcap"]),
        ("s3://lake/**/b.pcap", ["s3://lake/dt=1/b.pcap", "s3://lake/dt=2/b.pcap"]),
        ("s3://lake/?.pcap", ["s3://lake/a.pcap"]),
        ("s3://lake/none*", []),
    ):
        assert [one.path for one in list_glob(pattern)] == expected
    found = find_files(["s3://lake"], Options(recursive_file_lookup=True))
    assert [file.path for file in found] == ["s3://lake/a.pcap", "s3://lake/dt=1/b.pcap", "s3://lake/dt=2/b.pcap"]
    assert [file.size for file in found] == [len(DATA)] * 3
    assert find_entry("s3://lake/none") is None
    with pytest.raises(BadOption, match="PATH_NOT_FOUND"):
        find_files(["s3://lake/none"], Options())


def test_a_uri_may_contain_the_endpoint_of_its_store(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    query = f"?endpoint_override={store.endpoint.removeprefix('http://')}&scheme=http"
    (first, *_) = list_folder(f"s3://lake/dt=1{query}")
    assert (first.path, first.name) == (f"s3://lake/dt=1/b.pcap{query}", "b.pcap")
    with open_file(first.path) as stream:
        assert stream.read(4) == DATA[:4]


def test_the_command_reads_folders_of_a_store(store: ObjectStore) -> None:
    command = [sys.executable, "-m", "kwire", "stats", "--recursive", "s3://lake/dt=1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=180)
    local = subprocess.run(
        [*command[:-2], str(PCAP)], cwd=ROOT, capture_output=True, text=True, check=True, timeout=180
    )
    assert done.stdout.splitlines()[1:] == local.stdout.splitlines()[1:]


def test_schemes_that_nothing_opens() -> None:
    with pytest.raises(DumpError, match=r"foo://lake: foo is no(t| file system).*pyarrow opens s3, gs, abfss"):
        open_file("foo://lake/a.pcap")
    with pytest.raises(BadOption, match="foo is no"):
        find_files(["foo://lake/a.pcap"], Options())


def test_local_files_need_no_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with open_file(f"file://{PCAP}") as stream:
        assert stream.read() == DATA
    assert [one.path for one in list_glob(f"{ROOT}/fixtures/dumps/kafka-3.9-zk.pc*")] == [str(PCAP)]
    monkeypatch.chdir(ROOT)
    assert [one.path for one in list_glob("fixtures/*/kafka-3.9-zk.pcap")] == [os.path.relpath(PCAP)]
    with pytest.raises(MissingExtra, match=r"s3:// needs the library pyarrow; pip install 'kwire\[arrow\]'"):
        open_file("s3://other/a.pcap")
