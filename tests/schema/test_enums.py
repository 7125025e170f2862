"""Names for numbers: how a value behaves, and how it is found."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from kwire import values
from kwire.errors import UnknownMessage
from kwire.values import kind, words

ROOT = Path(__file__).parents[2]


def test_every_error_code_is_explained_in_one_sentence() -> None:
    abouts = [code.about for code in kind("ErrorCode")]  # type: ignore[attr-defined]
    assert len(abouts) == len(set(abouts)) == 138
    for about in abouts:
        assert about[0].isupper() and about.endswith(".") and ". " not in about and len(about) < 180, about


def test_a_value_is_its_number() -> None:
    code = values.ErrorCode(56)
    assert (str(code), f"{code}", f"{code:d}", repr(code)) == (
        "KAFKA_STORAGE_ERROR",
        "KAFKA_STORAGE_ERROR",
        "56",
        "<ErrorCode 56 KAFKA_STORAGE_ERROR>",
    )
    assert code == 56 and hash(code) == hash(56) and {56: "x"}[code] == "x" and isinstance(code, int)
    assert json.dumps([code]) == "[56]" and msgspec.json.encode([code]) == b"[56]"
    assert code is values.ErrorCode.KAFKA_STORAGE_ERROR is pickle.loads(pickle.dumps(code))


def test_a_number_without_a_name_stays_a_number() -> None:
    code = values.ErrorCode(5120)
    assert (str(code), repr(code)) == ("5120", "<ErrorCode 5120>")
    assert getattr(code, "name") is None  # noqa: B009 (checkers know members alone)
    assert code == 5120 == pickle.loads(pickle.dumps(code)) == copy.deepcopy(code) and {5120: "x"}[code] == "x"
    assert json.dumps(code) == "5120" and msgspec.json.encode(code) == b"5120"
    assert (code.about, code.retriable, code.since) == ("", None, None)
    assert 5120 not in [int(known) for known in values.ErrorCode]  # asking adds nothing to the table


@pytest.mark.parametrize("text", ["kafka_storage_error", "KAFKA_STORAGE_ERROR", "Kafka_Storage_Error", "56"])
def test_a_value_is_found_by_its_name_in_any_case(text: str) -> None:
    assert values.ErrorCode(text) is values.ErrorCode(56)


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("ErrorCode", "Not_Leader_For_Partition", 6),
        ("ErrorCode", "UNKNOWN", -1),
        ("ErrorCode", "-1", -1),
        ("ErrorCode", "5120", 5120),
        ("ScramMechanism", "SCRAM-SHA-256", 1),
        ("CompressionType", "ZSTD", 4),
        ("ControlRecordType", "QUORUM_REASSIGNMENT", 2),
        ("OffsetSpec", "earliest", -2),
        ("MetadataVersion", "3.9-IV0", 21),
        ("Acks", "all", -1),
    ],
)
def test_a_value_is_found_by_a_former_name_or_another_spelling(name: str, text: str, number: int) -> None:
    assert kind(name)(text) == number


def test_operations_are_a_set_of_bits() -> None:
    operations = values.AuthorizedOperations
    assert str(operations(1 << 3 | 1 << 8)) == "READ|DESCRIBE"
    assert str(operations(1 << 3 | 1 << 30)) == "READ|30"
    assert str(operations(0)) == "0"
    assert str(operations(-(2**31))) == "NOT_ASKED_FOR"
    assert operations(264) == 264


def test_what_there_is_not_is_named() -> None:
    with pytest.raises(UnknownMessage, match=r"no ErrorCode 'KAFKA_STORAGE'; did you mean KAFKA_STORAGE_ERROR\?"):
        values.ErrorCode("KAFKA_STORAGE")
    with pytest.raises(UnknownMessage, match=r"there is no kind of values 'ErrorCodes'; did you mean ErrorCode\?"):
        kind("ErrorCodes")
    with pytest.raises(UnknownMessage, match="there is no list of words 'Groups'"):
        words("Groups")
    with pytest.raises(AttributeError, match="Nothing"):
        vars(values)["__getattr__"]("Nothing")
    with pytest.raises(ValueError, match=r"1\.5"):
        kind("ErrorCode")(cast(Any, 1.5))


def test_importing_reads_no_table() -> None:
    count = "print(enums._tables.cache_info().currsize)"
    code = f"import kwire.values as v; from kwire.schema import enums; {count}; v.Acks(1); {count}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == ["0", "1"]


def test_a_kind_has_the_docstring_of_its_base() -> None:
    assert kind("ErrorCode").__doc__ == "Error codes, with their meaning and the recommended action."
    assert kind("Acks").__doc__
