"""The native engine, an interpreter of node tables that is compiled when kwire is installed; and the engine in use.

`node_table` lists the nodes of a construct tree; `_engine` uses them to decode, encode, write JSON text and fill Arrow
buffers. It accepts exactly the bytes that the reference path (`kwire.codecs.wire`) reads without a fault; the
reference path explains the bytes that it declines. If the engine cannot be used, its classes are missing here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .engine_choice import AVAILABLE, ENGINE, ENGINES, MISSING, BadEngine, Declined, chosen_engine, engine
from .engine_choice import is_stale as is_stale
from .python_state import (
    NO_CALLS,
    CallState,
    ConversationState,
    EndsState,
    FrameBatch,
    FrameBuffer,
    FrameCount,
    FrameRows,
    InFlight,
    KindState,
    PairingState,
    RecogniserState,
    Selection,
)

if TYPE_CHECKING or AVAILABLE:
    from ._engine import (
        BatchCursor,
        BodyFacts,
        ColumnTable,
        ConnectionState,
        FrameSearchState,
        FrameTable,
        GapSplitter,
        NativeMethods,
        NodeTable,
        PacketGroups,
        PacketWalker,
        RecordCursor,
        Repeat,
        SegmentTable,
        StreamState,
        build_messages,
        build_records,
        crc32,
        crc32c,
        inflate_snappy,
        pack_bits,
        path_counts,
        read_batch,
        records_are_whole,
        use_captured_frames,
        use_records,
        use_rows,
        use_stream_faults,
        xxh32,
    )

__all__ = [
    "AVAILABLE",
    "ENGINE",
    "ENGINES",
    "MISSING",
    "NO_CALLS",
    "BadEngine",
    "BatchCursor",
    "BodyFacts",
    "CallState",
    "ColumnTable",
    "ConnectionState",
    "ConversationState",
    "Declined",
    "EndsState",
    "FrameBatch",
    "FrameBuffer",
    "FrameCount",
    "FrameRows",
    "FrameSearchState",
    "FrameTable",
    "GapSplitter",
    "InFlight",
    "KindState",
    "NativeMethods",
    "NodeTable",
    "PacketGroups",
    "PacketWalker",
    "PairingState",
    "RecogniserState",
    "RecordCursor",
    "Repeat",
    "SegmentTable",
    "Selection",
    "StreamState",
    "build_messages",
    "build_records",
    "chosen_engine",
    "crc32",
    "crc32c",
    "engine",
    "inflate_snappy",
    "pack_bits",
    "path_counts",
    "read_batch",
    "records_are_whole",
    "use_captured_frames",
    "use_records",
    "use_rows",
    "use_stream_faults",
    "xxh32",
]
