"""Names of topics in batches of the metadata log: its TopicRecords (KIP-516, KIP-631)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..codecs.message_codec import codec_in
from ..codecs.records import Record, RecordBatch, parse_records
from ..codecs.wire import Reader
from ..errors import KwireError
from ..schema.catalog import catalog_for
from ..schema.sensitive_fields import Hidden
from .nested.metadata_log_records import FRAME_VERSION, read_frame_head


def topics_of_metadata_log(records: Any) -> Iterator[tuple[bytes, str]]:
    """Yield ids and names of the topics that records of the metadata log create.

    Records that do not decode or are hidden are skipped, and so is a part of a snapshot that begins within a batch.

    Args:
        records: the batches, in a Fetch or FetchSnapshot response.

    >>> from kwire import Record, build_batch
    >>> value = b"\\1\\2\\0" + b"\\7orders" + bytes(15) + b"\\5" + b"\\0"
    >>> [name for _, name in topics_of_metadata_log(build_batch([Record(0, 0, None, value)]))]
    ['orders']
    """
    if isinstance(records, Hidden):
        return
    for batch in parse_records(bytes(records or b""), salvage=True, may_be_cut=True):
        if isinstance(batch, RecordBatch) and not batch.is_control:
            yield from _topics_of(batch)


def _topics_of(batch: RecordBatch) -> Iterator[tuple[bytes, str]]:
    catalog = catalog_for()
    topic_record = catalog.spec("TopicRecord").api_key
    for record in batch.records(salvage=True):
        if not isinstance(record, Record) or record.value is None:
            continue
        reader = Reader(bytes(record.value))
        try:
            frame_version, number, version = read_frame_head(reader)
            if (frame_version, number) == (FRAME_VERSION, topic_record):
                topic = codec_in(catalog, "TopicRecord", version).read(reader)
                yield topic.topic_id, topic.name
        except KwireError:
            continue
