"""Converts hex text to bytes, in the dialect of the tool that wrote it; `DIALECTS` is the table of dialects.

One form is the golden fixture, an annotated hexdump whose first lines name the message and the writer of the bytes:

    # fixture: MetadataResponse v12 body
    # writer: Apache Kafka 4.4.0
    00000000  00 00 00 05  throttle_time_ms = 5

With `frame` instead of `body`, the bytes include size and header; `# profile: KIP-36` marks a draft. Other lines with
`#` are comments.
"""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from .caches import lazy_pattern
from .errors import DumpError

__all__ = ["DIALECTS", "Fixture", "HexText", "check_writer", "parse_fixture", "parse_hex_text", "read_hex_text"]

_TOKEN = lazy_pattern(r"""\\x([0-9A-Fa-f]{2})|\\([0-3][0-7]{2})|\\(0(?![0-7])|[abtnvfr\\'"])|([^\\])""")
_SHORT = dict(zip("0abtnvfr\\'\"", b"\0\a\b\t\n\v\f\r\\'\"", strict=True))


def unlist(text: str) -> bytes:
    """Parse a list of numbers.

    >>> unlist("0x00, 0x1f,0xA")
    b'\\x00\\x1f\\n'
    """
    return bytes(int(word, 16) for word in re.findall(r"0[xX]([0-9A-Fa-f]{1,2})", text))


def unhex(text: str) -> bytes:
    """Parse hex digits, with or without blanks, colons or dashes between the bytes. Raises ValueError.

    >>> unhex("00:00-00 04").hex()
    '00000004'
    """
    return bytes.fromhex(text.replace(":", " ").replace("-", " "))


def unescape(text: str) -> bytes:
    r"""Parse the contents of a string of C, Python or the shell; octal escapes have three digits. Raises ValueError.

    >>> unescape(r"\x00\x05kwire\n1\001").hex()
    '00056b776972650a3101'
    """
    data, position = bytearray(), 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None or not token[0].isascii():
            raise ValueError(f"{text[position : position + 4]!r} is not a byte")
        if token[1]:
            data.append(int(token[1], 16))
        elif token[2]:
            data.append(int(token[2], 8))
        else:
            data.append(_SHORT[token[3]] if token[3] else ord(token[4]))
        position = token.end()
    return bytes(data)


def unbase64(text: str) -> bytes:
    """Parse base64, with line breaks. Raises ValueError, even for text that decodes but that no encoder writes.

    >>> unbase64("AAAA\\nBA==").hex()
    '00000004'
    """
    joined = "".join(text.split())
    data = base64.b64decode(joined, validate=True)
    if base64.b64encode(data).decode() != joined:
        raise ValueError("bits are left over")
    return data


@dataclass(frozen=True, slots=True)
class Dialect:
    """The format in which a tool writes bytes.

    Attributes:
        name: the tool, or the form.
        sign: a pattern found in text of this dialect (without empty lines and comments).
        line: matches every line with bytes.
        base: the base of offsets.
        other: matches lines without bytes; any further line is an error.
        several: whether an offset of 0 begins the next piece.
        packets: whether the pieces may be network packets.
        marked: whether a single line could also be plain hex.
        convert: converts the group `hex` of a line to bytes; raises ValueError.
    """

    name: str
    sign: re.Pattern[str]
    line: re.Pattern[str]
    base: int = 16
    other: re.Pattern[str] | None = None
    several: bool = False
    packets: bool = False
    marked: bool = False
    convert: Callable[[str], bytes] = unhex


def _row(name: str, line: str, sign: str = "", other: str = "", **more: object) -> Dialect:
    """Create a row. Unless `sign` requires more, its texts begin with lines of `other`, then one of `line`."""
    begins = sign or (rf"\A(?:(?:{other})\n)*(?:{line})$" if other else rf"\A(?:{line})$")
    rest = re.compile(other) if other else None
    return Dialect(name, lazy_pattern(begins, re.MULTILINE), lazy_pattern(line), other=rest, **more)  # type: ignore[arg-type]


