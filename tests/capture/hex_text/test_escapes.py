"""Lists, strings and base64, and what is none."""

from __future__ import annotations

import pytest

from kwire.capture.hex_text.dialects import unbase64, unescape, unlist


def test_a_list_may_have_short_numbers_and_capitals() -> None:
    assert unlist("0x0, 0XFF,0x1a") == b"\x00\xff\x1a"


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (r"\x00\xfF", b"\x00\xff"),
        (r"\0\a\b\t\n\v\f\r\\\'\"", b"\0\a\b\t\n\v\f\r\\'\""),
        (r"a\x31b", b"a1b"),
        (r"\n1\x06k\t7", b"\n1\6k\t7"),  # Python writes a digit behind \n as it is
        (r"\001\3770", b"\1\xff0"),
    ],
)
def test_escapes_of_strings(text: str, data: bytes) -> None:
    assert unescape(text) == data


@pytest.mark.parametrize("text", [r"\x0", r"\07", r"\u0041", r"\q", "\u00e9", "\\"])
def test_what_is_no_byte_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a byte"):
        unescape(text)


def test_base64_is_taken_as_encoders_write_it() -> None:
    assert unbase64("AAAA BA==") == b"\0\0\0\4"
    for text in ("AAAABA", "AAAABB==", "AA=A", "AAA-"):
        with pytest.raises(ValueError, match=r"."):
            unbase64(text)
