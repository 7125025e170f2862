"""Files become frames: raw frames, hex text, captures, logs, request logs, golden fixtures, recognised by content.

Captures are read by `kwire.capture`, logs by `kwire.logs`.
"""

from .open import Dump, open_dump, open_hex, read_disk, read_dump, read_log

__all__ = ["Dump", "open_dump", "open_hex", "read_disk", "read_dump", "read_log"]
