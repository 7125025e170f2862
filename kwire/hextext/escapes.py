"""Forms of bytes that are no plain hex: numbers of a list, escapes of a string, base64."""

from __future__ import annotations

import base64
import re

_TOKEN = re.compile(r"""\\x([0-9A-Fa-f]{2})|\\([0abtnvfr\\'"])(?![0-7])|([^\\])""")
_SHORT = dict(zip("0abtnvfr\\'\"", b"\0\a\b\t\n\v\f\r\\'\"", strict=True))


def unlist(text: str) -> bytes:
    """Read numbers of a list.

    >>> unlist("0x00, 0x1f,0xA")
    b'\\x00\\x1f\\n'
    """
    return bytes(int(word, 16) for word in re.findall(r"0[xX]([0-9A-Fa-f]{1,2})", text))


def unescape(text: str) -> bytes:
    r"""Read the inside of a string as C, Python and the shell write it. Raises ValueError.

    >>> unescape(r"\x00\x05kwire\n").hex()
    '00056b776972650a'
    """
    data, position = bytearray(), 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None or not token[0].isascii():
            raise ValueError(f"{text[position : position + 4]!r} is no byte")
        if token[1]:
            data.append(int(token[1], 16))
        else:
            data.append(_SHORT[token[2]] if token[2] else ord(token[3]))
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
