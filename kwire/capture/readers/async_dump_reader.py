"""Iterates over what an asynchronous source contains, in any event loop.

Readers of captures, logs and text ask for the bytes that they need next. Here they run in a thread of their own, which
never runs while the event loop does: it goes on when it has bytes, and the loop goes on when it has decoded these. So
decoding happens in the caller's time, as by `DumpReader`, and nothing is shared between threads that run at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Semaphore, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

from ...protocol.results import Result
from ...schema.catalog import Catalog
from ..open_file import BinarySource, source_name
from .dump_reader import DumpReader

if TYPE_CHECKING:
    from ..logs.disk_entry import DiskEntry
    from ..logs.log_batch import LogBatch, LogBytes

    Item: TypeAlias = Result | LogBatch | LogBytes | DiskEntry


class AsyncBinarySource(Protocol):
    """Anything from which bytes are read asynchronously, such as `asyncio.StreamReader`."""

    async def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, as soon as there are any; none at the end."""
        ...


class _SourceClosed(Exception):
    """Ends the thread of a reader that is no longer used."""


class _ReaderThread:
    """A thread that reads and decodes, by turns with its caller; a binary source of that thread.

    Attributes:
        name: the name of the source, for errors.
        reader: what decodes, once it has recognised the format.
        items: what was decoded and not taken yet.
        needed: how many bytes it waits for; 0 before it has begun.
        has_ended: whether there will be no more items.
        error: what it ended with.
    """

    def __init__(self, name: str, make_reader: Callable[[BinarySource], DumpReader]) -> None:
        self.name: str = name
        self.reader: DumpReader | None = None
        self.items: deque[Item] = deque()
        self.needed: int = 0
        self.has_ended: bool = False
        self.error: BaseException | None = None
        self._make_reader = make_reader
        self._data = b""
        self._is_closed = False
        self._thread: Thread | None = None
        self._turn, self._callers_turn = Semaphore(0), Semaphore(0)

    def resume(self, data: bytes) -> None:
        """Let the thread go on with these bytes, until it needs more or has ended."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="kwire.open", daemon=True)
            self._thread.start()
        elif not self._thread.is_alive():
            raise RuntimeError("the process was forked; open the source in the child")
        self._data = data
        self._turn.release()
        self._callers_turn.acquire()

    def close(self) -> None:
        """End the thread, wherever it waits."""
        self.has_ended = self._is_closed = True
        self.items.clear()
        self._turn.release()

    def read(self, size: int, /) -> bytes:
        """Wait for the next bytes; called by the thread."""
        self.needed = size
        self._callers_turn.release()
        self._turn.acquire()
        if self._is_closed:
            raise _SourceClosed
        return self._data

    def _run(self) -> None:
        self._turn.acquire()
        try:
            with self._make_reader(self) as self.reader:
                self.items.extend(self.reader)
        except _SourceClosed:
            pass
        except BaseException as error:  # the caller raises it
            self.error = error
        self.has_ended = True
        self._callers_turn.release()


class AsyncDumpReader:
    """An asynchronous iterator over what a source contains; returned by `kwire.open` for anything with `async read(n)`.

    It yields what `DumpReader` yields, each as soon as its bytes have arrived. `async with` and `aclose` stop reading;
    the source stays open. Waiting can be cancelled and continued. Works in any event loop.

    Attributes:
        file: the name of the source.

    >>> import asyncio, kwire
    >>> async def list_apis(data):
    ...     source = asyncio.StreamReader()
    ...     source.feed_data(data)
    ...     source.feed_eof()
    ...     async with kwire.open(source) as reader:
    ...         return reader.kind, [result.api_name async for result in reader]
    >>> with open("fixtures/dumps/kafka-4.4-metadata.bin", "rb") as file:
    ...     asyncio.run(list_apis(file.read()))
    ('raw frames', ['Metadata', 'Metadata'])
    """

    def __init__(
        self,
        source: AsyncBinarySource,
        *,
        catalog: Catalog | None = None,
        topic: str | None = None,
        salvage: bool = True,
    ) -> None:
        self.file: str = source_name(source)  # type: ignore[arg-type]  # anything that may have a name
        make_reader = partial(DumpReader, catalog=catalog, topic=topic, salvage=salvage)
        self._source = source
        self._thread = _ReaderThread(self.file, make_reader)
        self._is_waiting = False

    @property
    def kind(self) -> str:
        """The format that was recognised; empty before the first bytes were read, as `async with` does."""
        return self._thread.reader.kind if self._thread.reader else ""

    @property
    def remarks(self) -> list[str]:
        """Further facts about the input, such as missing bytes; grows while it is read."""
        return self._thread.reader.remarks if self._thread.reader else []

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Result | LogBatch | LogBytes | DiskEntry:
        await self._read_until(lambda: bool(self._thread.items))
        if self._thread.items:
            return self._thread.items.popleft()
        self._raise_error()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop reading."""
        self._thread.close()

    async def __aenter__(self) -> Self:
        await self._read_until(lambda: self._thread.reader is not None)
        if self._thread.reader is None:
            self._raise_error()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        self._thread.close()

    async def _read_until(self, is_enough: Callable[[], bool]) -> None:
        """Read and decode until there is enough, or the input has ended."""
        if self._is_waiting:
            raise RuntimeError("another task is reading from it already")
        self._is_waiting = True
        try:
            while not is_enough() and not self._thread.has_ended:
                needed = self._thread.needed
                self._thread.resume(await self._source.read(needed) if needed else b"")
        finally:
            self._is_waiting = False

    def _raise_error(self) -> None:
        """Raise what reading ended with, once."""
        error, self._thread.error = self._thread.error, None
        if error is not None:
            raise error