def _eights(digit: str) -> str:
    eight = f"{digit}{{2}}(?: {digit}{{2}}){{0,7}}"
    return f"(?P<hex>{eight}(?:  {eight})?)"


_PAIRS = "[0-9A-Fa-f]{2}(?: [0-9A-Fa-f]{2}){0,15}"
_GROUPS = "(?:[0-9A-Fa-f]{2,} )*[0-9A-Fa-f]{2,}"
_PLAIN = r"(?:0[xX])?(?P<hex>[0-9A-Fa-f \t]*[0-9A-Fa-f])"
# unsigned char x[] = {. Nothing is tried a second time: many brackets would take quadratic time.
_HEAD = r"(?:[\w \t*:<>\[\]]*=)?+(?:[\w \t\[\]!]*(?=[\[{(]))?+[\[{(\t ]*+"
_NUMBERS = r"(?P<hex>(?:0[xX][0-9A-Fa-f]{1,2}(?:\s*,\s*|\s+|(?=[\])};])|$))+)"


def _od(base: int, letter: str, digits: str, marked: bool = False) -> Dialect:
    line = rf"(?P<offset>{digits}) (?P<hex>{_PAIRS})(?: +>(?P<chars>.*)<)?|(?P<end>{digits})"
    sign = rf"\A{digits} {_PAIRS}(?: +>.*<)?$"
    return _row(f"od -A{letter} -tx1", line, sign, base=base, marked=marked)


