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

            def __new__(cls, *_: Any) -> Any:
                """Set what the engine's __cinit__ sets: classes that are built on this one need not call it."""
                self = super().__new__(cls)
                self.sequence = self.frames = self.peer = self.connection = None
                self.position = 0
                return self

        class ConnectionState:
            """What the fast path must know of a TCP connection."""

            __slots__ = ("calm", "last")

            def __new__(cls, *_: Any) -> Any:
                """Set what the engine's __cinit__ sets."""
                self = super().__new__(cls)
                self.calm, self.last = False, None
                return self


__all__ = ["ConnectionState", "StreamState"]
