"""`kwire.open` reads paths, bytes, open files and what a web server has."""

from __future__ import annotations

import gzip
import io
import threading
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any, BinaryIO

import pytest

import kwire
from kwire.errors import DumpError
from tests.conftest import ROOT

DUMP = ROOT / "fixtures/dumps/kafka-4.4-metadata.bin"
CAPTURE = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
LOG = ROOT / "fixtures/logs/__consumer_offsets-1/00000000000000000000.log"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(str(DUMP), id="text"),
        pytest.param(DUMP, id="path"),
        pytest.param(DUMP.read_bytes(), id="bytes"),
        pytest.param(memoryview(bytearray(DUMP.read_bytes())), id="memoryview"),
        pytest.param(gzip.compress(DUMP.read_bytes()), id="gzip"),
        pytest.param(DUMP.read_bytes().hex().encode(), id="hex"),
    ],
)
def test_sources(source: Any) -> None:
    with kwire.open(source) as reader:
        request, response = reader
    assert isinstance(request, kwire.Request)
    assert isinstance(response, kwire.Response)
    assert isinstance(response.message, kwire.messages.MetadataResponse)
    assert len(response.message.brokers) == 3
    assert reader.file == (str(source) if isinstance(source, str | Path) else "<bytes>")


def test_open_files_stay_open_and_those_of_paths_are_closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO(CAPTURE.read_bytes())
    assert len(list(kwire.open(stream))) == len(list(kwire.open(CAPTURE))) == 114
    assert not stream.closed
    opened: list[BinaryIO] = []

    def open_and_note(path: Path) -> BinaryIO:
        opened.append(path.open("rb"))
        return opened[-1]

    monkeypatch.setattr("kwire.capture.open_file.open_file", open_and_note)
    reader = kwire.open(CAPTURE)
    next(reader)
    assert not opened[0].closed
    list(reader)
    assert opened[0].closed


def test_logs_and_other_files_of_a_disk() -> None:
    groups = set()
    for batch in kwire.open(LOG.read_bytes(), topic="__consumer_offsets"):
        assert isinstance(batch, kwire.LogBatch)
        records: list[Any] = list(batch.entries())
        groups |= {getattr(record.message.key.message, "group_id", "") for record in records}
    assert "modern" in groups
    (entry,) = kwire.open(LOG.parent.parent / "broker-disk/tide-0/leader-epoch-checkpoint")
    assert isinstance(entry, kwire.DiskEntry)
    assert entry.fields == {"epoch": 0, "start_offset": 3}


def test_errors_name_the_source() -> None:
    with pytest.raises(DumpError, match="<bytes>"):
        kwire.open(b"")
    with pytest.raises(FileNotFoundError):
        kwire.open("none.pcap")


def test_a_web_server() -> None:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(DUMP.parent))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            base = f"http://127.0.0.1:{server.server_port}"
            assert len(list(kwire.open(f"{base}/{DUMP.name}"))) == 2
            with pytest.raises(OSError, match="404"):
                kwire.open(f"{base}/none")
        finally:
            server.shutdown()
            thread.join(10)


def frames_of(source: Any) -> list[tuple[type, bytes]]:
    results: list[Any] = list(kwire.open(source))
    return [(type(result), result.frame.data) for result in results]


def test_bytes_are_read_like_the_file_with_them(tmp_path: Path) -> None:
    """Also short captures: their bytes are no path to look at; and damaged ones, in which lengths are confirmed."""
    whole = CAPTURE.read_bytes()
    damaged = whole[:400] + b"\xff" * 16 + whole[416:]
    for data in (whole, whole[:1000], damaged):
        file = tmp_path / "a.pcap"
        file.write_bytes(data)
        for source in (data, memoryview(data), io.BytesIO(data)):
            assert frames_of(source) == frames_of(file)


def test_hex_text_that_is_taken_for_a_path_is_explained() -> None:
    with pytest.raises(FileNotFoundError) as error:
        kwire.open("00000019 0003 0004")
    assert error.value.__notes__ == ["a str is a path; hex text is opened by kwire.open(text.encode())"]
    with pytest.raises(FileNotFoundError) as error:
        kwire.open("face.pcap")
    assert not hasattr(error.value, "__notes__")