DIALECTS = (
    _row(
        "hexdump -C",
        rf"(?P<offset>[0-9a-f]{{8,}})  (?=.{{50}}\|){_eights('[0-9a-f]')} *\|(?P<chars>.{{1,16}})\|"
        r"|(?P<end>[0-9a-f]{8,})",
        r"\A[0-9a-f]{8,}  (?=.{50}\|)[0-9a-f]{2}( |$)",
    ),
    _row(
        "annotated hexdump",
        r"(?P<offset>[0-9a-f]{8})  (?P<hex>(?:[0-9a-f]{2} ){0,7}[0-9a-f]{2})(?: {2,}.*)?",
        other=r"  .*",
        several=True,
    ),
    # Two groups of eight in capitals, then at column 50 the characters; narrow lines of xxd have them earlier.
    _row("hexdump.py", rf"(?P<offset>[0-9A-F]{{8,}}): (?=.{{50}}.|[20 ]+$){_eights('[0-9A-F]')} *(?:  .{{1,16}})?"),
    _row(
        "Format-Hex",
        r"(?P<offset>[0-9A-F]{8}(?:[0-9A-F]{8})?) {1,3}"
        r"(?P<hex>[0-9A-F]{2}(?: [0-9A-F]{2}){15}|[0-9A-F]{2}(?: [0-9A-F]{2}){0,14}(?=  |$))(?: .*)?",
        r"^ *(?:Offset Bytes +Ascii$|00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F$)",
        other=r" *(?:Label: .*|Path: .*|Offset Bytes .*|00 01 02 03 04 .*|-+ -+ -+)",
    ),
    _row(
        "Netty's hexdump",
        rf"\|(?P<offset>[0-9a-f]{{8}})\| (?P<hex>{_PAIRS}) *\|.{{16}}\|",
        r"^\|[0-9a-f]{8}\| [0-9a-f]{2} ",
        other=r"(?!\|[0-9a-f]{8}\|).*",
        several=True,
    ),
    _row("xxd", rf"(?P<offset>[0-9A-Fa-f]{{8,}}): (?P<hex>{_GROUPS}) ?(?: .*)?"),
    _od(16, "x", "[0-9a-f]{6}", marked=True),
    _od(8, "o", "[0-7]{7}"),
    _od(10, "d", "[0-9]{7}"),
    _row(
        "tcpdump -X",
        rf"\s*0x(?P<offset>[0-9a-f]{{4,}}):  (?P<hex>{_GROUPS})(?:  .*)?",
        r"^\s*0x0000:  [0-9a-f]{2}",
        other=r"(?!\s*0x[0-9a-f]{4,}:).*",
        several=True,
        packets=True,
    ),
    _row(
        "tshark -x",
        rf"(?P<offset>[0-9a-f]{{4,8}})  (?:(?P<hex>{_PAIRS})| (?P<hex2>{_PAIRS}))(?:  .*)?",
        r"^0000   ?[0-9a-f]{2}( [0-9a-f]{2})*(  |$)",
        other=r"(?![0-9a-f]{4,8}   ?[0-9a-f]{2}(?: |$)).*",
        several=True,
        packets=True,
    ),
    _row(
        "xxd -i",
        rf"{_HEAD}{_NUMBERS}[\])}};\s]*|\s*unsigned int \w+_len = (?P<end>\d+);",
        r"\Aunsigned char \w+\[\] = \{$",
        other=r"unsigned char \w+\[\] = \{|\};",
        base=10,
        convert=unlist,
    ),
    _row("a list of 0x..", rf"{_HEAD}{_NUMBERS}[\])}};\s]*", other=rf"{_HEAD}|[\[\](){{}};,\s]+", convert=unlist),
    _row("bytea of PostgreSQL", r"\\x(?P<hex>(?:[0-9A-Fa-f]{2}){2,})"),
    _row(r"\x..", r"(?P<hex>(?:\\x[0-9A-Fa-f]{2})+)\\?", convert=unescape),
    _row(
        "hex in quotes",
        r"""(?:[\w .*:\[\]=(]*[=(] *)?[xX]?(?P<q>["'])(?P<hex>[0-9A-Fa-f]{2}(?:[ :-]?[0-9A-Fa-f]{2}){3,})"""
        r"""(?P=q)[\s;,+)\\]*""",
    ),
    _row("a Buffer of Node.js", r"(?:\w+: )?<Buffer (?P<hex>[0-9a-f]{2}(?: [0-9a-f]{2})*)>,?"),
    _row("base64 in quotes", r"""["'](?P<hex>AA[A-Za-z0-9+/]{9,}={0,2})["'],?""", convert=unbase64),
    _row(
        r"a string with \x..",
        r"""(?:[\w *\[\]]*= *)?(?:bytearray|bytes)?\(?[bB$]?(?P<q>["'])(?P<hex>(?:\\.|(?!(?P=q))[^\\])*)"""
        r"""(?P=q)[\s;,+)\\]*""",
        convert=unescape,
    ),
    _row("colon-separated", r"(?P<hex>[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2})+):?|(?P<last>[0-9A-Fa-f]{2})"),
    _row("dash-separated", r"(?P<hex>[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2})+)-?|(?P<last>[0-9A-Fa-f]{2})"),
    _row("plain hex", _PLAIN),
    _row("hex # comment", rf"{_PLAIN}\s*(?:(?:#|//|;).*)?", other=r"\s*(?:#|//|;).*"),
    # Text that is hex except for a letter or two is mistyped hex: no other text has so many zeros.
    _row(
        "base64",
        "(?P<hex>[A-Za-z0-9+/]{2,}={0,2})",
        r"\A(?!(?:[^0\n]{0,3}0){4})(?=[A-Za-z0-9+/]{11,}=?=?$)(?=.*[g-zG-Z+/=]|[^#]*=\Z)",
        convert=unbase64,
    ),
)
# (recognised as, may also be): offsets of od are not marked as octal; comments and the = of base64 may come late.
MAY_BE = frozenset({("od -Ao -tx1", "od -Ad -tx1"), ("plain hex", "hex # comment"), ("plain hex", "base64")})
# Hex text without enough information: (pattern of a line, its name, what to do instead)
UNREADABLE = (
    (
        lazy_pattern(r"[0-9a-f]{6,7}(?: [0-9a-f]{4}){1,8}"),
        "words of two bytes, in the order of the machine that wrote them (hexdump, od -x)",
        "write it with hexdump -C or od -Ax -tx1",
    ),
    (
        lazy_pattern(r".*\.\.\. [0-9]+ more (?:bytes|items).*"),
        "the first bytes of a Buffer or array; Node.js leaves the others out",
        "print it with buffer.toString('hex')",
    ),
    (
        lazy_pattern(r"[0-7]{7}(?: [0-7]{6}| [0-7]{3}){1,16}"),
        "octal numbers (od)",
        "write it with od -Ax -tx1 or xxd",
    ),
)


