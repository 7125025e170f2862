"""Fields of interest are found wherever a message has them; no walk passes over a node that it does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kwire
from kwire.arrow.binary_columns.encode_cells import maker
from kwire.codecs import wire
from kwire.codecs.columns.column_plan import ColumnPlan, paths_in
from kwire.codecs.fallback.generated_python import compile_decoder, compile_encoder
from kwire.codecs.fallback.source_builder import NoEmitter
from kwire.codecs.field_search import FieldLocation, field_locations, find_values, plan_fields
from kwire.codecs.json_writer import to_json
from kwire.codecs.message_codec import Codec
from kwire.codecs.native.node_table import NoTable, node_table
from kwire.codecs.schema_tree import grow_tree
from kwire.codecs.wire import UnknownNode, content_of
from kwire.protocol.identify import _Judge
from kwire.protocol.message_summary import MessageSummary, error_codes
from kwire.protocol.record_fields import find_record_sets, plan_record_fields
from kwire.redact.masking import mask_message
from kwire.redact.redactor import Redactor
from kwire.redact.secret_messages import always_carries, may_carry
from kwire.render.enum_names import EnumNames
from kwire.render.frame_tree import fields
from kwire.render.json_objects.json_template import template
from kwire.render.record_text import _fields_text
from kwire.render.schema_layout import layout_bnf, layout_json, rows
from tests.cases import case_by_case

M: Any = kwire.messages


class Strange(wire.Node):
    """A node of a kind that is new."""


def strange_codec(node: wire.Node) -> Codec:
    """The codec of ControlledShutdownRequest v1 whose one field is of another node."""
    spec = kwire.codec("ControlledShutdownRequest", 1).spec
    schema = grow_tree(spec, 1)
    schema.fields[0].subcon = node
    return Codec(spec, 1, schema)


MESSAGE = M.ControlledShutdownRequest(broker_id=(3,))
WALKS: dict[str, Callable[[Codec], Any]] = {
    "summary": lambda codec: MessageSummary().facts(codec, MESSAGE),
    "error codes": lambda codec: error_codes(codec, MESSAGE),
    "places": field_locations,
    "seal": lambda codec: mask_message(codec, MESSAGE),
    "may carry": may_carry,
    "always carries": always_carries,
    "redact": lambda codec: Redactor()._kind(codec, "broker_id", True),
    "meaning": lambda codec: EnumNames(codec).name("broker_id", 3),
    "tree": lambda codec: list(fields(codec, MESSAGE, 0)),
    "rows": rows,
    "bnf": lambda codec: list(layout_bnf(codec)),
    "layout": layout_json,
    "template": template,
    "record values": lambda codec: _fields_text(codec.schema, MESSAGE),
    "guess": lambda codec: _Judge(codec).struct(codec.schema, MESSAGE),
    "records": plan_record_fields,
    "to json": lambda codec: to_json(codec.schema, MESSAGE),
    "from json": lambda codec: codec.from_json({"brokerId": [3]}),
    "paths": lambda codec: paths_in([codec.schema]),
    "columns": lambda codec: ColumnPlan([codec.schema], "", None),
    "maker": lambda codec: maker([codec.schema], codec.schema),
    "node table": lambda codec: node_table(codec.schema),
    "compiled decoder": lambda codec: compile_decoder(codec.schema, "t"),
    "compiled encoder": lambda codec: compile_encoder(codec.schema, "t"),
}


@case_by_case("name", WALKS)
@case_by_case("node", [Strange(), wire.Array(Strange())])
def test_an_unknown_node_raises(name: str, node: wire.Node) -> None:
    with pytest.raises(TypeError, match="Strange") as raised:
        WALKS[name](strange_codec(node))
    assert raised.type in (TypeError, UnknownNode, NoTable, NoEmitter)


def test_a_node_below_arrays_and_null_raises() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    schema = grow_tree(codec.spec, 12)
    topics = next(field for field in schema.fields if field.name == "topics")
    next(field for field in topics.subcon.element.fields if field.name == "partitions").subcon.element = Strange()
    with pytest.raises(UnknownNode, match="Strange"):
        MessageSummary().facts(Codec(codec.spec, 12, schema), M.MetadataResponse())


def test_arrays_of_arrays_are_no_field() -> None:
    with pytest.raises(UnknownNode, match="an array of arrays"):
        content_of(wire.Array(wire.Array(wire.INT8)))


def test_error_codes_of_every_depth_are_found_and_zero_is_none() -> None:
    topic, partition = M.MetadataResponse.MetadataResponseTopic, M.MetadataResponse.MetadataResponsePartition
    message = M.MetadataResponse(
        topics=(
            topic(name="a", error_code=3),
            topic(name="b", partitions=(partition(error_code=5), partition(), partition(error_code=9))),
        )
    )
    expected = (("topics.error_code", 3), ("topics.partitions.error_code", 5), ("topics.partitions.error_code", 9))
    assert error_codes(kwire.codec("MetadataResponse", 5), message) == expected
    assert error_codes(kwire.codec("MetadataResponse", 5), M.MetadataResponse()) == ()


def test_a_message_without_codes_and_null_arrays_have_none() -> None:
    assert error_codes(kwire.codec("MetadataRequest", 1), M.MetadataRequest(topics=None)) == ()
    assert error_codes(kwire.codec("FetchResponse", 11), M.FetchResponse(error_code=-1)) == (("error_code", -1),)


def is_port(place: FieldLocation) -> str | None:
    return place.owner if place.name == "port" else None


def test_a_plan_has_only_the_ways_to_what_is_of_interest() -> None:
    (step,) = plan_fields(kwire.codec("MetadataResponse", 1), is_port)
    assert (step.name, step.is_array, [one.path for one in step.steps]) == ("brokers", True, ["brokers.port"])
    broker = M.MetadataResponse.MetadataResponseBroker(node_id=1, host="h", port=9)
    message = M.MetadataResponse(brokers=(broker,))
    ((found, structs, held),) = find_values((step,), message)
    assert (found.interest, structs, held) == ("MetadataResponseBroker", (message, broker), 9)
    assert plan_fields(kwire.codec("HeartbeatRequest", 0), is_port) == ()


def test_places_are_the_fields_that_hold_no_struct_tagged_ones_too() -> None:
    places = field_locations(kwire.codec("FetchResponse", 17))
    assert "responses" not in places
    assert places["responses.partitions.current_leader.leader_id"].owner == "LeaderIdAndEpoch"
    assert places["node_endpoints.host"].name == "host"


def test_records_are_found_with_their_topic_and_partition() -> None:
    Topic, Partition = M.ProduceRequest.TopicProduceData, M.ProduceRequest.PartitionProduceData  # noqa: N806
    empty, full = Partition(index=0, records=None), Partition(index=4, records=b"batch")
    message = M.ProduceRequest(topic_data=(Topic(name="orders", partition_data=(empty, full)),))
    assert [(*place, data) for place, data in find_record_sets(kwire.codec("ProduceRequest", 9), message)] == [
        ("orders", None, 4, b"batch")
    ]
    assert plan_record_fields(kwire.codec("MetadataRequest", 9)) == ()
