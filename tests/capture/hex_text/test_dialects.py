"""One frame in every dialect, as the tools themselves write it."""

from __future__ import annotations

import pytest

from kwire.capture.hex_text.dialects import DIALECTS
from kwire.capture.hex_text.parser import parse_hex_text
from kwire.errors import DumpError

FRAME = bytes.fromhex("00000010 0012 0000 0000002a 0005 6b77697265 00")
SAMPLES = {
    "hexdump -C": """\
00000000  00 00 00 10 00 12 00 00  00 00 00 2a 00 05 6b 77  |...........*..kw|
00000010  69 72 65 00                                       |ire.|
00000014
""",
    "annotated hexdump": """\
00000000  00 00 00 10              size = 16                              int32
                                   header
00000004  00 12                      request_api_key = 18                 int16
00000006  00 00 00 00 00 2a 00 05    and so on
0000000e  6b 77 69 72 65 00
""",
    "hexdump.py": """\
00000000: 00 00 00 10 00 12 00 00  00 00 00 2A 00 05 6B 77  ...........*..kw
00000010: 69 72 65 00                                       ire.
""",
    "Format-Hex": """\
   Label: C:\\dump.bin

          Offset Bytes                                           Ascii
                 00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F
          ------ ----------------------------------------------- -----
0000000000000000 00 00 00 10 00 12 00 00 00 00 00 2A 00 05 6B 77 \u2026\u2026*\u2026kw
0000000000000010 69 72 65 00                                     ire\u2026
""",
    "Netty's hexdump": """\
         +-------------------------------------------------+
         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |
+--------+-------------------------------------------------+----------------+
|00000000| 00 00 00 10 00 12 00 00 00 00 00 2a 00 05 6b 77 |...........*..kw|
|00000010| 69 72 65 00                                     |ire.            |
+--------+-------------------------------------------------+----------------+
""",
    "xxd": """\
00000000: 0000 0010 0012 0000 0000 002a 0005 6b77  ...........*..kw
00000010: 6972 6500                                ire.
""",
    "od -Ax -tx1": """\
000000 00 00 00 10 00 12 00 00 00 00 00 2a 00 05 6b 77
000010 69 72 65 00
000014
""",
    "od -Ao -tx1": """\
0000000 00 00 00 10 00 12 00 00 00 00 00 2a 00 05 6b 77  >...........*..kw<
0000020 69 72 65 00                                      >ire.<
0000024
""",
    "od -Ad -tx1": """\
0000000 00 00 00 10 00 12 00 00 00 00 00 2a 00 05 6b 77
0000016 69 72 65 00
0000020
""",
    "tcpdump -X": """\
22:13:20.000000 IP localhost.50000 > localhost.9092: Flags [P.], length 20
\t0x0000:  0000 0010 0012 0000 0000 002a 0005 6b77  ...........*..kw
\t0x0010:  6972 6500                                ire.
""",
    "tshark -x": """\
    1   0.000000    127.0.0.1 \u2192 127.0.0.1    Kafka 86 Kafka ApiVersions v0 Request

0000  00 00 00 10 00 12 00 00 00 00 00 2a 00 05 6b 77   ...........*..kw
0010  69 72 65 00                                       ire.
""",
    "xxd -i": """\
unsigned char dump_bin[] = {
  0x00, 0x00, 0x00, 0x10, 0x00, 0x12, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2a,
  0x00, 0x05, 0x6b, 0x77, 0x69, 0x72, 0x65, 0x00
};
unsigned int dump_bin_len = 20;
""",
    "a list of 0x..": """\
frame := []byte{
  0x00, 0x00, 0x00, 0x10, 0x00, 0x12, 0x00, 0x00, 0x00, 0x0, 0X00, 0x2A,
  0x00, 0x05, 0x6b, 0x77, 0x69, 0x72, 0x65, 0x00}
""",
    "bytea of PostgreSQL": r"\x00000010001200000000002a00056b7769726500",
    r"\x..": r"""
\x00\x00\x00\x10\x00\x12\x00\x00\x00\x00\x00\x2a\
\x00\x05\x6b\x77\x69\x72\x65\x00
""",
    "hex in quotes": "frame = bytes.fromhex('00000010001200000000002a00056b7769726500')",
    "a Buffer of Node.js": "<Buffer 00 00 00 10 00 12 00 00 00 00 00 2a 00 05 6b 77 69 72 65 00>",
    "base64 in quotes": '"AAAAEAASAAAAAAAqAAVrd2lyZQA=",',
    r"a string with \x..": r"""data = b'\x00\x00\x00\x10\x00\x12\x00\x00\x00\x00\x00*\x00\x05kwire\x00'""",
    "colon-separated": "00:00:00:10:00:12:00:00:00:00:00:2a:\n00:05:6b:77:69:72:65:00\n",
    "dash-separated": "00-00-00-10-00-12-00-00-00-00-00-2A-00-05-6B-77-69-72-65-00",
    "plain hex": "00000010001200000000002a0005\n6b 77 69 72 65 00\n",
    "hex # comment": """\
00 00 00 10              # size
0012 0000                // api key, version
   # the rest
0000002a 0005 6b77697265 ; correlation, client
00
""",
    "base64": "AAAAEAASAAAAAAAqAAVrd2ly\nZQA=\n",
}


