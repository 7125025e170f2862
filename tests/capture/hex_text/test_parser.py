"""Hex text of every dialect that is read, and what is no such text."""

from __future__ import annotations

import contextlib

import hexdump
import pytest

from kwire.capture.hex_text.parser import parse_hex_text, read_hex_text
from kwire.errors import DumpError
from tests.linear_time.effort import no_hang

FRAME = bytes.fromhex("00000010 0012 0000 0000002a 0005 6b77697265 00")  # 20 bytes; the client id is "kwire"

ANNOTATED = """\
# what it is
00000000  00 00 00 10              size = 16                              int32
                                   header
00000004  00 12                      request_api_key = 18                 int16
00000006  00 00                      request_api_version = 0              int16
00000008  00 00 00 2a                correlation_id = 42                  int32
0000000c  00 05 6b 77 69 72 65       client_id = "kwire"

00000013  00
"""
XXD = """\
00000000: 0000 0010 0012 0000 0000 002a 0005 6b77  ...........*..kw
00000010: 6972 6500                                ire.
"""
XXD_1 = """\
00000000: 00 00 00 10 00 12 00 00 00 00 00 2a 00 05 6b 77  ...........*..kw
00000010: 69 72 65 00                                      ire.
"""
XXD_UPPER_4 = """\
00000000: 00000010 00120000 0000002A 00056B77  ...........*..kw
00000010: 69726500                             ire.
"""
XXD_COLUMNS_7 = """\
00000000: 0000 0010 0012 00  .......
00000007: 0000 0000 2a00 05  ....*..
0000000e: 6b77 6972 6500     kwire.
"""
HEXDUMP_PY = """\
00000000: 00 00 00 10 00 12 00 00  00 00 00 2A 00 05 6B 77  ...........*..kw
00000010: 69 72 65 00                                       ire.
"""
PLAIN = "0000001000120000\r\n\r\n# client\n0000002A 00056b 77\t69 72 65\n00\n"


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (ANNOTATED, "annotated hexdump"),
        (XXD, "xxd"),
        (XXD_1, "xxd"),
        (XXD_UPPER_4, "xxd"),
        (XXD_COLUMNS_7, "xxd"),
        (HEXDUMP_PY, "hexdump.py"),
        (PLAIN, "plain hex"),
    ],
)
def test_every_dialect_gives_the_same_bytes(text: str, dialect: str) -> None:
    assert parse_hex_text(text) == (FRAME, dialect)


@pytest.mark.parametrize("size", [*range(1, 34), 255, 256, 300])
def test_what_the_hexdump_package_writes_is_read(size: int) -> None:
    data = bytes((7 * n + 0x1E) % 256 for n in range(size))  # the characters column has spaces, letters and digits
    text = hexdump.hexdump(data, result="return")
    assert parse_hex_text(text)[0] == data


@pytest.mark.parametrize("first", ["00000000", "00001000", "0000ffff", "123456789abc"])
def test_offsets_may_begin_anywhere(first: str) -> None:
    second = f"{int(first, 16) + 4:0{len(first)}x}"
    assert parse_hex_text(f"{first}: 0102 0304  ....\n{second}: 0506       ..\n")[0] == b"\1\2\3\4\5\6"


