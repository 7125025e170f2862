"""What the fast path of captures shares with the general path: where TCP streams stand.

The native engine's classes; plain ones with the same attributes where it was not built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._engine import ConnectionState, StreamState
else:
    try:
        from ._engine import ConnectionState, StreamState
    except ImportError:

        class StreamState:
            """Where one direction of a TCP connection stands."""

            __slots__ = ("connection", "frames", "peer", "position", "sequence")

            def __init__(self, *_: Any) -> None:
                self.sequence = self.frames = self.peer = self.connection = None
                self.position = 0

        class ConnectionState:
            """What the fast path must know of a TCP connection."""

            __slots__ = ("calm", "last")

            def __init__(self, *_: Any) -> None:
                self.calm, self.last = False, None


__all__ = ["ConnectionState", "StreamState"]
