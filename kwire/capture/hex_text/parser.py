"""Parses hex text: recognises its dialect, and converts its lines to bytes."""

from __future__ import annotations

import re
import textwrap
from contextlib import suppress
from typing import NamedTuple

from ...errors import DumpError
from ...runtime.lazy_patterns import lazy_pattern
from .dialects import DIALECTS, MAY_BE, UNREADABLE, Dialect, unhex
from .number_lists import convert_numbers, find_list

MOST = 1 << 28  # most bytes that `*` may represent
# The heading of data that tshark reassembled, decrypted or decompressed; only the hexdump after it contains that data.
_PANE = lazy_pattern(r"(?!Frame|Packet)[A-Z].* \([1-9]\d* bytes?\):?")
_QUOTED = lazy_pattern(r"^(?:> ?)+")
# A byte string of Rust, in which a backslash and 0 are always one byte; Python never writes this.
_IS_RUST, _RUST = lazy_pattern(r'(?:[^"\n]*= *)?&?b"'), lazy_pattern(r"\\(\\|0)")


class HexText(NamedTuple):
    """The content of a hex text: its parts, the name of its dialect, and whether the parts may be packets."""

    pieces: tuple[bytes, ...]
    dialect: str
    packets: bool


def parse_hex_text(text: str, file: str = "") -> tuple[bytes, str]:
    """Parse hex text as one sequence of bytes.

    Args:
        text: the whole text. Empty lines, lines that begin with `#`, and the headings of annotated hexdumps, which
            begin with spaces, are ignored.
        file: its name, for errors.

    Returns:
        The bytes, and the name of the dialect.

    Raises:
        DumpError: a line matches no dialect, or its offset is wrong; the error has its number.

    >>> parse_hex_text("00000000: 0000 0004 0000 0007  ........")
    (b'\\x00\\x00\\x00\\x04\\x00\\x00\\x00\\x07', 'xxd')
    """
    content = read_hex_text(text, file)
    return b"".join(content.pieces), content.dialect


