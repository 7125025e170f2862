"""`kwire.open` with an asynchronous source yields what it yields for the bytes, each as soon as it is there."""

from __future__ import annotations

import asyncio
import gc
import gzip
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.errors import DumpError
from tests.conftest import ROOT

DUMP = ROOT / "fixtures/dumps/kafka-4.4-metadata.bin"
CAPTURE = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
LOG = ROOT / "fixtures/logs/__consumer_offsets-1/00000000000000000000.log"


class Chunks:
    """A source that gives its chunks one by one; a chunk may be an exception, which is raised once."""

    def __init__(self, *chunks: Any) -> None:
        self.chunks = list(chunks)
        self.given = 0

    async def read(self, size: int) -> bytes:
        """Return the next chunk."""
        await asyncio.sleep(0)
        chunk: Any = self.chunks.pop(0) if self.chunks else b""
        if isinstance(chunk, BaseException):
            raise chunk
        assert len(chunk) <= size
        self.given += 1
        return bytes(chunk)


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


async def read_all(source: Any, **options: Any) -> list[Any]:
    return [item async for item in kwire.open(source, **options)]


def described(items: Any) -> list[tuple[type, str]]:
    """Describe items without the name of their source, which differs."""
    return [(type(item), repr(item).replace("<stream>", "<bytes>")) for item in items]


def running_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "kwire.open"]


def wait_for_threads() -> None:
    gc.collect()  # exceptions that tests caught refer to readers
    until = time.monotonic() + 60
    while running_threads() and time.monotonic() < until:
        time.sleep(0.001)
    assert running_threads() == []


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 18])
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(DUMP.read_bytes(), id="frames"),
        pytest.param(CAPTURE.read_bytes()[:20_000], id="capture"),
        pytest.param(gzip.compress(DUMP.read_bytes()), id="gzip"),
        pytest.param(DUMP.read_bytes().hex(" ").encode(), id="hex"),
    ],
)
def test_any_chunks_give_what_the_bytes_give(data: bytes, size: int) -> None:
    expected = described(kwire.open(data))
    assert described(asyncio.run(read_all(Chunks(*cut(data, size))))) == expected
    wait_for_threads()


def test_logs() -> None:
    items = asyncio.run(read_all(Chunks(*cut(LOG.read_bytes(), 100)), topic="__consumer_offsets"))
    assert len(items) == len(list(kwire.open(LOG)))
    assert {type(item) for item in items} == {kwire.LogBatch}


def test_a_stream_reader_of_asyncio_is_followed_live() -> None:
    """The first frame is there before the second one is sent; waiting for it may end and begin again."""
    data = DUMP.read_bytes()

    async def check() -> None:
        source = asyncio.StreamReader()
        source.feed_data(data[:60])
        async with kwire.open(source) as reader:
            assert reader.kind == "raw frames"
            request: Any = await anext(reader)
            assert request.api_name == "Metadata"
            for _ in range(2):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(reader), 0.01)
            source.feed_data(data[60:])
            response = await anext(reader)
            assert isinstance(response, kwire.Response)
            source.feed_eof()
            with pytest.raises(StopAsyncIteration):
                await anext(reader)
            with pytest.raises(StopAsyncIteration):
                await anext(reader)

    asyncio.run(check())
    wait_for_threads()


def test_any_event_loop_will_do() -> None:
    """No loop runs here: a coroutine of another library suspends, and is continued."""

    class Suspended:
        def __await__(self) -> Any:
            yield "suspended"

    class Source:
        chunks = cut(DUMP.read_bytes(), 50)

        async def read(self, size: int) -> bytes:
            await Suspended()
            return self.chunks.pop(0) if self.chunks else b""

    coroutine: Coroutine[Any, Any, list[Any]] = read_all(Source())
    suspensions = 0
    with pytest.raises(StopIteration) as ended:
        while True:
            assert coroutine.send(None) == "suspended"
            suspensions += 1
    assert [result.api_name for result in ended.value.value] == ["Metadata", "Metadata"]
    assert suspensions == len(cut(DUMP.read_bytes(), 50)) + 1


def test_what_was_decoded_comes_before_an_error_of_the_source() -> None:
    async def check() -> None:
        data = DUMP.read_bytes()
        reader = kwire.open(Chunks(data[:60], ConnectionResetError("gone"), data[60:]))
        assert isinstance(await anext(reader), kwire.Request)
        with pytest.raises(ConnectionResetError, match="gone"):
            await anext(reader)
        assert isinstance(await anext(reader), kwire.Response)  # a source may go on

    asyncio.run(check())


def test_damage_is_reported_as_for_bytes() -> None:
    broken = gzip.compress(DUMP.read_bytes()[:60]) + b"nonsense"
    expected = described(kwire.open(broken))
    assert len(expected) == 3
    assert described(asyncio.run(read_all(Chunks(*cut(broken, 9))))) == expected


def test_errors_at_the_beginning_are_raised_on_entering() -> None:
    async def check(*chunks: Any) -> None:
        async with kwire.open(Chunks(*chunks)):
            raise AssertionError("it was opened")

    with pytest.raises(DumpError, match="<stream>: file is empty"):
        asyncio.run(check())
    with pytest.raises(TypeError, match="this one gives str"):
        asyncio.run(check_text())
    wait_for_threads()


async def check_text() -> None:
    class Text:
        async def read(self, size: int) -> Any:
            return "text"

    await anext(kwire.open(Text()))


def test_one_task_reads_at_a_time() -> None:
    async def check() -> None:
        source = asyncio.StreamReader()
        reader = kwire.open(source)
        task = asyncio.ensure_future(anext(reader))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="another task is reading"):
            await anext(reader)
        source.feed_data(DUMP.read_bytes())
        assert isinstance(await task, kwire.Request)

    asyncio.run(check())


def test_threads_end_with_readers_that_are_left() -> None:
    async def check(*, closed: bool) -> None:
        source = Chunks(*cut(DUMP.read_bytes(), 60))
        reader = kwire.open(source)
        assert running_threads() == []  # before anything is read there is none
        await anext(reader)
        assert len(running_threads()) == 1
        assert source.given == 1
        if closed:
            await reader.aclose()
            with pytest.raises(StopAsyncIteration):
                await anext(reader)

    for closed in (False, True):
        wait_for_threads()
        asyncio.run(check(closed=closed))
        wait_for_threads()


def test_a_file_keeps_its_name(tmp_path: Path) -> None:
    class Named(Chunks):
        name = "tap.pcap"

    reader = kwire.open(Named(CAPTURE.read_bytes()))
    (first, *_) = asyncio.run(collect(reader))
    assert reader.file == first.frame.source.file == "tap.pcap"
    assert reader.remarks == []


async def collect(reader: kwire.AsyncDumpReader) -> list[Any]:
    return [item async for item in reader]