MOST = 1 << 28  # most bytes that `*` may represent
# The heading of data that tshark reassembled, decrypted or decompressed; only the hexdump after it contains that data.
_PANE = lazy_pattern(r"(?!Frame|Packet)[A-Z].* \([1-9]\d* bytes?\):?")


_QUOTED = lazy_pattern(r"^(?:> ?)+")
_DECIMAL = r"-?(?:0|[1-9][0-9]{0,2})"


def _list_of(number: str) -> re.Pattern[str]:
    """Return the pattern of at least eight numbers in brackets."""
    numbers = rf"{number}(?:(?:\s*,\s*|\s+){number}){{7,}}"
    return lazy_pattern(rf"[^\n]{{0,80}}?(?:[\[{{(]|<<)\s*({numbers})\s*,?\s*(?:[\])}}]|>>)+[\s;.}}]*")


# Arrays as Java, Go, Python, JavaScript and Erlang print them, without leading zeros, or as in source code.
_LIST, _WRITTEN_LIST = _list_of(_DECIMAL), _list_of(rf"(?:0[xX][0-9A-Fa-f]{{1,2}}|{_DECIMAL})")
# Text next to a number in source code: casts of C and Java before it; suffixes as in 0x12L, 0x12u8, 0x12.toByte().
_BESIDE = lazy_pattern(
    r"\( *(?:byte|char|unsigned char|u?int8(?:_t)?|u8) *\) *"
    r"|(?<=[0-9A-Fa-f])(?:_?[ui](?:8|16|32|64)|[uU]?[lL]{1,2}|[uU]|\.toU?Byte\(\))(?=[\s,)\]}>])"
)
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
    found = read_hex_text(text, file)
    return b"".join(found.pieces), found.dialect


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
    if (numbers := _list_in(joined)) is not None:
        return HexText((_from_numbers(numbers, file),), "a list of numbers", packets=False)
    if _IS_RUST.match(joined):
        lines = [
            (number, _RUST.sub(lambda found: r"\x00" if found[1] == "0" else found[0], line)) for number, line in lines
        ]
    candidates = [dialect for dialect in DIALECTS if lines and dialect.sign.search(joined)]
    _refuse_unreadable(lines, file)
    if not candidates:
        tried = ", ".join(dialect.name for dialect in DIALECTS)
        problem, line = "this text is not in a known form of hex", lines[0][0] if lines else 1
        raise DumpError(problem, file=file, line=line, hint=f"tried: {tried}")
    return _first_that_reads(candidates, lines, file)


def _list_in(text: str) -> str | None:
    """Return the numbers of a list in a program's output or source; None if the text is not a list, or only hex, which
    may be truncated.
    """
    found = _LIST.fullmatch(text)
    if found is None:
        plain = _BESIDE.sub("", text)
        is_other = plain == text and any(dialect.sign.search(text) for dialect in DIALECTS)
        found = None if is_other else _WRITTEN_LIST.fullmatch(plain)
    return None if found is None else found[1]


def _from_numbers(text: str, file: str) -> bytes:
    """Convert the numbers of a list to bytes; Java prints bytes above 127 as negative numbers."""
    numbers = [int(word, 16 if word[:2] in ("0x", "0X") else 10) for word in text.replace(",", " ").split()]
    wrong = next((number for number in numbers if not -128 <= number <= 255), None)
    if wrong is not None:
        raise DumpError(f"{wrong} in a list of numbers is not a byte", file=file, hint="bytes are -128 to 255")
    return bytes(number & 0xFF for number in numbers)