def test_every_row_of_the_table_has_a_sample() -> None:
    assert [dialect.name for dialect in DIALECTS] == list(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_dialect_gives_the_same_bytes(name: str) -> None:
    assert parse_hex_text(SAMPLES[name]) == (FRAME, name)


@pytest.mark.parametrize("name", SAMPLES)
def test_windows_line_ends_change_nothing(name: str) -> None:
    assert parse_hex_text(SAMPLES[name].replace("\n", "\r\n")) == (FRAME, name)


# a part of the sample, what stands there instead, the line of the error
DAMAGED = [
    ("hexdump -C", "00000010", "00000020", 2),
    ("hexdump -C", "69 72", "69 7z", 2),
    ("hexdump -C", "69 72", "69", 2),
    ("annotated hexdump", "00 12 ", "00 1  ", 3),
    ("hexdump.py", "69 72", "69 7O", 2),
    ("Format-Hex", "0000000000000010", "0000000000000020", 7),
    ("Format-Hex", "69 72 65 00 ", "69 7 65 00  ", 7),
    ("xxd", "6972", "697", 2),
    ("od -Ax -tx1", "000010", "000011", 2),
    ("od -Ax -tx1", "69 72", "697 2", 2),
    ("od -Ax -tx1", "000014", "000013", 3),
    ("od -Ao -tx1", "0000024", "0000025", 3),
    ("od -Ad -tx1", "0000016", "0000017", 2),
    ("tcpdump -X", "6972 6500 ", "6972 650  ", 3),
    ("tcpdump -X", "0x0010:", "0x0020:", 3),
    ("tshark -x", "0010  69", "0020  69", 4),
    ("tshark -x", "69 72 65 00", "69 72 6z 00", 4),
    ("xxd -i", "0x6b", "0x6g", 3),
    ("xxd -i", "0x6b, ", "", 5),
    ("a list of 0x..", "0x6b", "6b", 3),
    ("Netty's hexdump", "69 72", "69 7z", 5),
    ("Netty's hexdump", "|00000010|", "|00000020|", 5),
    ("bytea of PostgreSQL", "6b77", "6b7", 1),
    ("base64 in quotes", "ZQA=", "ZQA", 1),
    (r"\x..", r"\x6b", r"\x6", 3),
    ("hex in quotes", "6b77", "6b7", 1),
    ("a Buffer of Node.js", " 00>", " 0>", 1),
    ("dash-separated", "-6B", "-6", 1),
    (r"a string with \x..", "kwire", "kw\u00efre", 1),
    (r"a string with \x..", r"\x05", r"\q", 1),
    (r"a string with \x..", "kwire", "k'wire", 1),
    ("colon-separated", "6b:", "6b;", 2),
    ("colon-separated", "6b:", "6:", 2),
    ("plain hex", "6b", "6", 2),
    ("plain hex", "6b", "6g", 2),
    ("hex # comment", "6b77", "6b7", 4),
    ("base64", "ZQA=", "ZQA", 2),
    ("base64", "ZQA=", "Z?A=", 2),
]


@pytest.mark.parametrize(("name", "part", "instead", "line"), DAMAGED)
def test_damaged_text_is_refused_with_its_line(name: str, part: str, instead: str, line: int) -> None:
    assert part in SAMPLES[name]
    with pytest.raises(DumpError) as caught:
        parse_hex_text(SAMPLES[name].replace(part, instead))
    assert caught.value.line == line


PRINTED = {
    "Java's Arrays.toString": "[0, 0, 0, 16, 0, 18, 0, 0, -128, 0, 0, -1, 0, 5, 107, 119, 105, 114, 101, 0]",
    "Go's fmt.Println": "[0 0 0 16 0 18 0 0 128 0 0 255 0 5 107 119 105 114 101 0]",
    "Go's %#v": "[]byte{0x0, 0x0, 0x0, 0x10, 0x0, 0x12, 0x0, 0x0, 0x80, 0x0, 0x0, 0xff, 0x0, "
    "0x5, 0x6b, 0x77, 0x69, 0x72, 0x65, 0x0}",
    "Go's %q": r'''"\x00\x00\x00\x10\x00\x12\x00\x00\x80\x00\x00\xff\x00\x05kwire\x00"''',
    "Go's % X": "00 00 00 10 00 12 00 00 80 00 00 FF 00 05 6B 77 69 72 65 00",
    "Node's JSON": '{"type":"Buffer","data":[0,0,0,16,0,18,0,0,128,0,0,255,0,5,107,119,105,114,101,0]}',
    "Node's Uint8Array": "Uint8Array(20) [\n    0,   0, 0,  16,   0,  18,  0, 0, 128,\n"
    "    0,   0, 255, 0,   5, 107, 119, 105,\n  114, 101, 0\n]",
    "a Java literal": "byte[] data = {0, 0, 0, 16, 0, 18, 0, 0, -128, 0, 0, -1, 0, 5, 107, 119, 105, 114, 101, 0};",
    "a Rust literal": "let frame = vec![0x00, 0x00, 0x00, 0x10, 0x00, 0x12, 0x00, 0x00, 0x80, 0x00, 0x00, 0xff, 0x00, "
    "0x05, 0x6b, 0x77, 0x69, 0x72, 0x65, 0x00];",
    "Erlang's binary": "<<0,0,0,16,0,18,0,0,128,0,0,255,0,5,107,119,105,114,101,0>>",
    "an Erlang tuple": "{data,<<0,0,0,16,0,18,0,0,128,0,0,255,0,5,107,119,105,114,101,0>>}.",
    "an Elixir literal": "<<0x00, 0x00, 0x00, 0x10, 0x00, 0x12, 0x00, 0x00, 0x80, 0x00, 0x00, 0xFF, 0x00, "
    "0x05, 0x6B, 0x77, 0x69, 0x72, 0x65, 0x00>>",
    "Java casts": "new byte[] {0x00, 0x00, 0x00, 0x10, 0x00, 0x12, 0x00, 0x00, (byte) 0x80, 0, 0, (byte)0xff, 0,\n"
    "    0x05, 0x6b, 0x77, 0x69, 0x72, 0x65, 0x00};",
    "Kotlin calls": "byteArrayOf(0, 0, 0, 16, 0, 18, 0, 0, 0x80.toByte(), 0, 0, 0xff.toByte(), 0, 5, 107, 119, 105,"
    " 114, 101, 0)",
    "C suffixes": "uint8_t f[] = {0x00u, 0x00u, 0x00u, 0x10u, 0x00u, 0x12u, 0x00u, 0x00u, 0x80u, 0x00u, 0x00u, 0xffu,"
    " 0x00u, 0x05u, 0x6bu, 0x77u, 0x69u, 0x72u, 0x65u, 0x00u};",
    "Java's longs": "{0x00L, 0x00L, 0x00L, 0x10L, 0x00L, 0x12L, 0L, 0L, 0x80L, 0L, 0L, 0xffL, 0L, 5L, 107L, 119L, 105L,"
    " 114L, 101L, 0L}",
    "Rust suffixes": "&[0u8, 0u8, 0u8, 0x10u8, 0u8, 0x12_u8, 0u8, 0u8, 0x80u8, 0, 0, 0xffu8, 0, 5, 107, 119, 105,"
    " 114, 101, 0]",
    "Rust's byte string": r'''b"\0\0\0\x10\0\x12\0\0\x80\0\0\xff\0\x05kwire\0"''',
    "C++": "std::vector<uint8_t> v{0x00, 0x00, 0x00, 0x10, 0x00, 0x12, 0x00, 0x00, 0x80, 0x00, 0x00, 0xff, 0x00, "
    "0x05, 0x6b, 0x77, 0x69, 0x72, 0x65, 0x00};",
    "Python's bytearray": r"bytearray(b'\x00\x00\x00\x10\x00\x12\x00\x00\x80\x00\x00\xff\x00\x05kwire\x00')",
    "SQL": "X'0000001000120000800000FF00056B7769726500'",
    "Python's list": "[0, 0, 0, 16, 0, 18, 0, 0, 128, 0, 0, 255, 0, 5, 107, 119, 105, 114, 101, 0]",
    "Python's repr": r"b'\x00\x00\x00\x10\x00\x12\x00\x00\x80\x00\x00\xff\x00\x05kwire\x00'",
    "a mail": "> 00 00 00 10 00 12 00 00 80 00 00 FF\n> 00 05 6B 77 69 72 65 00",
    "an answered mail": "> > 0000001000120000\n> > 800000ff00056b7769726500",
}


@pytest.mark.parametrize("who", PRINTED)
def test_what_languages_print(who: str) -> None:
    assert parse_hex_text(PRINTED[who])[0].hex() == "0000001000120000800000ff00056b7769726500"


def test_in_rust_a_zero_is_a_byte_whatever_follows() -> None:
    assert parse_hex_text(r"""let x = b"\0\012\\0\02";""")[0] == b"\0\x0012\\0\x002"
    assert parse_hex_text(r"b'\012\x00'")[0] == b"\n\0"  # Python's octal


def test_a_colon_in_a_string_is_a_colon() -> None:
    assert parse_hex_text(r"b'\x00\x09kafka:9092'")[0] == b"\0\tkafka:9092"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[0, 0, 0, 16, 0, 18, 300, 0]", "300 in a list of numbers is not a byte"),
        ("<Buffer 00 00 00 10 ... 70 more bytes>", "Node.js leaves the others out"),
        ("[\n  0, 0, 0, 0,\n  ... 20 more items\n]", "Node.js leaves the others out"),
    ],
)
def test_lists_with_missing_information(text: str, problem: str) -> None:
    with pytest.raises(DumpError, match=problem):
        parse_hex_text(text)


def test_every_row_is_damaged_by_a_test() -> None:
    assert {name for name, *_ in DAMAGED} == set(SAMPLES)
