"""Files become frames: raw frames, hex text, golden fixtures. Told apart by content, never by name.

Knows containers; knows nothing of what is in a frame.
"""

from .reading import Dump, open_dump, open_hex, read_dump

__all__ = ["Dump", "open_dump", "open_hex", "read_dump"]
