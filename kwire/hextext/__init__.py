"""Hex text becomes bytes, whichever tool wrote it. Knows texts; knows nothing of what the bytes are."""

from .dialects import DIALECTS
from .reading import HexText, parse_hex_text, read_hex_text

__all__ = ["DIALECTS", "HexText", "parse_hex_text", "read_hex_text"]
