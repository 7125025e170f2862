"""Hex text: it is read, and its bytes are those of the plain hex of them; or it is refused with a line."""

from __future__ import annotations

from collections.abc import Iterator

from kwire.capture.hex_text.parser import parse_hex_text, read_hex_text
from kwire.errors import DumpError

SAMPLES = [
    "00 00 00 04 00 00 00 07",
    "0000000400000007",
    "00000000: 0000 0004 0000 0007  ........\n",
    "00000000  00 00 00 04 00 00 00 07  |........|\n00000008\n",
    "0000000 000000 002000 000000 003400\n0000010\n",
    "\t0x0000:  4500 003c 0000 4000 4006\n\t0x000a:  7f00 0001\n",
    r"b'\x00\x00\x00\x04\x00\x00\x00\x07'",
    r"\000\000\000\004",
    "[0, 0, 0, 4, 0, 0, 0, 7]",
    "{0x00, 0x00, 0x00, 0x04}",
    "[]byte{0x0, 0x4}",
    "AAAABAAAAAc=",
    '{"type":"Buffer","data":[0,0,0,4]}',
    "0000   00 00 00 04 00 00 00 07                           ........\n",
    "*\n",
]


def fuzz_hex_text(data: bytes) -> None:
    """Read a text."""
    text = data.decode("utf-8", "replace")
    try:
        found, dialect = parse_hex_text(text, "x")
    except DumpError as error:
        assert error.file == "x" and error.problem
        return
    assert b"".join(read_hex_text(text, "x").pieces) == found
    assert dialect
    if found:
        assert parse_hex_text(found.hex(" "))[0] == found


def seeds() -> Iterator[bytes]:
    """Yield texts of some dialects."""
    yield from (text.encode() for text in SAMPLES)


if __name__ == "__main__":
    from tests.fuzz.running import run

    run(fuzz_hex_text, seeds())
