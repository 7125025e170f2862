"""Hex text becomes bytes, in the dialect of whichever tool wrote it."""

from __future__ import annotations

import re
import textwrap
from contextlib import suppress
from typing import NamedTuple

from .errors import DumpError
from .hex_dialects import DIALECTS, MAY_BE, UNREADABLE, Dialect, unhex

MOST = 1 << 28  # bytes that `*` may stand for
# The heading of what tshark put together, decrypted or decompressed; the hexdump behind it alone is that.
_PANE = re.compile(r"(?!Frame|Packet)[A-Z].* \([1-9]\d* bytes?\):?")


_QUOTED = re.compile(r"^(?:> ?)+")
# Numbers in brackets, as Java, Go, Python and JavaScript print arrays: at least eight, without leading zeros.
_NUMBER = r"-?(?:0|[1-9][0-9]{0,2})"
_LIST = re.compile(rf"[^\n]{{0,80}}?[\[{{(]\s*({_NUMBER}(?:(?:\s*,\s*|\s+){_NUMBER}){{7,}})\s*,?\s*[\])}}]+[\s;}}]*")


class HexText(NamedTuple):
    """What a text holds: its pieces, the name of its dialect, and whether the pieces may be packets."""

    pieces: tuple[bytes, ...]
    dialect: str
    packets: bool


def parse_hex_text(text: str, file: str = "") -> tuple[bytes, str]:
    """Read hex text as one run of bytes.

    Args:
        text: the whole text. Empty lines and lines that begin with `#` are left out, and so are the
            headings of annotated hexdumps, which begin with spaces.
        file: its name, for errors.

    Returns:
        The bytes, and the name of the dialect.

    Raises:
        DumpError: with the line that is none of the dialects, or whose offset does not fit.

    >>> parse_hex_text("00000000: 0000 0004 0000 0007  ........")
    (b'\\x00\\x00\\x00\\x04\\x00\\x00\\x00\\x07', 'xxd')
    """
    found = read_hex_text(text, file)
    return b"".join(found.pieces), found.dialect


