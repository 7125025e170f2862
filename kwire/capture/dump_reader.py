"""`kwire.open`: one door for everything that kwire reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..protocol import FrameDecoder
from ..protocol.results import Result
from ..schema.catalog import Catalog
from .open_dump import open_dump
from .open_file import InputSource, source_name

if TYPE_CHECKING:
    from .logs.disk_entry import DiskEntry
    from .logs.log_batch import LogBatch, LogBytes


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


def open(
    source: InputSource, *, catalog: Catalog | None = None, topic: str | None = None, salvage: bool = True
) -> DumpReader:
    """Open anything that kwire reads, and decode it: captures, frames, hex text, logs and files of a broker's disk.

    Args:
        source: a path; a URI such as `s3://bucket/a.pcap` or `https://host/a.pcap`; `-` for standard input; bytes; or a
            file that is open in binary mode. gzip, xz, bzip2 and zstd are decompressed.
        catalog: the specs to use; by default those of Kafka's releases.
        topic: the topic of a log, such as `__consumer_offsets`; by default derived from folder or records.
        salvage: report what Kafka tolerates as faults; otherwise such frames are undecodable.

    Returns:
        An iterator over the content, see `DumpReader`.

    Raises:
        DumpError: the format is not recognised, or the input is damaged where reading cannot go on.
        OSError: the input cannot be read.
        TypeError: the source is nothing that can be read.

    >>> import kwire
    >>> with kwire.open("fixtures/dumps/kafka-4.4-metadata.bin") as reader:
    ...     print(reader.kind, [result.api_name for result in reader])
    raw frames ['Metadata', 'Metadata']
    >>> data = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 12)
    >>> next(kwire.open(data)).message.topics is None
    True
    """
    return DumpReader(source, catalog=catalog, topic=topic, salvage=salvage)