def read_hex_text(text: str, file: str = "") -> HexText:
    """Parse hex text; a new piece begins where offsets restart at 0. For arguments and errors see `parse_hex_text`.

    >>> read_hex_text("0x0000:  0102\\n0x0000:  03")
    HexText(pieces=(b'\\x01\\x02', b'\\x03'), dialect='tcpdump -X', packets=True)
    """
    lines = [(number, line.rstrip()) for number, line in enumerate(textwrap.dedent(text).splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if lines and all(line.startswith(">") for _, line in lines):
        lines = [(number, _QUOTED.sub("", line)) for number, line in lines]  # a mail that was answered
    joined = "\n".join(line for _, line in lines)
    if (numbers := find_list(joined)) is not None:
        return HexText((convert_numbers(numbers, file),), "a list of numbers", packets=False)
    if _IS_RUST.match(joined):
        lines = [(number, _RUST.sub(_convert_rust_escape, line)) for number, line in lines]
    candidates = [dialect for dialect in DIALECTS if lines and dialect.sign.search(joined)]
    _refuse_unreadable(lines, file)
    if not candidates:
        line = lines[0][0] if lines else 1
        raise DumpError(
            "not recognised as hex or base64", file=file, line=line, hint="kwire help input lists the forms"
        )
    return _parse_by_candidates(candidates, lines, file)


def _convert_rust_escape(escape: re.Match[str]) -> str:
    return r"\x00" if escape[1] == "0" else escape[0]


def _parse_by_candidates(candidates: list[Dialect], lines: list[tuple[int, str]], file: str) -> HexText:
    """Parse the text as the first candidate, or as another one that can begin like it; raise the error of the first."""
    first = candidates[0]
    try:
        return _DialectParser(first, file).read(lines)
    except DumpError:
        for other in candidates:
            if (first.name, other.name) in MAY_BE:
                with suppress(DumpError):
                    return _DialectParser(other, file).read(lines)
        raise


def _refuse_unreadable(lines: list[tuple[int, str]], file: str) -> None:
    for pattern, what, instead in UNREADABLE:
        for number, line in (*lines[:1], *lines[-2:]):
            if pattern.fullmatch(line):
                raise DumpError(f"these are {what}", file=file, line=number, hint=instead)


class _DialectParser:
    """The state of a parser that reads one text in one dialect."""

    def __init__(self, dialect: Dialect, file: str) -> None:
        self.dialect, self.file = dialect, file
        self.pieces: list[bytearray] = []
        self.beside: list[bytearray] = []  # data that repeats bytes of the pieces
        self.piece = bytearray()  # the piece being read
        self.origin = 0  # its first offset
        self.row = b""  # the bytes of the last line, which `*` repeats
        self.repeats = self.ended = self.hidden = False
        self.number = 0
        self.count = 0  # of lines with bytes

    def read(self, lines: list[tuple[int, str]]) -> HexText:
        """Read all lines. Raises DumpError."""
        for self.number, line in lines:
            self.read_line(line)
        if self.repeats:
            raise self.error("nothing follows the *", "the text is cut short")
        if self.dialect.marked and self.count == 1 and not self.ended:
            raise self.error(
                "this may be plain hex, or a line of od with its offset",
                "take the offset away, or add od's last line",
            )
        return HexText(tuple(map(bytes, self.pieces)), self.dialect.name, self.dialect.packets)

    def read_line(self, line: str) -> None:
        match = self.dialect.line.fullmatch(line)
        if self.ended and not (self.dialect.other and self.dialect.other.fullmatch(line)):
            raise self.error("the text should have ended before this line", "two dumps? give one at a time")
        if line == "*" and "offset" in self.dialect.line.groupindex and self.row:
            self.repeats = True
        elif match is not None:
            self.take_row(match.groupdict())
        elif self.dialect.other is None or not self.dialect.other.fullmatch(line):
            raise self.error(f"this line is not {self.dialect.name}, as those before it are")
        else:
            self.hidden = self.dialect.packets and _PANE.fullmatch(line) is not None

    def take_row(self, groups: dict[str, str | None]) -> None:
        """Process the bytes of a line, or the final offset."""
        if groups.get("end"):
            self.ended = True
            self.check_offset(groups["end"] or "")
            return
        self.check_offset(groups.get("offset") or "")
        text = next(groups[name] for name in ("hex", "hex2", "last") if groups.get(name) is not None)
        self.row = self.convert(text or "")
        if groups.get("chars") is not None and len(groups["chars"] or "") != len(self.row):
            raise self.error(f"{len(self.row)} bytes, and {len(groups['chars'] or '')} characters beside them")
        self.piece += self.row
        self.count += 1

    def check_offset(self, text: str) -> None:
        """Check an offset; if it restarts at 0, begin a new piece."""
        offset = int(text, self.dialect.base) if text else None
        if not self.pieces or (self.dialect.several and offset == 0):
            self.piece = bytearray()
            self.origin = offset or 0
            pieces = self.beside if self.hidden and self.pieces else self.pieces
            pieces.append(self.piece)
            self.hidden = False
        if offset is None:
            return
        if self.repeats:
            self.repeat_row(offset)
        have = len(self.piece)
        if offset != self.origin + have:
            problem = f"the offset is {offset:#x}, but {have:#x} bytes were read from {self.origin:#x} on"
            raise self.error(problem, "a line is missing or damaged")

    def repeat_row(self, offset: int) -> None:
        """Repeat the last line up to an offset."""
        self.repeats = False
        missing = offset - self.origin - len(self.piece)
        if missing <= 0 or missing % len(self.row) or missing > MOST:
            raise self.error(f"the * before it cannot mean {missing} bytes", "a line is missing or damaged")
        self.piece += self.row * (missing // len(self.row))

    def convert(self, text: str) -> bytes:
        try:
            return self.dialect.convert(text)
        except ValueError as error:
            if self.dialect.convert != unhex:
                raise self.error(f"this is not {self.dialect.name}: {error}") from None
            raise self.error("an odd number of hex digits", "two digits make a byte") from None

    def error(self, problem: str, hint: str = "") -> DumpError:
        return DumpError(problem, file=self.file, line=self.number, hint=hint)
