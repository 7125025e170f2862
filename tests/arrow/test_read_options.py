"""Options are read by the names that Spark has for them; what is not known is refused."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from kwire.arrow.read_keywords import ReadOptions
from kwire.arrow.read_options import NAMES, BadOption, Options


def test_names_are_those_of_sparks_readers_in_any_case() -> None:
    options = Options.parse({"MAXPARTITIONBYTES": "1k", "recursivefilelookup": "TRUE", "apis": " Metadata , Fetch,"})
    assert (options.max_partition_bytes, options.recursive_file_lookup) == (1024, True)
    assert options.apis == ("Metadata", "Fetch")
    assert {"pathGlobFilter", "modifiedBefore", "ignoreMissingFiles", "columnNameOfCorruptRecord"} <= set(NAMES)


def test_type_checkers_know_each_option_in_snake_case_and_by_its_name_in_spark() -> None:
    known = ReadOptions.__optional_keys__
    assert known == set(NAMES) | {field.name for field in dataclasses.fields(Options)}


def test_values_of_python_are_taken_too() -> None:
    options = Options.parse({"maxframebytes": 100, "recursiveFileLookup": True, "columns": ["path", "offset"]})
    assert (options.max_frame_bytes, options.recursive_file_lookup) == (100, True)
    assert options.columns == ("path", "offset")
    assert pickle.loads(pickle.dumps(options)) == options


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("mode", "whatever", "known: PERMISSIVE, DROPMALFORMED, FAILFAST"),
        ("body", "xml", "known: json, struct, raw, none"),
        ("dumpFormat", "csv", "known: auto, frames, hex, pcap, log"),
        ("direction", "up", "known: auto, request, response"),
        ("maxPartitionBytes", "lots", "a number from 1 to"),
        ("maxFrameBytes", "7", "a number from 8 to"),
        ("maxRecordsPerBatch", "-1", "a number from 1 to"),
        ("ignoreMissingFiles", "maybe", "it is true or false"),
        ("modifiedAfter", "yesterday", "no point in time"),
        ("body_", "json", "did you mean body"),
        ("badRecordsPath", "/tmp", "_corrupt_record"),
    ],
)
def test_what_is_wrong_is_refused(name: str, value: Any, text: str) -> None:
    with pytest.raises(BadOption, match=text) as caught:
        Options.parse({name: value})
    assert name in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