def read_hex_text(text: str, file: str = "") -> HexText:
    """Read hex text, piece by piece where offsets begin at 0 again; arguments and errors as `parse_hex_text`.

    >>> read_hex_text("0x0000:  0102\\n0x0000:  03")
    HexText(pieces=(b'\\x01\\x02', b'\\x03'), dialect='tcpdump -X', packets=True)
    """
    lines = [(number, line.rstrip()) for number, line in enumerate(textwrap.dedent(text).splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if lines and all(line.startswith(">") for _, line in lines):
        lines = [(number, _QUOTED.sub("", line)) for number, line in lines]  # a mail that was answered
    joined = "\n".join(line for _, line in lines)
    if (numbers := _LIST.fullmatch(joined)) is not None:
        return HexText((_from_decimal(numbers[1], file),), "a list of numbers", packets=False)
    candidates = [dialect for dialect in DIALECTS if lines and dialect.sign.search(joined)]
    _refuse_unreadable(lines, file)
    if not candidates:
        tried = ", ".join(dialect.name for dialect in DIALECTS)
        problem, line = "this text is no hex that is known here", lines[0][0] if lines else 1
        raise DumpError(problem, file=file, line=line, hint=f"tried: {tried}")
    return _first_that_reads(candidates, lines, file)


def _from_decimal(text: str, file: str) -> bytes:
    """Read the numbers of a list; Java's bytes are negative above 127."""
    numbers = [int(word) for word in text.replace(",", " ").split()]
    wrong = next((number for number in numbers if not -128 <= number <= 255), None)
    if wrong is not None:
        raise DumpError(f"{wrong} in a list of numbers is no byte", file=file, hint="bytes are -128 to 255")
    return bytes(number & 0xFF for number in numbers)


def _first_that_reads(candidates: list[Dialect], lines: list[tuple[int, str]], file: str) -> HexText:
    """Read as the first candidate, or as another that may look like it at first; the error is the first one's."""
    first = candidates[0]
    try:
        return _Reading(first, file).read(lines)
    except DumpError:
        for other in candidates:
            if (first.name, other.name) in MAY_BE:
                with suppress(DumpError):
                    return _Reading(other, file).read(lines)
        raise


def _refuse_unreadable(lines: list[tuple[int, str]], file: str) -> None:
    for pattern, what, instead in UNREADABLE:
        for number, line in (*lines[:1], *lines[-2:]):
            if pattern.fullmatch(line):
                raise DumpError(f"these are {what}", file=file, line=number, hint=instead)


class _Reading:
    """One text being read as one dialect."""

    def __init__(self, dialect: Dialect, file: str) -> None:
        self.dialect, self.file = dialect, file
        self.pieces: list[bytearray] = []
        self.beside: list[bytearray] = []  # panes that show again what is in the pieces
        self.piece, self.origin = bytearray(), 0  # the piece being read, and its first offset
        self.row = b""  # what the last line held, which `*` repeats
        self.repeats = self.ended = self.hidden = False
        self.number = 0
        self.count = 0  # of lines with bytes

    def read(self, lines: list[tuple[int, str]]) -> HexText:
        """Read all lines. Raises DumpError."""
        for self.number, line in lines:
            self.line(line)
        if self.repeats:
            raise self.error("nothing follows the *", "the text is cut short")
        if self.dialect.marked and self.count == 1 and not self.ended:
            raise self.error(
                "this may be plain hex, or a line of od with its offset",
                "take the offset away, or add od's last line",
            )
        return HexText(tuple(map(bytes, self.pieces)), self.dialect.name, self.dialect.packets)

    def line(self, line: str) -> None:
        match = self.dialect.line.fullmatch(line)
        if self.ended and not (self.dialect.other and self.dialect.other.fullmatch(line)):
            raise self.error("the text should have ended before this line", "two dumps? give one at a time")
        if line == "*" and "offset" in self.dialect.line.groupindex and self.row:
            self.repeats = True
        elif match is not None:
            self.matched(match.groupdict())
        elif self.dialect.other is None or not self.dialect.other.fullmatch(line):
            raise self.error(f"this line is no {self.dialect.name}, as those before it are")
        else:
            self.hidden = _PANE.fullmatch(line) is not None if self.dialect.packets else False

    def matched(self, groups: dict[str, str | None]) -> None:
        """Take the bytes of a line, or the offset behind the last."""
        if groups.get("end"):
            self.ended = True
            self.at(groups["end"] or "")
            return
        self.at(groups.get("offset") or "")
        text = next(groups[name] for name in ("hex", "hex2", "last") if groups.get(name) is not None)
        self.row = self.bytes(text or "")
        if groups.get("chars") is not None and len(groups["chars"] or "") != len(self.row):
            raise self.error(f"{len(self.row)} bytes, and {len(groups['chars'] or '')} characters beside them")
        self.piece += self.row
        self.count += 1

    def at(self, text: str) -> None:
        """Check an offset; where it begins anew, begin a piece."""
        offset = int(text, self.dialect.base) if text else None
        if not self.pieces or (self.dialect.several and offset == 0):
            self.piece, self.origin = bytearray(), offset or 0
            (self.beside if self.hidden and self.pieces else self.pieces).append(self.piece)
            self.hidden = False
        if offset is None:
            return
        if self.repeats:
            self.repeat(offset)
        have = len(self.piece)
        if offset != self.origin + have:
            problem = f"the offset says {offset:#x}, but {have:#x} bytes were read from {self.origin:#x} on"
            raise self.error(problem, "a line is missing or damaged")

    def repeat(self, offset: int) -> None:
        """Write the last line again, up to an offset."""
        self.repeats = False
        missing = offset - self.origin - len(self.piece)
        if missing <= 0 or missing % len(self.row) or missing > MOST:
            raise self.error(f"the * before it cannot stand for {missing} bytes", "a line is missing or damaged")
        self.piece += self.row * (missing // len(self.row))

    def bytes(self, text: str) -> bytes:
        try:
            return self.dialect.convert(text)
        except ValueError as error:
            if self.dialect.convert != unhex:
                raise self.error(f"this is no {self.dialect.name}: {error}") from None
            raise self.error("an odd number of hex digits", "two digits make a byte") from None

    def error(self, problem: str, hint: str = "") -> DumpError:
        return DumpError(problem, file=self.file, line=self.number, hint=hint)


__all__ = ["DIALECTS", "HexText", "parse_hex_text", "read_hex_text"]
