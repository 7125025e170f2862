"""`kwire.open`: one door for everything that kwire reads."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, overload

from ...runtime.lazy_patterns import lazy_pattern
from ..open_file import InputSource
from .dump_reader import DumpReader

if TYPE_CHECKING:
    from ...schema.catalog import Catalog
    from .async_dump_reader import AsyncBinarySource, AsyncDumpReader

_HEX = lazy_pattern(r"(?:[0-9A-Fa-f]{2}\s*){4,}")


@overload
def open(
    source: AsyncBinarySource, *, catalog: Catalog | None = None, topic: str | None = None, salvage: bool = True
) -> AsyncDumpReader: ...


@overload
def open(
    source: InputSource, *, catalog: Catalog | None = None, topic: str | None = None, salvage: bool = True
) -> DumpReader: ...


def open(
    source: Any, *, catalog: Catalog | None = None, topic: str | None = None, salvage: bool = True
) -> DumpReader | AsyncDumpReader:
    """Open anything that kwire reads, and decode it: captures, frames, hex text, logs and files of a broker's disk.

    Args:
        source: a path; a URI such as `s3://bucket/a.pcap` or `https://host/a.pcap`; `-` for standard input; bytes; a
            file that is open in binary mode; or anything with `async def read(n)`, such as an `asyncio.StreamReader`.
            gzip, xz, bzip2 and zstd are decompressed.
        catalog: the specs to use; by default those of Kafka's releases.
        topic: the topic of a log, such as `__consumer_offsets`; by default derived from folder or records.
        salvage: report what Kafka tolerates as faults; otherwise such frames are undecodable.

    Returns:
        An iterator over the content, see `DumpReader`; for an asynchronous source an `AsyncDumpReader`, for
        `async for`.

    Raises:
        DumpError: the format is not recognised, or the input is damaged where reading cannot go on; an
            `AsyncDumpReader` raises it when it is entered or iterated over.
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
    if iscoroutinefunction(getattr(source, "read", None)):
        from .async_dump_reader import AsyncDumpReader

        return AsyncDumpReader(source, catalog=catalog, topic=topic, salvage=salvage)
    try:
        return DumpReader(source, catalog=catalog, topic=topic, salvage=salvage)
    except FileNotFoundError as error:
        if isinstance(source, str) and _HEX.fullmatch(source):
            error.add_note("a str is a path; hex text is opened by kwire.open(text.encode())")
        raise
