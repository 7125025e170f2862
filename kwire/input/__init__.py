"""Files become frames: raw frames, hex text, captures, logs, golden fixtures. Told apart by content, never by name.

Knows containers; of what is in a frame only as much as it takes to find one in a TCP stream (`recognition`).
"""

from .open import Dump, open_dump, open_hex, read_dump, read_log

__all__ = ["Dump", "open_dump", "open_hex", "read_dump", "read_log"]
