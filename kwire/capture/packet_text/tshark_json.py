"""Reads the packets in the JSON of tshark: `-T json -x`, `-T jsonraw`, `-T ek -x`."""

from __future__ import annotations

from ...errors import DumpError
from ...runtime.lazy_patterns import lazy_pattern
from ..hex_text.parser import HexText

_JSON = lazy_pattern(r'\s*(?:\[\s*\{\s*"_index": *"packets-|\{"index": *\{"_index": *"packets-)')
_PDML = lazy_pattern(r"\s*<\?xml[^>]*>\s*(?:<[?!][^>]*>\s*)*<pdml")
_FRAME = lazy_pattern(r'"frame_raw": *(?:\[\s*)?"([0-9a-f]*)"')


def is_tshark_json(head: str) -> bool:
    """Whether a text begins like the output of `tshark -T json`, `jsonraw`, `ek` or `pdml`."""
    return _JSON.match(head) is not None or _PDML.match(head) is not None


def read_tshark_json(text: str, file: str) -> HexText:
    """Read the packets of `tshark -T json -x`, `-T jsonraw` or `-T ek -x`.

    Args:
        text: the whole text.
        file: its name, for errors.

    Raises:
        DumpError: tshark wrote fields, but not the bytes of packets.

    >>> read_tshark_json('[{"_index": "packets-2026", "_source": {"layers": {"frame_raw": ["00ff", 0]}}}]', "x").pieces
    (b'\\x00\\xff',)
    """
    packets = tuple(bytes.fromhex(digits) for digits in _FRAME.findall(text) if len(digits) % 2 == 0)
    if not packets:
        hint = "read the capture itself, or what tshark -T json -x writes"
        raise DumpError("this is what tshark wrote, without the bytes of packets", file=file, hint=hint)
    return HexText(packets, "JSON of tshark", packets=True)
