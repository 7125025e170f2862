"""The forms in which tools and languages write bytes as text: a table, a row for each."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass

_TOKEN = re.compile(r"""\\x([0-9A-Fa-f]{2})|\\([0-3][0-7]{2})|\\(0(?![0-7])|[abtnvfr\\'"])|([^\\])""")
_SHORT = dict(zip("0abtnvfr\\'\"", b"\0\a\b\t\n\v\f\r\\'\"", strict=True))


def unlist(text: str) -> bytes:
    """Read numbers of a list.

    >>> unlist("0x00, 0x1f,0xA")
    b'\\x00\\x1f\\n'
    """
    return bytes(int(word, 16) for word in re.findall(r"0[xX]([0-9A-Fa-f]{1,2})", text))


def unhex(text: str) -> bytes:
    """Read hex digits, with blanks, colons or dashes between the bytes or without. Raises ValueError.

    >>> unhex("00:00-00 04").hex()
    '00000004'
    """
    return bytes.fromhex(text.replace(":", " ").replace("-", " "))


def unescape(text: str) -> bytes:
    r"""Read the inside of a string as C, Python and the shell write it; octal in three digits. Raises ValueError.

    >>> unescape(r"\x00\x05kwire\n1\001").hex()
    '00056b776972650a3101'
    """
    data, position = bytearray(), 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None or not token[0].isascii():
            raise ValueError(f"{text[position : position + 4]!r} is no byte")
        if token[1]:
            data.append(int(token[1], 16))
        elif token[2]:
            data.append(int(token[2], 8))
        else:
            data.append(_SHORT[token[3]] if token[3] else ord(token[4]))
        position = token.end()
    return bytes(data)


def unbase64(text: str) -> bytes:
    """Read base64, lines and all. Raises ValueError, also for what no encoder writes.

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
    """How one tool writes bytes.

    Attributes:
        name: the tool, or the form.
        sign: found in the text (without empty lines and comments) if it is of this dialect.
        line: matches every line that holds bytes.
        base: of offsets.
        other: matches lines that hold none; a line that is neither is an error.
        several: an offset of 0 begins the next piece.
        packets: the pieces may be packets of a network.
        marked: one line alone may be plain hex just as well.
        convert: turns the `hex` of a line into bytes; raises ValueError.
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
    """Make a row. Unless `sign` says more, its texts begin with lines of `other`, then one of `line`."""
    begins = sign or (rf"\A(?:(?:{other})\n)*(?:{line})$" if other else rf"\A(?:{line})$")
    rest = re.compile(other) if other else None
    return Dialect(name, re.compile(begins, re.MULTILINE), re.compile(line), other=rest, **more)  # type: ignore[arg-type]


def _eights(digit: str) -> str:
    eight = f"{digit}{{2}}(?: {digit}{{2}}){{0,7}}"
    return f"(?P<hex>{eight}(?:  {eight})?)"


_PAIRS = "[0-9A-Fa-f]{2}(?: [0-9A-Fa-f]{2}){0,15}"
_GROUPS = "(?:[0-9A-Fa-f]{2,} )*[0-9A-Fa-f]{2,}"
_PLAIN = r"(?:0[xX])?(?P<hex>[0-9A-Fa-f \t]*[0-9A-Fa-f])"
_HEAD = r"(?:[\w \t*:<>\[\]]*=)?(?:[\w \t\[\]]*(?=[\[{(]))?[\[{(\s]*"  # unsigned char x[] = {
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
    _row(r"\x..", r"(?P<hex>(?:\\x[0-9A-Fa-f]{2})+)\\?", convert=unescape),
    _row(
        "hex in quotes",
        r"""(?:[\w .*:\[\]=(]*[=(] *)?(?P<q>["'])(?P<hex>[0-9A-Fa-f]{2}(?:[ :-]?[0-9A-Fa-f]{2}){3,})"""
        r"""(?P=q)[\s;,+)\\]*""",
    ),
    _row("a Buffer of Node.js", r"(?:\w+: )?<Buffer (?P<hex>[0-9a-f]{2}(?: [0-9a-f]{2})*)>,?"),
    _row(
        r"a string with \x..",
        r"""(?:[\w *\[\]]*= *)?\(?[bB$]?(?P<q>["'])(?P<hex>(?:\\.|(?!(?P=q))[^\\])*)(?P=q)[\s;,+)\\]*""",
        convert=unescape,
    ),
    _row("colon-separated", r"(?P<hex>[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2})+):?|(?P<last>[0-9A-Fa-f]{2})"),
    _row("dash-separated", r"(?P<hex>[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2})+)-?|(?P<last>[0-9A-Fa-f]{2})"),
    _row("plain hex", _PLAIN),
    _row("hex # comment", rf"{_PLAIN}\s*(?:(?:#|//|;).*)?", other=r"\s*(?:#|//|;).*"),
    # What would be hex but for a letter or two is hex mistyped: nothing else has so many zeros.
    _row(
        "base64",
        "(?P<hex>[A-Za-z0-9+/]{2,}={0,2})",
        r"\A(?!(?:[^0\n]{0,3}0){4})(?=[A-Za-z0-9+/]{11,}=?=?$)(?=.*[g-zG-Z+/=]|[^#]*=\Z)",
        convert=unbase64,
    ),
)
# (taken for, but may be): offsets of od do not say that they are octal; comments and the = of base64 may come late.
MAY_BE = frozenset({("od -Ao -tx1", "od -Ad -tx1"), ("plain hex", "hex # comment"), ("plain hex", "base64")})
# What is hex text and says not enough: (pattern of a line, what it is, what to do instead)
UNREADABLE = (
    (
        re.compile(r"[0-9a-f]{6,7}(?: [0-9a-f]{4}){1,8}"),
        "words of two bytes, in the order of the machine that wrote them (hexdump, od -x)",
        "write it with hexdump -C or od -Ax -tx1",
    ),
    (
        re.compile(r".*(?:<Buffer .* )?\.\.\. [0-9]+ more (?:bytes|items).*"),
        "the first bytes of a Buffer or array; Node.js leaves the others out",
        "print it with buffer.toString('hex')",
    ),
    (
        re.compile(r"[0-7]{7}(?: [0-7]{6}| [0-7]{3}){1,16}"),
        "octal numbers (od)",
        "write it with od -Ax -tx1 or xxd",
    ),
)
