"""Reader and Writer: positions in bytes and in the message, faults; and nodes as construct's users use them."""

from __future__ import annotations

import io
import runpy
import subprocess
import sys
from typing import Any

import construct
import pytest
from construct import Int16ub

from kwire.codecs.wire import INT8, INT16, INT32, Node, Reader, Writer, construct_classes
from kwire.codecs.wire.reader import MOST_FAULTS
from kwire.errors import (
    BadBoolean,
    BadText,
    BadUnknownTags,
    DefaultTag,
    OutOfRange,
    TooLong,
    TooManyFaults,
    TrailingBytes,
    Truncated,
    WrongType,
)
from tests.codecs.wire.walks import unwritable


def test_bytes_are_taken_one_portion_after_the_other() -> None:
    reader = Reader(b"abcdef")
    assert (reader.take(2), reader.pos) == (b"ab", 2)
    assert (reader.take(0), reader.pos) == (b"", 2)
    assert (reader.take(4), reader.pos) == (b"cdef", 6)
    assert reader.take(0) == b""


def test_a_reader_may_begin_anywhere() -> None:
    reader = Reader(b"abcdef", 4)
    assert (reader.pos, reader.end, reader.take(2)) == (4, 6, b"ef")


@pytest.mark.parametrize("salvage", [False, True])
def test_more_than_there_is_is_refused_where_it_begins(salvage: bool) -> None:
    reader = Reader(b"abcdef", salvage=salvage)
    reader.take(4)
    reader.path.append("topic")
    with pytest.raises(Truncated) as caught:
        reader.take(3)
    error = caught.value
    assert (error.offset, error.need, error.have, error.rest, error.path) == (4, 3, 2, b"ef", "topic")
    assert reader.pos == 4


def test_an_error_has_the_message_the_path_and_the_faults_before_it() -> None:
    reader = Reader(b"abcdef", salvage=True)
    reader.message, reader.version = "Fetch", 4
    reader.path += ["topics", 3]
    reader.fault(BadText, 2, raw=b"c")
    with pytest.raises(Truncated) as caught:
        reader.refuse(Truncated, 3, need=9, have=3)
    assert str(caught.value) == "Fetch v4: topics[3]: 9 bytes needed, 3 left (offset 3)"
    assert [str(fault) for fault in caught.value.faults] == ["Fetch v4: topics[3]: the text is not UTF-8 (offset 2)"]
    assert caught.value.rest == b"def"


def test_an_error_keeps_its_path_when_the_walk_continues() -> None:
    reader = Reader(b"", salvage=True)
    reader.path.append("a")
    reader.fault(BadText, 0)
    reader.path[0] = "b"
    assert reader.faults[0].path == "a"


def test_children_are_read_under_their_names() -> None:
    reader = Reader(bytes.fromhex("0102 03"))
    assert reader.child("id", INT16) == 0x0102
    assert reader.prefix(INT8) == 3
    assert (reader.path, reader.tell()) == ([], 3)
    with pytest.raises(Truncated) as caught:
        reader.child("port", INT32)
    assert caught.value.path == "port"
    with pytest.raises(Truncated) as caught:
        Reader(b"").prefix(INT32)
    assert caught.value.path == ""


def test_a_mark_is_used_by_tracing_only() -> None:
    reader = Reader(b"abc")
    assert reader.mark(0, "int32", 7) is None  # type: ignore[func-returns-value]
    assert (reader.pos, reader.faults) == (0, [])


def test_what_is_left_over_is_refused_in_strict_and_given_in_salvage() -> None:
    strict, lenient = Reader(b"abcd", 1), Reader(b"abcd", 1, salvage=True)
    for reader in (strict, lenient):
        reader.take(1)
    with pytest.raises(TrailingBytes) as caught:
        strict.finish()
    error = caught.value
    assert (error.offset, error.have, error.raw, error.rest) == (2, 2, b"cd", b"cd")
    assert lenient.finish() == b"cd"
    assert [(type(fault), fault.offset, fault.raw) for fault in lenient.faults] == [(TrailingBytes, 2, b"cd")]


def test_nothing_left_over_is_no_fault() -> None:
    reader = Reader(b"ab", salvage=True)
    reader.take(2)
    assert (reader.finish(), reader.faults) == (b"", [])
    assert Reader(b"").finish() == b""


@pytest.mark.parametrize("salvage", [False, True])
def test_a_note_is_kept_in_strict_too(salvage: bool) -> None:
    reader = Reader(b"abc", salvage=salvage)
    reader.note(DefaultTag, 1, found=3, raw=b"b")
    assert [(type(fault), fault.offset, fault.found, fault.raw) for fault in reader.faults] == [
        (DefaultTag, 1, 3, b"b")
    ]


