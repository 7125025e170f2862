"""Errors: their texts, their paths, their hints, and that nothing of them is lost on the way between processes."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import errors as faults
from kwire.errors import (
    BadUnknownTags,
    DecodeError,
    DumpError,
    EncodeError,
    KwireError,
    MissingExtra,
    MissingField,
    NotInVersion,
    NullNotWritable,
    OutOfRange,
    SpecError,
    TooLong,
    UnknownField,
    UnknownMessage,
    UnsupportedVersion,
    WrongType,
    ZnodeError,
    excerpt,
    path_text,
    suggestion,
)
from tests.cases import case_by_case

PLACE: dict[str, Any] = {"segments": ["topics", 2, "name"], "message": "MetadataRequest", "version": 4}


def all_kinds(kind: type[KwireError] = KwireError) -> Iterator[type[KwireError]]:
    yield kind
    for kin in kind.__subclasses__():
        yield from all_kinds(kin)


@pytest.mark.parametrize(
    ("segments", "text"),
    [
        ([], ""),
        (["topics"], "topics"),
        (["topics", 0], "topics[0]"),
        (["topic_states", 0, "partition_states", 3, "isr", 1], "topic_states[0].partition_states[3].isr[1]"),
        (["a", "b", "c"], "a.b.c"),
        ([3, "name"], "[3].name"),
        (["matrix", 1, 2], "matrix[1][2]"),
    ],
)
def test_a_path_joins_names_with_dots_and_puts_indexes_in_brackets(segments: list[str | int], text: str) -> None:
    assert path_text(segments) == text


def test_only_so_many_words_are_compared() -> None:
    assert suggestion("name", ["x"] * 999 + ["nam"]) == "did you mean nam?"
    assert suggestion("name", ["x"] * 1000 + ["nam"]) == ""


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("no words for it")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("topic", "'topic'"),
        (None, "None"),
        ("\n\x1b[31m", r"'\n\x1b[31m'"),
        ("x" * 78, f"'{'x' * 78}'"),
        ("x" * 79, f"'{'x' * 76}..."),
        ([10**5000], "<list>"),
        (Odd(), "<Odd>"),
    ],
)
def test_an_excerpt_is_short_whatever_the_value(value: Any, text: str) -> None:
    assert excerpt(value) == text


@pytest.mark.parametrize(
    ("word", "known", "said"),
    [
        ("versons", ["name", "versions", "type"], "did you mean versions?"),
        ("MetadataRespons", ["FetchResponse", "MetadataResponse"], "did you mean MetadataResponse?"),
        ("qqq", ["name", "versions"], ""),
        ("name", [], ""),
    ],
)
def test_a_suggestion_names_the_nearest_word_or_nothing(word: str, known: list[str], said: str) -> None:
    assert suggestion(word, known) == said
    assert suggestion(word, iter(known)) == said


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KwireError("as it is"), "as it is"),
        (SpecError("no name", file="a.json", line=7, json_path="$.fields[0]"), "a.json:7: $.fields[0]: no name"),
        (SpecError("no name", line=2, hint="write one"), "spec:2: $: no name; write one"),
        (UnknownMessage("release", "9.9"), "there is no release '9.9'"),
        (UnknownMessage("message", "Metadta", ["Metadata"]), "there is no message 'Metadta'; did you mean Metadata?"),
        (UnknownMessage("profile", "xyz", ["KIP-1", "KIP-2"]), "there is no profile 'xyz'; known: KIP-1, KIP-2"),
        (UnknownMessage("message", "zz", [f"Some{n}" for n in range(12)]), "there is no message 'zz'"),
        (UnsupportedVersion("Fetch", 99, "0-18"), "Fetch has no version 99; versions: 0-18"),
        (
            UnsupportedVersion("Fetch", 9, "", "Kafka 0.8.2.2"),
            "Fetch has no version 9 in Kafka 0.8.2.2; versions: none",
        ),
        (
            MissingExtra("lz4 compression", "cramjam", "compression"),
            "lz4 compression needs the library cramjam; pip install 'kwire[compression]'",
        ),
        (DumpError("no hex", file="a.txt", line=3, hint="xxd"), "a.txt:3: no hex; xxd"),
        (DumpError("no hex", file="a.bin"), "a.bin: no hex"),
        (DumpError("no hex", line=3), "dump:3: no hex"),
        (DumpError("no hex"), "dump: no hex"),
        (UnknownMessage("profile", "xyz", ["KIP-36"]), "there is no profile 'xyz'; known: KIP-36"),
        (ZnodeError("no number", znode="/brokers/ids/1", json_path="$.port"), "/brokers/ids/1: $.port: no number"),
        (ZnodeError("no object"), "$: no object"),
        (
            MissingExtra("zstd", "cramjam", "compression"),
            "zstd needs the library cramjam; pip install 'kwire[compression]'",
        ),
        (DecodeError(offset=7, inflated_offset=3), "the bytes do not decode (offset 7, inflated offset 3)"),
    ],
)
def test_the_text_of_an_error_without_a_place_in_a_message(error: KwireError, text: str) -> None:
    assert str(error) == text


@pytest.mark.parametrize(
    ("kind", "facts", "text"),
    [
        (EncodeError, {"found": 7}, "7 cannot be written"),
        (WrongType, {"need": "int8", "found": "str '7'"}, "int8 is needed, not str '7'"),
        (
            OutOfRange,
            {"need": "int8", "found": "200", "low": -128, "high": 127},
            "int8: 200 is out of range (-128 to 127)",
        ),
        (NullNotWritable, {}, "null is not allowed here"),
        (TooLong, {"found": 40000, "need": 32767}, "40000 is too long; at most 32767 can be written"),
        (
            NotInVersion,
            {"found": "'dc1'", "first": 5},
            "'dc1' would be lost: version 4 does not have this field; the first version that has it is 5",
        ),
        (NotInVersion, {"found": "1"}, "1 would be lost: version 4 does not have this field; no version has it"),
        (BadUnknownTags, {"found": "cut"}, "the unknown tagged fields cannot be written: cut"),
        (MissingField, {}, "the field is missing"),
        (UnknownField, {"hint": "did you mean name?"}, "there is no such field; did you mean name?"),
        (DecodeError, {"offset": 9}, "the bytes do not decode (offset 9)"),
    ],
)
def test_the_text_of_an_error_at_a_place_in_a_message(kind: type[Any], facts: dict[str, Any], text: str) -> None:
    assert str(kind(**PLACE, **facts)) == f"MetadataRequest v4: topics[2].name: {text}"


def test_without_a_message_the_place_is_the_path_and_without_a_path_nothing() -> None:
    assert str(MissingField(segments=["topics"])) == "topics: the field is missing"
    assert str(MissingField()) == "the field is missing"
    assert str(MissingField(message="Fetch", version=0)) == "Fetch v0: the field is missing"
    assert str(DecodeError(offset=3)) == "the bytes do not decode (offset 3)"


def test_a_placed_error_has_its_facts_as_attributes() -> None:
    error = faults.BadLength(offset=4, **PLACE, found=6, need=6, have=3)
    assert (error.path, error.segments) == ("topics[2].name", ("topics", 2, "name"))
    assert (error.message, error.version, error.offset) == ("MetadataRequest", 4, 4)
    assert (error.found, error.need, error.have) == (6, 6, 3)
    assert error.reason == "length 6 needs 6 bytes, 3 left"


def test_missing_facts_are_empty() -> None:
    error = DecodeError()
    assert (error.offset, error.path, error.message, error.version) == (0, "", None, None)
    assert (error.found, error.need, error.have) == (None, None, None)
    assert (error.raw, error.partial, error.rest, error.faults) == (b"", None, b"", ())
    assert SpecError().others == ()


def test_braces_in_what_was_found_are_not_filled_in() -> None:
    assert WrongType(need="int8", found="str '{message}'").reason == "int8 is needed, not str '{message}'"


@case_by_case("kind", list(all_kinds()), ids=lambda kind: kind.__name__)
def test_every_error_survives_pickling_with_its_data(kind: type[KwireError]) -> None:
    error = kind()
    inner = faults.BadBoolean(offset=1, segments=["flag"], found=2, raw=b"\x02")
    error.__dict__.update(PLACE, found=(1, 2, 3), need=5, have=6, raw=b"\x00", partial={"topics": [1]}, faults=(inner,))
    error.hint = "its own"
    again = pickle.loads(pickle.dumps(error))
    assert again.__dict__.keys() == error.__dict__.keys()
    assert (again.__class__, str(again)) == (kind, str(error))
    assert str(again.faults[0]) == "flag: boolean byte 2; 0 and 1 are written (offset 1)"
    assert (again.hint, again.partial, again.segments) == ("its own", {"topics": [1]}, ["topics", 2, "name"])


def test_the_tree_has_one_branch_for_each_whose_fault_it_can_be() -> None:
    assert {SpecError, UnknownMessage, UnsupportedVersion, DumpError} <= set(KwireError.__subclasses__())
    assert all(issubclass(kind, KwireError) for kind in (EncodeError, DecodeError))
    assert not issubclass(EncodeError, DecodeError)
    assert not issubclass(DecodeError, EncodeError)
