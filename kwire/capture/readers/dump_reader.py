"""Iterates over what an input contains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ...protocol import FrameDecoder
from ...protocol.results import Result
from ...schema.catalog import Catalog
from ..open_dump import open_dump
from ..open_file import InputSource, source_name

if TYPE_CHECKING:
    from ..logs.disk_entry import DiskEntry
    from ..logs.log_batch import LogBatch, LogBytes


class DumpReader:
    """An iterator over what an input contains, which closes the input at its end; returned by `kwire.open`.

    It yields `Request`, `Response`, `Token` and `Undecodable` for captures, raw frames, hex text, JSON lines and
    request logs; `LogBatch` and `LogBytes` for log segments and snapshots; `DiskEntry` and `LogBytes` for the other
    files of a broker's disk.

    Attributes:
        kind: the format that was recognised, such as `pcap` or `gzip around raw frames`.
        file: the name of the input.
        remarks: further facts about the input, such as missing bytes; grows while it is read.
    """

    def __init__(
        self, source: InputSource, *, catalog: Catalog | None = None, topic: str | None = None, salvage: bool = True
    ) -> None:
        self._opened = ExitStack()
        dump = self._opened.enter_context(open_dump(source, catalog=catalog, topic=topic))
        self.kind: str = dump.kind
        self.file: str = source_name(source)
        self.remarks: list[str] = dump.remarks
        self._items: Iterator[Result | LogBatch | LogBytes | DiskEntry]
        if dump.batches is not None:
            self._items = dump.batches
        elif dump.disk is not None:
            self._items = dump.disk.items
        else:
            self._items = map(FrameDecoder(catalog, salvage=salvage).decode, dump.frames)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Result | LogBatch | LogBytes | DiskEntry:
        try:
            return next(self._items)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the input; a file object of the caller stays open."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