def test_salvage_gives_up_after_so_many_faults() -> None:
    reader = Reader(b"abc", salvage=True)
    for _ in range(MOST_FAULTS):
        reader.fault(BadBoolean, 1, found=2)
    with pytest.raises(TooManyFaults) as caught:
        reader.fault(BadBoolean, 2, found=3)
    error = caught.value
    assert (error.offset, error.need, error.rest, len(error.faults)) == (2, 10_000, b"c", 10_000)


@pytest.mark.parametrize("salvage", [False, True])
def test_notes_beyond_the_limit_are_left_out_and_refuse_nothing(salvage: bool) -> None:
    reader = Reader(b"abc", salvage=salvage)
    for number in range(MOST_FAULTS + 1):
        reader.note(DefaultTag, 1, found=number)
    assert [fault.found for fault in reader.faults] == list(range(MOST_FAULTS))


def test_a_class_of_constructs_own_reads_from_a_reader_as_from_a_stream() -> None:
    reader = Reader(bytes.fromhex("0001 0002 03 ff"))
    assert (reader.child("x", Int16ub), reader.child("y", Int16ub), reader.tell()) == (1, 2, 4)
    assert (reader.read(1), reader.read()) == (b"\x03", b"\xff")
    assert (reader.read(5), reader.pos) == (b"", 6)
    assert (Reader(b"abc").read(5), Reader(b"abc").read(0)) == (b"abc", b"")


def test_a_class_of_constructs_own_writes_to_a_writer_as_to_a_stream() -> None:
    writer = Writer()
    writer.child("x", Int16ub, 1)
    assert writer.write(b"\xff\xfe") == 2
    assert writer.out.hex() == "0001fffe"


def test_children_are_written_under_their_names() -> None:
    writer = Writer("Fetch", 4)
    writer.child("id", INT16, 258)
    assert (writer.out.hex(), writer.path) == ("0102", [])
    with pytest.raises(WrongType) as caught:
        writer.child("topics", INT16, 65536)
    assert str(caught.value) == "Fetch v4: topics: int16: 65536 is out of range (-32768 to 32767)"


def test_a_writer_refuses_with_all_it_knows() -> None:
    writer = Writer("Fetch", 4)
    writer.path += ["topics", 1]
    with pytest.raises(TooLong) as caught:
        writer.refuse(TooLong, found=5, need=4)
    assert str(caught.value) == "Fetch v4: topics[1]: 5 is too long; at most 4 can be written"
    with pytest.raises(BadUnknownTags) as other:
        Writer().refuse(BadUnknownTags, found="x")
    assert (other.value.message, other.value.version, other.value.path) == (None, None, "")


def test_a_node_is_used_as_any_construct_is() -> None:
    assert INT16.parse(bytes.fromhex("0102 ff")) == 258
    assert INT16.build(258) == b"\x01\x02"
    assert INT16.parse_stream(io.BytesIO(b"\x01\x02")) == 258
    assert INT16.parse_stream(Reader(b"\xff\x01\x02", 1)) == 258
    stream = io.BytesIO()
    assert INT16.build_stream(258, stream) == 258
    assert stream.getvalue() == b"\x01\x02"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("7", "str '7'"),
        (None, "NoneType None"),
        ("x" * 58, f"str '{'x' * 58}'"),
        ("x" * 59, f"str '{'x' * 56}..."),
    ],
    ids=range(4),
)
def test_a_wrong_value_is_told_in_short(value: Any, found: str) -> None:
    text = unwritable(INT32, value, WrongType)
    assert text == f"it: int32 is needed, not {found}"


def test_a_number_of_any_length_is_told_in_short() -> None:
    text = unwritable(INT32, 10**5000, OutOfRange)
    assert text == "it: int32: <int> is out of range (-2147483648 to 2147483647)"


def test_a_plain_node_has_no_size_and_no_name_to_speak_of() -> None:
    assert (Node().least, Node().type_name) == (0, "?")


def test_construct_is_imported_when_a_tree_is_used_as_a_construct() -> None:
    program = (
        "import sys, kwire; codec = kwire.codec('MetadataRequest', 4); codec.decode(bytes(5)); "
        "print('construct' in sys.modules); data = bytes(5); print(codec.schema.parse(data) == codec.decode(data)); "
        "import construct; print(isinstance(codec.schema, construct.Construct)); "
        "print(isinstance(codec.schema.fields[0], construct.Subconstruct))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True", "True"]


def test_nodes_are_constructs_at_once_where_construct_was_imported_before() -> None:
    names = runpy.run_path(construct_classes.__file__)
    assert issubclass(names["Subconstruct"], construct.Subconstruct)
    assert not names["use_construct"]()


def test_a_node_has_the_methods_of_construct_and_no_others() -> None:
    program = (
        "import sys; from kwire.codecs.wire import INT16; print(INT16.parse(bytes(2)), 'construct' in sys.modules, "
        "hasattr(INT16, 'nonsense'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "True", "False"]