def _first_that_reads(candidates: list[Dialect], lines: list[tuple[int, str]], file: str) -> HexText:
    """Parse the text as the first candidate, or as another one that can begin like it; raise the error of the first."""
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
    """The state of a parser that reads one text in one dialect."""

    def __init__(self, dialect: Dialect, file: str) -> None:
        self.dialect, self.file = dialect, file
        self.pieces: list[bytearray] = []
        self.beside: list[bytearray] = []  # data that repeats bytes of the pieces
        self.piece, self.origin = bytearray(), 0  # the piece being read, and its first offset
        self.row = b""  # the bytes of the last line, which `*` repeats
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
            raise self.error(f"this line is not {self.dialect.name}, as those before it are")
        else:
            self.hidden = _PANE.fullmatch(line) is not None if self.dialect.packets else False

    def matched(self, groups: dict[str, str | None]) -> None:
        """Process the bytes of a line, or the final offset."""
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
        """Check an offset; if it restarts at 0, begin a new piece."""
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
            problem = f"the offset is {offset:#x}, but {have:#x} bytes were read from {self.origin:#x} on"
            raise self.error(problem, "a line is missing or damaged")

    def repeat(self, offset: int) -> None:
        """Repeat the last line up to an offset."""
        self.repeats = False
        missing = offset - self.origin - len(self.piece)
        if missing <= 0 or missing % len(self.row) or missing > MOST:
            raise self.error(f"the * before it cannot mean {missing} bytes", "a line is missing or damaged")
        self.piece += self.row * (missing // len(self.row))

    def bytes(self, text: str) -> bytes:
        try:
            return self.dialect.convert(text)
        except ValueError as error:
            if self.dialect.convert != unhex:
                raise self.error(f"this is not {self.dialect.name}: {error}") from None
            raise self.error("an odd number of hex digits", "two digits make a byte") from None

    def error(self, problem: str, hint: str = "") -> DumpError:
        return DumpError(problem, file=self.file, line=self.number, hint=hint)


_FIRST = lazy_pattern(r"# fixture: ([A-Za-z0-9]+) v([0-9]{1,5}) (frame|body)")
_LINE = lazy_pattern(r"# (profile|writer): (\S.*)")


@dataclass(frozen=True, slots=True)
class Fixture:
    """The bytes of a message, with their origin. `head` holds the lines with `#`, which a rewrite keeps."""

    message: str
    version: int
    bare: bool
    profile: str | None
    writer: str
    data: bytes
    head: tuple[str, ...]


def parse_fixture(text: str, file: str = "") -> Fixture | None:
    """Read a fixture; None if the text does not begin as one.

    Raises:
        DumpError: the text begins like a fixture but is not one, or its writer is missing or is kwire.
    """
    head = tuple(line.rstrip() for line in text.splitlines() if line.startswith("#"))
    if not head or not head[0].startswith("# fixture:"):
        return None
    first = _FIRST.fullmatch(head[0])
    if first is None:
        raise DumpError("the first line is invalid", file=file, line=1, hint="# fixture: NAME vN body (or: frame)")
    about = [(match[1], match[2]) for match in map(_LINE.fullmatch, head) if match]
    writers = [value for key, value in about if key == "writer"]
    for writer in writers or [""]:
        check_writer(writer, file)
    has_bytes = any(line.strip() and not line.startswith("#") for line in text.splitlines())  # some have none at all
    data = parse_hex_text(text, file)[0] if has_bytes else b""
    return Fixture(first[1], int(first[2]), first[3] == "body", dict(about).get("profile"), writers[0], data, head)


def check_writer(writer: str, file: str = "") -> None:
    """Raise DumpError for bytes without a writer, and for bytes that kwire wrote, which would prove nothing."""
    if not writer.strip():
        raise DumpError("no line names the writer of the bytes", file=file, hint="# writer: Apache Kafka 3.9.2")
    if "kwire" in writer.lower():
        problem = "kwire wrote these bytes, so they verify nothing"
        raise DumpError(problem, file=file, hint="take bytes that another implementation wrote, or write them by hand")