def test_annotated_hexdumps_may_follow_each_other() -> None:
    text = "# one\n00000000  01 02  a\n00000002  03     b\n\n# two\n00000000  04 05  a\n00000002  06     b\n"
    assert parse_hex_text(text) == (b"\1\2\3\4\5\6", "annotated hexdump")
    with pytest.raises(DumpError, match="the offset is 0x0, but 0x2 bytes were read"):
        parse_hex_text("00000000: 0102\n00000000: 0304\n")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "f.txt:1: not recognised as hex or base64; ..."),
        (
            "# only a comment\n\n",
            "f.txt:1: not recognised as hex or base64; ...",
        ),
        ("  heading\n", "f.txt:1: not recognised as hex or base64; ..."),
        ("\n\nhello\n", "f.txt:3: not recognised as hex or base64; ..."),
        ("0000\nhello\n", "f.txt:2: this line is not plain hex, as those before it are"),
        ("00000000: 0102\n\n0304\n", "f.txt:3: this line is not xxd, as those before it are"),
        ("00000000: 0102\n*\n", "f.txt:2: nothing follows the *; the text is cut short"),
        ("00000000  01\n00000001: 02\n", "f.txt:2: this line is not annotated hexdump, as those before it are"),
        ("00000000  01  a\n00000001\n", "f.txt:2: this line is not annotated hexdump, as those before it are"),
        ("0001\n002\n", "f.txt:2: an odd number of hex digits; two digits make a byte"),
        ("00000000: 0102 030\n", "f.txt:1: an odd number of hex digits; two digits make a byte"),
    ],
)
def test_what_is_no_hex_is_refused_with_its_line(text: str, error: str) -> None:
    with pytest.raises(DumpError) as caught:
        parse_hex_text(text, "f.txt")
    assert str(caught.value) == error.replace("...", "kwire help input lists the forms")


@pytest.mark.parametrize(
    ("text", "line", "says", "read", "origin"),
    [
        (XXD.replace("00000010", "00000020"), 2, "0x20", "0x10", "0x0"),
        (HEXDUMP_PY.replace("00000010", "00000008"), 2, "0x8", "0x10", "0x0"),
        (ANNOTATED.replace("00000008", "00000009"), 6, "0x9", "0x8", "0x0"),
        ("00001000: 01\n00001002: 02\n", 2, "0x1002", "0x1", "0x1000"),
        ("00000000  01\n00000000  02 03\n00000003  04\n", 3, "0x3", "0x2", "0x0"),
    ],
)
def test_an_offset_that_does_not_fit_is_refused(text: str, line: int, says: str, read: str, origin: str) -> None:
    with pytest.raises(DumpError) as caught:
        parse_hex_text(text, "f.txt")
    assert caught.value.line == line
    assert caught.value.problem == f"the offset is {says}, but {read} bytes were read from {origin} on"
    assert caught.value.hint == "a line is missing or damaged"


def test_the_characters_beside_the_hex_are_not_read() -> None:
    assert parse_hex_text("00000000: 6162 6364  abcd\n00000004: 3031       01\n")[0] == b"abcd01"
    assert parse_hex_text("00000000: 61 62 63 64 65 66 67 68                           ab cd ef\n")[0] == b"abcdefgh"
    assert parse_hex_text("00000000  61 62     = 63 64\n00000002  63        65\n")[0] == b"abc"


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("00000000: 30 31 20 32 33 20 34 35  01 23 45\n", b"01 23 45"),
        ("00000000: 33 62 33 49  3b3I\n00000004: 1a da        ..\n", b"3b3I\x1a\xda"),
    ],
)
def test_narrow_lines_of_xxd_are_not_recognised_as_hexdump_py(text: str, data: bytes) -> None:
    assert parse_hex_text(text) == (data, "xxd")


@pytest.mark.parametrize("data", [b" ", b" " * 16, b"a" + b" " * 15, b" " * 11 + b"a"])
def test_spaces_at_the_end_of_a_line_may_be_gone(data: bytes) -> None:
    line = hexdump.hexdump(data, result="return").rstrip()
    assert parse_hex_text(line) == (data, "hexdump.py")


REPEATED = """\
00000000  00 00 00 10 00 00 00 00  00 00 00 00 00 00 00 00  |................|
00000010  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
*
00000040  65 6e 64                                          |end|
00000043
"""
OD_REPEATED = """\
000000 00 00 00 10 00 00 00 00 00 00 00 00 00 00 00 00
000010 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
*
000040 65 6e 64
000043
"""
XXD_REPEATED = """\
00000000: 0000 0010 0000 0000 0000 0000 0000 0000  ................
00000010: 0000 0000 0000 0000 0000 0000 0000 0000  ................
*
00000040: 656e 64                                  end
"""


