"""The dialects of hex text: how each tool writes bytes, as a table of patterns."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass

from ...runtime.lazy_patterns import lazy_pattern

_TOKEN = lazy_pattern(r"""\\x([0-9A-Fa-f]{2})|\\([0-3][0-7]{2})|\\(0(?![0-7])|[abtnvfr\\'"])|([^\\])""")
_SHORT = dict(zip("0abtnvfr\\'\"", b"\0\a\b\t\n\v\f\r\\'\"", strict=True))
_PAIRS = "[0-9A-Fa-f]{2}(?: [0-9A-Fa-f]{2}){0,15}"
_GROUPS = "(?:[0-9A-Fa-f]{2,} )*[0-9A-Fa-f]{2,}"
_PLAIN = r"(?:0[xX])?(?P<hex>[0-9A-Fa-f \t]*[0-9A-Fa-f])"
# unsigned char x[] = {. Nothing is tried a second time: many brackets would take quadratic time.
_HEAD = r"(?:[\w \t*:<>\[\]]*=)?+(?:[\w \t\[\]!]*(?=[\[{(]))?+[\[{(\t ]*+"
_NUMBERS = r"(?P<hex>(?:0[xX][0-9A-Fa-f]{1,2}(?:\s*,\s*|\s+|(?=[\])};])|$))+)"
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
    data = bytearray()
    position = 0
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


def _define_dialect(name: str, line: str, sign: str = "", other: str = "", **more: object) -> Dialect:
    """Create a row. Unless `sign` requires more, its texts begin with lines of `other`, then one of `line`."""
    begins = sign or (rf"\A(?:(?:{other})\n)*(?:{line})$" if other else rf"\A(?:{line})$")
    rest = re.compile(other) if other else None
    return Dialect(name, lazy_pattern(begins, re.MULTILINE), lazy_pattern(line), other=rest, **more)  # type: ignore[arg-type]


def _eight_bytes(digit: str) -> str:
    eight = f"{digit}{{2}}(?: {digit}{{2}}){{0,7}}"
    return f"(?P<hex>{eight}(?:  {eight})?)"


def _define_od(base: int, letter: str, digits: str, marked: bool = False) -> Dialect:
    line = rf"(?P<offset>{digits}) (?P<hex>{_PAIRS})(?: +>(?P<chars>.*)<)?|(?P<end>{digits})"
    sign = rf"\A{digits} {_PAIRS}(?: +>.*<)?$"
    return _define_dialect(f"od -A{letter} -tx1", line, sign, base=base, marked=marked)


DIALECTS = (
    _define_dialect(
        "hexdump -C",
        rf"(?P<offset>[0-9a-f]{{8,}})  (?=.{{50}}\|){_eight_bytes('[0-9a-f]')} *\|(?P<chars>.{{1,16}})\|"
        r"|(?P<end>[0-9a-f]{8,})",
        r"\A[0-9a-f]{8,}  (?=.{50}\|)[0-9a-f]{2}( |$)",
    ),
    _define_dialect(
        "annotated hexdump",
        r"(?P<offset>[0-9a-f]{8})  (?P<hex>(?:[0-9a-f]{2} ){0,7}[0-9a-f]{2})(?: {2,}.*)?",
        other=r"  .*",
        several=True,
    ),
    # Two groups of eight in capitals, then at column 50 the characters; narrow lines of xxd have them earlier.
    _define_dialect(
        "hexdump.py", rf"(?P<offset>[0-9A-F]{{8,}}): (?=.{{50}}.|[20 ]+$){_eight_bytes('[0-9A-F]')} *(?:  .{{1,16}})?"
    ),
    _define_dialect(
        "Format-Hex",
        r"(?P<offset>[0-9A-F]{8}(?:[0-9A-F]{8})?) {1,3}"
        r"(?P<hex>[0-9A-F]{2}(?: [0-9A-F]{2}){15}|[0-9A-F]{2}(?: [0-9A-F]{2}){0,14}(?=  |$))(?: .*)?",
        r"^ *(?:Offset Bytes +Ascii$|00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F$)",
        other=r" *(?:Label: .*|Path: .*|Offset Bytes .*|00 01 02 03 04 .*|-+ -+ -+)",
    ),
    _define_dialect(
        "Netty's hexdump",
        rf"\|(?P<offset>[0-9a-f]{{8}})\| (?P<hex>{_PAIRS}) *\|.{{16}}\|",
        r"^\|[0-9a-f]{8}\| [0-9a-f]{2} ",
        other=r"(?!\|[0-9a-f]{8}\|).*",
        several=True,
    ),
    _define_dialect("xxd", rf"(?P<offset>[0-9A-Fa-f]{{8,}}): (?P<hex>{_GROUPS}) ?(?: .*)?"),
    _define_od(16, "x", "[0-9a-f]{6}", marked=True),
    _define_od(8, "o", "[0-7]{7}"),
    _define_od(10, "d", "[0-9]{7}"),
    _define_dialect(
        "tcpdump -X",
        rf"\s*0x(?P<offset>[0-9a-f]{{4,}}):  (?P<hex>{_GROUPS})(?:  .*)?",
        r"^\s*0x0000:  [0-9a-f]{2}",
        other=r"(?!\s*0x[0-9a-f]{4,}:).*",
        several=True,
        packets=True,
    ),
    _define_dialect(
        "tshark -x",
        rf"(?P<offset>[0-9a-f]{{4,8}})  (?:(?P<hex>{_PAIRS})| (?P<hex2>{_PAIRS}))(?:  .*)?",
        r"^0000   ?[0-9a-f]{2}( [0-9a-f]{2})*(  |$)",
        other=r"(?![0-9a-f]{4,8}   ?[0-9a-f]{2}(?: |$)).*",
        several=True,
        packets=True,
    ),
    _define_dialect(
        "xxd -i",
        rf"{_HEAD}{_NUMBERS}[\])}};\s]*|\s*unsigned int \w+_len = (?P<end>\d+);",
        r"\Aunsigned char \w+\[\] = \{$",
        other=r"unsigned char \w+\[\] = \{|\};",
        base=10,
        convert=unlist,
    ),
    _define_dialect(
        "a list of 0x..", rf"{_HEAD}{_NUMBERS}[\])}};\s]*", other=rf"{_HEAD}|[\[\](){{}};,\s]+", convert=unlist
    ),
    _define_dialect("bytea of PostgreSQL", r"\\x(?P<hex>(?:[0-9A-Fa-f]{2}){2,})"),
    _define_dialect(r"\x..", r"(?P<hex>(?:\\x[0-9A-Fa-f]{2})+)\\?", convert=unescape),
    _define_dialect(
        "hex in quotes",
        r"""(?:[\w .*:\[\]=(]*[=(] *)?[xX]?(?P<q>["'])(?P<hex>[0-9A-Fa-f]{2}(?:[ :-]?[0-9A-Fa-f]{2}){3,})"""
        r"""(?P=q)[\s;,+)\\]*""",
    ),
    _define_dialect("a Buffer of Node.js", r"(?:\w+: )?<Buffer (?P<hex>[0-9a-f]{2}(?: [0-9a-f]{2})*)>,?"),
    _define_dialect("base64 in quotes", r"""["'](?P<hex>AA[A-Za-z0-9+/]{9,}={0,2})["'],?""", convert=unbase64),
    _define_dialect(
        r"a string with \x..",
        r"""(?:[\w *\[\]]*= *)?(?:bytearray|bytes)?\(?[bB$]?(?P<q>["'])(?P<hex>(?:\\.|(?!(?P=q))[^\\])*)"""
        r"""(?P=q)[\s;,+)\\]*""",
        convert=unescape,
    ),
    _define_dialect("colon-separated", r"(?P<hex>[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2})+):?|(?P<last>[0-9A-Fa-f]{2})"),
    _define_dialect("dash-separated", r"(?P<hex>[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2})+)-?|(?P<last>[0-9A-Fa-f]{2})"),
    _define_dialect("plain hex", _PLAIN),
    _define_dialect("hex # comment", rf"{_PLAIN}\s*(?:(?:#|//|;).*)?", other=r"\s*(?:#|//|;).*"),
    # Text that is hex except for a letter or two is mistyped hex: no other text has so many zeros.
    _define_dialect(
        "base64",
        "(?P<hex>[A-Za-z0-9+/]{2,}={0,2})",
        r"\A(?!(?:[^0\n]{0,3}0){4})(?=[A-Za-z0-9+/]{11,}=?=?$)(?=.*[g-zG-Z+/=]|[^#]*=\Z)",
        convert=unbase64,
    ),
)
