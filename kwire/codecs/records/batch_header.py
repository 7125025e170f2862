"""The header of a batch, and what the bits of its attributes mean."""

from __future__ import annotations

import msgspec

from ...errors import DecodeError
from ..compression.compression_types import name_of
from .record_layouts import COMPRESSION, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL


class BatchHeader(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The header and the bytes of a batch; `RecordBatch` adds the records, and describes the attributes."""

    base_offset: int | None
    last_offset: int
    length: int
    magic: int
    crc: int
    attributes: int
    partition_leader_epoch: int = -1
    last_offset_delta: int = 0
    base_timestamp: int = -1
    max_timestamp: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    record_count: int | None = 1
    data: bytes
    position: int = 0
    index: int = 0
    faults: tuple[DecodeError, ...] = ()

    @property
    def compression(self) -> str | None:
        """`none`, `gzip`, `snappy`, `lz4` or `zstd`; None for an unknown number."""
        return name_of(self.compression_id, self.magic)

    @property
    def compression_id(self) -> int:
        """The number of the compression."""
        return self.attributes & COMPRESSION

    @property
    def timestamp_type(self) -> str:
        """`CreateTime`, `LogAppendTime`, or in magic 0 `NoTimestampType`."""
        if self.magic == 0:
            return "NoTimestampType"
        return "LogAppendTime" if self.attributes & LOG_APPEND_TIME else "CreateTime"

    @property
    def is_transactional(self) -> bool:
        """Whether the batch is part of a transaction."""
        return self.magic >= 2 and bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether its records are control records; `kwire.protocol.nested.decode_control_record` decodes them."""
        return self.magic >= 2 and bool(self.attributes & CONTROL)

    @property
    def delete_horizon(self) -> int | None:
        """The time from which the log cleaner may remove tombstones, in milliseconds since 1970; None if not set."""
        return self.base_timestamp if self.magic >= 2 and self.attributes & DELETE_HORIZON else None