@pytest.mark.parametrize("text", [REPEATED, OD_REPEATED, XXD_REPEATED])
def test_a_star_repeats_the_previous_line(text: str) -> None:
    assert parse_hex_text(text)[0] == b"\0\0\0\x10" + bytes(60) + b"end"


@pytest.mark.parametrize(
    ("change", "line", "problem"),
    [
        (("00000040", "00000041"), 4, "the * before it cannot mean 33 bytes"),
        (("00000040", "00000020"), 4, "the * before it cannot mean 0 bytes"),
        (("00000040", "ffffffffff40"), 4, "the * before it cannot mean 281474976710432 bytes"),
        (("00000043", "00000044"), 5, "the offset is 0x44, but 0x43 bytes were read from 0x0 on"),
        (("00000043", "00000043\n00000000  00"), 6, "the text should have ended before this line"),
        (("|end|", "|en|"), 4, "3 bytes, and 2 characters beside them"),
        (
            ("00000040  65 6e 64                                          |end|\n00000043\n", ""),
            3,
            "nothing follows the *",
        ),
    ],
)
def test_lines_left_out_are_checked(change: tuple[str, str], line: int, problem: str) -> None:
    with pytest.raises(DumpError) as caught:
        parse_hex_text(REPEATED.replace(*change))
    assert (caught.value.line, caught.value.problem) == (line, problem)


def test_a_line_that_can_be_read_two_ways_is_refused() -> None:
    with pytest.raises(DumpError, match="this may be plain hex, or a line of od with its offset"):
        parse_hex_text("000000 00 00 00 10\n")
    assert parse_hex_text("000000 00 00 00 10\n000004\n") == (b"\0\0\0\x10", "od -Ax -tx1")
    assert parse_hex_text("00000004 00 00 00 10\n") == (bytes.fromhex("0000000400000010"), "plain hex")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0000000 0000 1000 1200\n0000006\n", "these are words of two bytes, in the order of the machine"),
        ("000000 0000 1000 1200\n000006\n", "these are words of two bytes, in the order of the machine"),
        ("0000000 000000 010000 011000\n0000006\n", "these are octal numbers"),
    ],
)
def test_words_without_their_order_are_refused(text: str, problem: str) -> None:
    with pytest.raises(DumpError) as caught:
        parse_hex_text(text)
    assert caught.value.problem.startswith(problem)
    assert "od -Ax -tx1" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["hell", "test", "hellohello", "README.md", "0000001O00120000", "AAAAEAASAAAAAAAqAAVrd2lyZQB="]
)
def test_words_and_mistyped_hex_are_no_base64(text: str) -> None:
    with pytest.raises(DumpError):
        parse_hex_text(text)


def test_an_indented_paste_is_read() -> None:
    for text in (XXD, HEXDUMP_PY, ANNOTATED, REPEATED):
        indented = "".join(f"    {line}" for line in text.splitlines(keepends=True))
        assert parse_hex_text(indented) == parse_hex_text(text)


def test_packets_are_pieces_and_other_panes_are_left_out() -> None:
    text = "Frame (3 bytes):\n0000  01 02 03   ...\n\nReassembled TCP (2 bytes):\n0000  09 09   ..\n\n"
    text += "Frame (1 bytes):\n0000  04   .\n"
    assert read_hex_text(text) == ((b"\1\2\3", b"\4"), "tshark -x", True)
    with pytest.raises(DumpError, match="the offset is 0x2, but 0x1 bytes were read from 0x0 on"):
        read_hex_text("0000  01   .\n0002  02   .\n")


@pytest.mark.parametrize("piece", ["[", "{(", "byte[] ", "<Buffer ", "0x01 ", "0x01,"])
@pytest.mark.parametrize("end", ["", "\x01"])
def test_a_long_line_of_brackets_takes_linear_time(piece: str, end: str) -> None:
    with no_hang(60), contextlib.suppress(DumpError):  # quadratic time would be half an hour
        read_hex_text(piece * 50_000 + end)
