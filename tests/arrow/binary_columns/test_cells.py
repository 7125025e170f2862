"""A column of bytes becomes a column of structs, each value out of its own cell; structs become bodies again.

Bodies are those of every message and version, as Kafka wrote them.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.arrow.binary_columns.cell_prefix import CellPrefix, check_size
from kwire.arrow.binary_columns.decode_cells import AT_ONCE, CellReader, Cells, portions
from kwire.arrow.binary_columns.encode_cells import CellWriter
from kwire.arrow.binary_columns.header_column import TYPE, header_column
from kwire.arrow.read_options import BadOption
from kwire.arrow.rows.row_faults import MalformedFrame
from kwire.errors import BadFrame, NotInVersion, Truncated, UnknownField, UnknownMessage, UnknownVersion, WrongType
from kwire.protocol.headers.apis import Apis
from kwire.protocol.nested import coordinator_record, encode_record, encode_subscription, subscription_of
from kwire.schema.catalog import catalog_for
from tests.arrow.captures import FRAMES, PCAP
from tests.arrow.golden import golden_columns
from tests.conftest import spread

GOOD = golden_columns()["UpdateMetadataRequest"]
NAME = "UpdateMetadataRequest"


def read(cells: list[bytes | None], versions: Any = None, **options: Any) -> list[Any]:
    reader = CellReader(Cells(**{"name": NAME, **options}))
    arrays = list(reader.read(pa.array(cells, pa.binary()), versions))
    whole = pa.concat_arrays([pa.nulls(0, reader.type), *arrays])
    whole.validate(full=True)
    assert whole.type == reader.type
    values: list[Any] = whole.to_pylist()
    return values


@given(st.lists(st.one_of(st.sampled_from(GOOD), st.tuples(st.binary(max_size=30), st.integers(-1, 12))), max_size=12))
def test_bad_cells_spoil_no_others(rows: list[tuple[bytes, int]]) -> None:
    cells, versions = [body for body, _ in rows], pa.array([version for _, version in rows], pa.int32())
    found = read(list(cells), versions, include_errors=True)
    assert len(found) == len(rows)
    for value, (body, version) in zip(found, rows, strict=True):
        assert [value] == read([body], version, include_errors=True)
        assert (value["_error"] is None) == (value["_corrupt_record"] is None)
        if (body, version) in GOOD:
            assert value["_error"] is None
        elif value["_error"] is not None and body:
            assert value["_corrupt_record"] == body
    assert [value and value["controller_id"] for value in read(list(cells), versions)] == [
        value["controller_id"] for value in found
    ]


def test_what_is_tolerated_has_a_value_and_an_error() -> None:
    body, version = GOOD[0]
    (value,) = read([body + b"tail"], version, include_errors=True)
    (clean,) = read([body], version)
    assert {name: value[name] for name in clean} == clean
    assert (value["_error"]["code"], value["_corrupt_record"]) == ("TRAILING_BYTES", body + b"tail")


def test_null_and_unknown_versions_are_null() -> None:
    body, version = GOOD[0]
    assert read([None, body, body], pa.array([version, None, 99], pa.int32()), include_errors=True)[:2] == [
        None,
        dict.fromkeys(read([body], version, include_errors=True)[0]),
    ]
    (value,) = read([body], 99, include_errors=True)
    assert value["_error"]["code"] == "UNSUPPORTED_VERSION"


def test_failfast_says_which_row() -> None:
    body, version = GOOD[0]
    with pytest.raises(MalformedFrame, match=r"path=row 1, .*api=UpdateMetadataRequest"):
        read([body, b"\xff"], version, mode="FAILFAST")


def test_fields_are_chosen() -> None:
    body, version = GOOD[-1]
    (value,) = read([body], version, fields=("live_brokers.rack", "controller_id"))
    assert list(value) == ["live_brokers", "controller_id"]
    assert all(list(broker) == ["rack"] for broker in value["live_brokers"])


def test_whole_requests_say_their_version() -> None:
    frames = [frame.data for frame in kwire.read_dump(FRAMES)]
    found = read(list(frames), name="UpdateMetadata", direction="request", framed=True, include_errors=True)
    assert [value["controller_id"] for value in found if value["controller_id"] is not None] == [1]
    assert [value["_error"] for value in found if value] == [None] * 6
    cut = next(frame for frame in frames if frame[4:6] == b"\0\6")
    (value,) = read([cut[:-1]], name="UpdateMetadata", direction="request", framed=True, include_errors=True)
    assert value["_error"]["code"] == "TRUNCATED"
    (value,) = read([cut + b"!"], name="UpdateMetadata", direction="request", framed=True, include_errors=True)
    assert value["_error"]["code"] == "BAD_SIZE"


def test_whole_responses_are_told_their_version() -> None:
    message = kwire.messages.MetadataResponse(controller_id=7)
    frame = kwire.encode_response(message, 12, correlation_id=1)
    (value,) = read([frame], 12, name="MetadataResponse", framed=True)
    assert value["controller_id"] == 7


def test_records_of_kafkas_topics_say_their_version() -> None:
    messages = kwire.messages
    metadata = messages.GroupMetadataValue(protocol_type="c")
    group = encode_record(coordinator_record(messages.GroupMetadataKey(group="g"), metadata, 3))
    offset = encode_record(
        coordinator_record(messages.OffsetCommitKey(group="g", topic="t"), messages.OffsetCommitValue(offset=9), 3)
    )
    keys, values = [group[0], offset[0], None, b"\0"], [group[1], offset[1], None, b"\0"]
    assert [value and value["topic"] for value in read(keys, name="OffsetCommitKey")] == [None, "t", None, None]
    assert [value and value["group"] for value in read(keys, name="GroupMetadataKey")] == ["g", None, None, None]
    assert read(values, name="OffsetCommitValue")[1]["offset"] == 9
    old = b"\0\0" + kwire.codec("OffsetCommitKey", 0).encode(messages.OffsetCommitKey(topic="u"))
    assert read([old], name="OffsetCommitKey")[0]["topic"] == "u"


def test_subscriptions_of_newer_versions_are_read_as_ours() -> None:
    data = encode_subscription(subscription_of(["a"]))
    newer = b"\0\x63" + data[2:]
    assert [value["topics"] for value in read([data, newer], name="ConsumerProtocolSubscription")] == [["a"], ["a"]]


def test_records_of_the_metadata_log_say_their_type() -> None:
    from kwire.protocol.nested import encode_frame, framed_record

    topic = encode_frame(framed_record(kwire.messages.TopicRecord(name="t")))
    other = encode_frame(framed_record(kwire.messages.NoOpRecord()))
    assert [value and value["name"] for value in read([topic, other], name="TopicRecord")] == ["t", None]


def test_names_that_do_not_tell_are_refused() -> None:
    with pytest.raises(BadOption, match="request or response is needed"):
        read([], name="Metadata")
    with pytest.raises(UnknownMessage, match="did you mean Metadata"):
        read([], name="Metadatas")
    with pytest.raises(UnknownMessage, match="column"):
        read([], fields=("nonsense",))


def test_cells_are_read_in_portions() -> None:
    cells = pa.array([b"x" * (AT_ONCE - 1), b"y", b"z", None], pa.binary())
    assert list(portions(cells)) == [(0, 2), (2, 4)]
    assert list(portions(cells.slice(1))) == [(0, 3)]
    assert list(portions(cells.slice(0, 0))) == []


BODIES = golden_columns()


@pytest.mark.parametrize("name", spread(sorted(BODIES), 50))
def test_structs_become_their_bodies(name: str) -> None:
    bodies = pa.array([body for body, _ in BODIES[name]], pa.binary())
    versions = pa.array([version for _, version in BODIES[name]], pa.int32())
    cells = Cells(name=name, mode="FAILFAST")
    structs = pa.concat_arrays(list(CellReader(cells).read(bodies, versions)))
    structs.validate(full=True)
    again = pa.concat_arrays(list(CellWriter(cells).write(structs, versions)))
    assert again.to_pylist() == bodies.to_pylist()


def written(value: Any, version: int = 1, mode: str = "FAILFAST") -> list[Any]:
    type_ = None if value else pa.struct([])
    writer = CellWriter(Cells(name="Metadata", direction="request", mode=mode))
    return [body for array in writer.write(pa.array([value], type_), version) for body in array.to_pylist()]


def test_what_is_missing_has_its_default() -> None:
    codec = kwire.codec("MetadataRequest", 1)
    assert written({"topics": [{"name": "t"}]}) == [
        codec.encode(
            kwire.messages.MetadataRequest(topics=[kwire.messages.MetadataRequest.MetadataRequestTopic(name="t")])
        )
    ]
    assert written({"topics": None}) == [codec.encode(kwire.messages.MetadataRequest(topics=None))]
    assert written(None) == [None]


def test_what_would_be_lost_is_an_error_or_null() -> None:
    with pytest.raises(UnknownField, match="topic"):
        written({"topic": []})
    with pytest.raises(NotInVersion):
        written({"topics": None, "allow_auto_topic_creation": False})
    with pytest.raises(WrongType):
        written({"topics": 3.5})
    assert written({"topic": []}, mode="PERMISSIVE") == [None]
    assert written({"topics": None}, 99, mode="PERMISSIVE") == [None]


CATALOG = catalog_for()


def read_prefixed(name: str, data: bytes, version: int | None = None, framed: bool = False) -> Any:
    found = CellPrefix(CATALOG.spec(name), CATALOG, framed).read(data, version)
    return found and (found[0].version, found[0].bare, found[1])


def test_versions_are_given_by_the_side_that_knows_them() -> None:
    assert read_prefixed("MetadataResponse", b"body", 3) == (3, True, b"body")
    assert read_prefixed("OffsetCommitValue", b"\0\3body") == (3, True, b"body")
    assert read_prefixed("OffsetCommitKey", b"\0\0body") == (0, True, b"body")
    assert read_prefixed("OffsetCommitKey", b"\0\2body") is None
    assert read_prefixed("GroupMetadataKey", b"\0\2body") == (0, True, b"body")
    assert read_prefixed("ConsumerProtocolAssignment", b"\0\x63body") == (3, True, b"body")
    assert read_prefixed("TopicRecord", b"\1\2\0body") == (0, True, b"body")
    assert read_prefixed("TopicRecord", b"\0\2\0body") is None
    assert read_prefixed("TopicRecord", b"\1\3\0body") is None


def test_frames_say_their_api() -> None:
    frame = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 4, correlation_id=1)
    assert read_prefixed("MetadataRequest", frame, framed=True) == (4, False, frame)
    assert read_prefixed("FetchRequest", frame, framed=True) is None
    assert [
        CellPrefix(CATALOG.spec(name), CATALOG, True).has_version for name in ("FetchRequest", "FetchResponse")
    ] == [
        True,
        False,
    ]
    assert CellPrefix(CATALOG.spec("FetchRequest"), CATALOG).has_version is False
    assert CellPrefix(CATALOG.spec("OffsetCommitValue"), CATALOG).has_version is True


def test_what_cannot_be_told_raises() -> None:
    with pytest.raises(UnknownVersion, match="OffsetCommitValue has no version 99"):
        read_prefixed("OffsetCommitValue", b"\0\x63")
    with pytest.raises(Truncated):
        read_prefixed("OffsetCommitValue", b"\0")
    for data, error in ((b"\0\0\0\x09" + bytes(8), Truncated), (b"\0\0\0\7" + bytes(8), BadFrame), (b"\0", Truncated)):
        with pytest.raises(error):
            check_size(data)


def test_requests_say_who_asks_for_what() -> None:
    frames = [frame for path in (FRAMES, PCAP) for frame in kwire.read_dump(path)]
    results = [one for one in kwire.decode_frames(frames) if isinstance(one, kwire.Request)]
    column = header_column(pa.array([one.frame.data for one in results]), Apis(catalog_for()), True)
    assert column.type == TYPE
    assert [tuple(value.values()) for value in column.to_pylist()] == [
        (
            len(one.frame.data),
            one.api_key,
            one.api_name,
            one.api_version,
            one.correlation_id,
            one.header.client_id,
        )
        for one in results
    ]


def test_what_is_no_frame_has_none() -> None:
    cells = pa.array([None, b"", b"\0\0\0\x08" + bytes(8), b"\0\0\0\x09" + bytes(8), b"\0\0\0\4\0\0\0\5"])
    asked = header_column(cells, Apis(catalog_for()), True).to_pylist()
    assert [value and value["client_id"] for value in asked] == [None] * 5
    assert [value and value["api_name"] for value in asked] == [None, None, "Produce", None, None]
    answered = header_column(cells, Apis(catalog_for()), False).to_pylist()
    assert [value and value["correlation_id"] for value in answered] == [None, None, 0, None, 5]
