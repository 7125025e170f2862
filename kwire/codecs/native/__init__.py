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
    ConnectionState,
    ConversationState,
    EndsState,
    FrameBatch,
    FrameBuffer,
    FrameCount,
    FrameRows,
    InFlight,
    KindState,
    PairingState,
    ReassemblerState,
    StreamState,
)

if TYPE_CHECKING or AVAILABLE:
    from ._engine import (
        BodyFacts,
        ColumnTable,
        NativeMethods,
        NodeTable,
        PacketGroups,
        PacketWalker,
        Repeat,
        pack_bits,
        path_counts,
        records_are_whole,
    )

__all__ = [
    "AVAILABLE",
    "ENGINE",
    "ENGINES",
    "MISSING",
    "NO_CALLS",
    "BadEngine",
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
    "InFlight",
    "KindState",
    "NativeMethods",
    "NodeTable",
    "PacketGroups",
    "PacketWalker",
    "PairingState",
    "ReassemblerState",
    "Repeat",
    "StreamState",
    "chosen_engine",
    "engine",
    "pack_bits",
    "path_counts",
    "records_are_whole",
]
