"""Strings, bytes and records; and malformed UTF-8, which Java reads in its own way (test plan T5)."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.codecs.wire import COMPACT_LENGTH, INT16_LENGTH, INT32_LENGTH, Bytes, Node, Records, String
from kwire.codecs.wire.length_prefixed import decode_malformed_text
from kwire.errors import (
    BadLength,
    BadText,
    NegativeLength,
    NullNotAllowed,
    NullNotWritable,
    StringTooLong,
    TooLong,
    WrongType,
)
from tests.cases import case_by_case
from tests.codecs.wire.walks import read, refused, salvage, unwritable, written

OLD, COMPACT = String(), String(COMPACT_LENGTH)
OLD_NULL, COMPACT_NULL = String(nullable=True), String(COMPACT_LENGTH, nullable=True)
BYTES, COMPACT_BYTES = Bytes(), Bytes(COMPACT_LENGTH)
BYTES_NULL, COMPACT_BYTES_NULL = Bytes(nullable=True), Bytes(COMPACT_LENGTH, nullable=True)
RECORDS_NULL = Records(COMPACT_LENGTH, nullable=True)


@pytest.mark.parametrize(
    ("node", "data", "value"),
    [
        (OLD, "0000", ""),
        (OLD, "0003 616263", "abc"),
        (OLD, "0006 c3a9 f09f9880", "é😀"),
        (OLD, "0001 00", "\0"),
        (OLD, "0003 efbbbf", "\ufeff"),
        (OLD, "0003 e280ae", "\u202e"),
        (OLD, "0002 c285", "\x85"),
        (OLD, "0003 1b5b6d", "\x1b[m"),
        (OLD_NULL, "0003 616263", "abc"),
        (OLD_NULL, "ffff", None),
        (OLD_NULL, "0000", ""),
        (COMPACT, "01", ""),
        (COMPACT, "04 616263", "abc"),
        (COMPACT, "8001" + "61" * 127, "a" * 127),
        (COMPACT_NULL, "00", None),
        (COMPACT_NULL, "01", ""),
        (BYTES, "00000000", b""),
        (BYTES, "00000003 00ff80", b"\x00\xff\x80"),
        (BYTES_NULL, "ffffffff", None),
        (COMPACT_BYTES, "03 ffff", b"\xff\xff"),
        (COMPACT_BYTES_NULL, "00", None),
        (COMPACT_BYTES_NULL, "01", b""),
        (RECORDS_NULL, "03 abcd", b"\xab\xcd"),
        (RECORDS_NULL, "00", None),
        (Records(), "00000001 02", b"\x02"),
    ],
)
def test_a_value_is_written_as_it_is_read(node: Node, data: str, value: Any) -> None:
    assert read(node, data) == value
    assert type(read(node, data)) is type(value)
    assert written(node, value) == data.replace(" ", "")


@pytest.mark.parametrize(
    ("node", "name", "least"),
    [
        (OLD, "string", 2),
        (OLD_NULL, "nullable string", 2),
        (COMPACT, "compact string", 1),
        (COMPACT_NULL, "compact nullable string", 1),
        (BYTES, "bytes", 4),
        (BYTES_NULL, "nullable bytes", 4),
        (COMPACT_BYTES, "compact bytes", 1),
        (RECORDS_NULL, "compact nullable records", 1),
        (Bytes(INT16_LENGTH), "bytes", 2),
        (String(INT32_LENGTH), "string", 4),
    ],
)
def test_a_node_has_its_type_and_its_least_size(node: Node, name: str, least: int) -> None:
    assert (node.type_name, node.least) == (name, least)


@pytest.mark.parametrize(
    ("node", "data"),
    [(OLD, "ffff"), (COMPACT, "00"), (BYTES, "ffffffff"), (COMPACT_BYTES, "00"), (Records(), "ffffffff")],
)
def test_null_is_refused_where_it_is_not_allowed(node: Node, data: str) -> None:
    for lenient in (False, True):
        assert refused(node, data, NullNotAllowed, salvage=lenient).found == -1
    assert unwritable(node, None, NullNotWritable) == "it: null is not allowed here"


def test_another_negative_length_is_null_in_salvage() -> None:
    assert salvage(OLD_NULL, "fff6") == (None, [(NegativeLength, 0, "it", "fff6")])
    assert salvage(BYTES_NULL, "80000000") == (None, [(NegativeLength, 0, "it", "80000000")])
    assert refused(OLD_NULL, "fff6", NegativeLength).found == -10


@pytest.mark.parametrize(
    ("node", "data", "need", "have"),
    [
        (OLD, "0004 616263", 4, 3),
        (OLD_NULL, "7fff 616263", 32767, 3),
        (COMPACT, "05 616263", 4, 3),
        (COMPACT_NULL, "ffffffff07 616263", 2147483646, 3),
        (BYTES, "7fffffff 616263", 2147483647, 3),
        (COMPACT_BYTES, "05 616263", 4, 3),
        (RECORDS_NULL, "05 616263", 4, 3),
    ],
)
def test_a_length_beyond_the_end_is_refused_at_the_length(node: Node, data: str, need: int, have: int) -> None:
    for lenient in (False, True):
        error = refused(node, data, BadLength, salvage=lenient)
        assert (error.offset, error.path, error.found, error.need, error.have) == (0, "it", need, need, have)


def test_text_has_at_most_32767_bytes_in_compact_strings_too() -> None:
    longest = "808002" + "61" * 32767
    assert read(COMPACT, longest) == "a" * 32767
    assert written(COMPACT, "a" * 32767) == longest
    for lenient in (False, True):
        error = refused(COMPACT, "818002" + "61" * 32768, StringTooLong, salvage=lenient)
        assert (error.offset, error.path, error.found) == (0, "it", 32768)
    for node in (OLD, COMPACT_NULL):
        text = "it: text of 32768 bytes is too long; at most 32767 bytes can be written"
        assert unwritable(node, "é" * 16384, TooLong) == text


def test_bytes_may_be_longer() -> None:
    assert len(read(BYTES, "00008000" + "61" * 32768)) == 32768


# bytes, and what Kafka 3.9.2 reads of them; {} is U+FFFD
MALFORMED = """
ff:{} fe:{} fffe:{}{} 80:{} bf:{} 6180:a{} 61ff62:a{}b
c0af:{}{} c080:{}{} c1bf:{}{} e08080:{}{}{} e09f:{}{} f08080af:{}{}{}{} e0c0:{}{}
eda080:{} edb080:{} edbfbf61:{}a eda080edb080:{}{} eda0bdedb880:{}{} eda0:{} eda061:{}a ed61:{}a
f4908080:{}{}{}{} f5808080:{}{}{}{} f8808080:{}{}{}{} fc808080:{}{}{}{} f4bfbfbf:{}{}{}{}
c3:{} e282:{} e28261:{}a f09f98:{} f09f9861:{}a f0:{} f1bf:{} e1:{} e0a0:{}
c328:{}( e228a1:{}({} e28228:{}( f0288cbc:{}({}{} f0908cf0:{}{} c2c2c2:{}{}{} e2e2:{}{}
""".split()


@case_by_case("data,text", [case.split(":") for case in MALFORMED])
def test_malformed_text_is_refused_in_strict_and_read_as_java_does_in_salvage(data: str, text: str) -> None:
    size = len(data) // 2
    value = text.replace("{}", "\ufffd")
    first = 1 if data[:2] == "61" else 0
    for node, length in ((OLD, f"{size:04x}"), (COMPACT_NULL, f"{size + 1:02x}")):
        at = len(length) // 2 + first
        error = refused(node, length + data, BadText)
        assert (error.offset, error.path, error.raw.hex()) == (at, "it", data)
        assert salvage(node, length + data) == (value, [(BadText, at, "it", data)])
    assert decode_malformed_text(bytes.fromhex(data)) == value


def test_well_formed_text_is_as_it_is() -> None:
    for text in ("", "abc", "é😀", "\ufffd", "\ud7ff\ue000\U0010ffff", "\0"):
        assert decode_malformed_text(text.encode()) == text


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_lone_surrogates_are_not_written(text: str) -> None:
    for node in (OLD, COMPACT_NULL):
        assert unwritable(node, text, WrongType) == f"it: text without lone surrogates is needed, not {text!a}"


@pytest.mark.parametrize(
    ("node", "value", "found"),
    [
        (OLD, b"abc", "bytes b'abc'"),
        (COMPACT_NULL, 7, "int 7"),
        (OLD_NULL, ["a"], "list ['a']"),
        (BYTES, "abc", "str 'abc'"),
        (COMPACT_BYTES_NULL, 7, "int 7"),
        (RECORDS_NULL, [1, 2], "list [1, 2]"),
    ],
)
def test_a_value_of_another_type_is_not_written(node: Node, value: Any, found: str) -> None:
    assert unwritable(node, value, WrongType) == f"it: {node.type_name} is needed, not {found}"


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_anything_of_bytes_is_written(kind: type) -> None:
    assert written(BYTES, kind(b"\x01\x02")) == "000000020102"
    assert written(BYTES, memoryview(b"\x01\x00\x02\x00").cast("H")) == "0000000401000200"
