"""What a hostile peer does on a connection: it sends bytes, pauses, or ends the connection."""

from __future__ import annotations

from enum import Enum


class End(Enum):
    """How a peer ends a connection: it closes it (FIN), or resets it (RST)."""

    CLOSE = "close"
    RESET = "reset"


# Bytes to send, seconds to pause, or the end of the connection. After the last step, the connection stays open.
Step = bytes | float | End
