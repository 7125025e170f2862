"""The native engine: one interpreter over a table of nodes, compiled when kwire is installed.

`table` lists the nodes of a construct tree; `_engine` decodes, encodes, writes JSON text and fills Arrow buffers by
them. It accepts exactly the bytes that the reference execution (`kwire.wire`) reads without a fault; what it refuses,
the reference explains. Where it was not built `AVAILABLE` is false, and all else here is missing.
"""

from __future__ import annotations

import warnings

from .table import FieldRow, NodeRow, NoTable, node_table

try:
    from ._engine import ColumnTable, NativeMethods, NodeTable, PacketWalker, Refused, Repeat, pack_bits
except ModuleNotFoundError:
    AVAILABLE = False
except ImportError as error:  # built of other sources, or for another system: slow, and nobody would notice
    warnings.warn(f"kwire's native engine is not used, install kwire again: {error}", RuntimeWarning, stacklevel=2)
    AVAILABLE = False
else:
    AVAILABLE = True

__all__ = [
    "AVAILABLE",
    "ColumnTable",
    "FieldRow",
    "NativeMethods",
    "NoTable",
    "NodeRow",
    "NodeTable",
    "PacketWalker",
    "Refused",
    "Repeat",
    "node_table",
    "pack_bits",
]
