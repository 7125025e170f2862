"""Which columns come out, by options or by a schema."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import kwire
from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.read_options import BadOption, Options
from kwire.arrow.rows.row_schema import TYPES
from kwire.errors import UnknownMessage
from tests.arrow.captures import FRAMES, PCAP, rows_of

BROKERS = pa.list_(pa.struct([("rack", pa.string()), ("id", pa.int32())]))
CORRUPT = ("_corrupt_record", pa.binary())


def schema(given: Any = None, **options: Any) -> Any:
    return BatchReader(Options.parse(options), given).schema


def test_all_columns_come_in_their_order() -> None:
    assert schema(metadata="true").names == list(TYPES)
    assert schema().names == list(TYPES)[:-1]
    assert schema(body="none").names == [name for name in TYPES if name not in ("message", "_metadata")]
    kinds = {body: schema(body=body).field("message").type for body in ("json", "raw")}
    assert kinds == {"json": pa.string(), "raw": pa.binary()}


def test_permissive_always_keeps_what_is_malformed() -> None:
    assert schema(columns="offset,path").names == ["offset", "path", "_corrupt_record", "_error"]
    assert schema(columns="offset", mode="DROPMALFORMED").names == ["offset"]
    renamed = schema(columns="offset", columnNameOfCorruptRecord="bad")
    assert renamed.names == ["offset", "bad", "_error"]
    assert rows_of(FRAMES, columns="offset", columnNameOfCorruptRecord="bad")[0] == {
        "offset": 0,
        "bad": None,
        "_error": None,
    }
    with pytest.raises(BadOption, match="needs the column _corrupt_record BINARY; add it, or choose mode"):
        schema(pa.schema([("offset", pa.int64())]))


def test_a_struct_is_of_the_messages_of_one_api() -> None:
    names = [name for name in kwire.arrow_schema("MetadataResponse").names if name != "body_index"]
    one = schema(body="struct", apis="MetadataResponse").field("message").type
    assert [field.name for field in one] == names
    assert schema(body="struct", apis="Metadata", direction="response").field("message").type == one
    both = schema(body="struct", apis="Metadata").field("message").type
    assert (both.field(0).name, both.field(1).type) == ("request", one)
    for apis in ("", "Metadata,Fetch"):
        with pytest.raises(BadOption, match="a struct is of one api"):
            schema(body="struct", apis=apis)


def test_both_sides_of_an_api_are_in_one_struct() -> None:
    rows = rows_of(PCAP, body="struct", apis="UpdateMetadata")
    assert {row["direction"] for row in rows} == {"request", "response"}
    for row in rows:
        other = "response" if row["direction"] == "request" else "request"
        assert row["message"][row["direction"]] is not None
        assert row["message"][other] is None


def test_apis_and_directions_leave_others_out() -> None:
    everything = rows_of(PCAP)
    some = [row for row in everything if row["api_name"] == "UpdateMetadata"]
    assert rows_of(PCAP, apis="UpdateMetadata") == some
    assert rows_of(PCAP, apis="UpdateMetadataRequest") == [row for row in some if row["direction"] == "request"]
    answers = [row for row in everything if row["direction"] == "response"]
    assert rows_of(PCAP, direction="response") == answers
    with pytest.raises(UnknownMessage, match="did you mean UpdateMetadata"):
        schema(apis="UpdateMetadat")


def test_a_schema_chooses_fields_in_its_own_order() -> None:
    wanted = pa.schema([("message", pa.struct([("live_brokers", BROKERS), ("controller_id", pa.int32())])), CORRUPT])
    rows = rows_of(PCAP, schema=wanted, body="struct", apis="UpdateMetadataRequest")
    whole = rows_of(PCAP, body="struct", apis="UpdateMetadataRequest")
    assert [row["message"] for row in rows] == [
        {
            "live_brokers": [{"rack": one["rack"], "id": one["id"]} for one in row["message"]["live_brokers"]],
            "controller_id": row["message"]["controller_id"],
        }
        for row in whole
    ]
    assert list(rows[0]["message"]["live_brokers"][0]) == ["rack", "id"]
    response = pa.struct([("response", pa.struct([("error_code", pa.int16())]))])
    rows = rows_of(PCAP, schema=pa.schema([("message", response), CORRUPT]), body="struct", apis="UpdateMetadata")
    assert {str(row["message"]) for row in rows} == {"None", "{'response': {'error_code': 0}}"}


@pytest.mark.parametrize(
    ("columns", "options", "error", "text"),
    [
        ([("api_key", pa.int32())], {}, BadOption, "the column api_key is int16, not int32"),
        ([("nonsense", pa.int32())], {}, UnknownMessage, "column 'nonsense'"),
        ([("message", pa.binary())], {}, BadOption, "message is string then, not binary"),
        ([("message", pa.struct([("nonsense", pa.int32())]))], {"body": "struct"}, UnknownMessage, "nonsense"),
        ([("message", pa.struct([("topics", pa.int32())]))], {"body": "struct"}, BadOption, "message is struct"),
        ([("message", pa.string())], {"body": "struct"}, BadOption, "message is a struct, not string"),
        ([("message", pa.string())], {"body": "none"}, UnknownMessage, "column 'message'"),
    ],
)
def test_what_is_not_there_is_refused(columns: Any, options: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        schema(pa.schema([*columns, CORRUPT]), apis="MetadataRequest", **options)
