"""Message classes: plain values, one class for all versions, defaults as Kafka has them, pickled by name."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import subprocess
import sys
from collections import deque
from dataclasses import replace
from typing import Any
from uuid import UUID

import msgspec
import pytest

import kwire
from kwire.codecs.fallback.generated_python import compile_decoder
from kwire.codecs.schema_tree import grow_tree
from kwire.schema.catalog import catalog_for
from kwire.schema.docstrings import struct_doc
from kwire.schema.message_classes import MessageMeta, default_for, message_class
from kwire.schema.message_spec import MessageSpec
from tests.conftest import ROOT
from tests.messages.small_specs import field, spec_of, struct


def made(spec: MessageSpec) -> Any:
    return message_class(spec)


@pytest.mark.parametrize(
    ("name", "defaults"),
    [
        ("ControlledShutdownRequest", {"broker_id": 0, "broker_epoch": -1}),
        (
            "MetadataRequest",
            {
                "topics": (),
                "allow_auto_topic_creation": True,
                "include_cluster_authorized_operations": False,
                "include_topic_authorized_operations": False,
            },
        ),
        ("RequestHeader", {"request_api_key": 0, "request_api_version": 0, "correlation_id": 0, "client_id": ""}),
        (
            "ConsumerProtocolSubscription",
            {"topics": (), "user_data": None, "owned_partitions": (), "generation_id": -1, "rack_id": None},
        ),
    ],
)
def test_a_message_holds_kafkas_defaults(name: str, defaults: dict[str, Any]) -> None:
    message = getattr(kwire.messages, name)()
    assert msgspec.structs.asdict(message) == defaults | {"unknown_tags": None}
    for attribute, default in defaults.items():
        assert type(getattr(message, attribute)) is type(default)


def test_every_type_has_its_default() -> None:
    types = ("int8", "bool", "float64", "string", "bytes", "records", "uuid", "[]int32")
    inner = field("Inner", "Inner", fields=[field("Y", default="7")])
    many = field("Many", "[]Inner2", fields=[field("Z")])
    null = field("Null", "Inner3", nullableVersions="0+", default="null", fields=[field("Z")])
    thing = made(spec_of(*(field(f"F{n}", name) for n, name in enumerate(types)), inner, many, null))
    inner_class = thing.Inner
    assert msgspec.structs.astuple(thing()) == (
        *(0, False, 0.0, "", b"", None, bytes(16), ()),
        *(inner_class(y=7), (), None, None),
    )


def test_a_field_has_its_default() -> None:
    inner, number = spec_of(field("Inner", "Inner", fields=[field("Y")]), field("N", default="-1")).struct.fields
    classes = made(spec_of(field("Inner", "Inner", fields=[field("Y")])))
    assert (default_for(inner, classes), default_for(number, classes)) == (classes.Inner(y=0), -1)


def test_attributes_come_in_the_order_of_the_spec_and_by_position_or_name() -> None:
    cls = kwire.messages.LeaderAndIsrRequest.LeaderAndIsrPartitionState
    names = "topic_name partition_index controller_epoch leader leader_epoch isr partition_epoch replicas"
    names += " adding_replicas removing_replicas is_new_replica leader_recovery_state unknown_tags"
    assert cls.__struct_fields__ == tuple(names.split())
    assert cls("orders", 3) == cls(partition_index=3, topic_name="orders")


def test_a_message_cannot_be_changed_but_replaced() -> None:
    message: Any = kwire.messages.ControlledShutdownRequest(broker_id=3)
    with pytest.raises(AttributeError):
        message.broker_id = 4
    with pytest.raises(AttributeError):
        message.anything = 4
    changed = msgspec.structs.replace(message, broker_epoch=9)
    assert (message.broker_epoch, changed.broker_id, changed.broker_epoch) == (-1, 3, 9)


def test_messages_compare_by_value() -> None:
    topic = kwire.messages.MetadataRequest.MetadataRequestTopic
    one, same = (kwire.messages.MetadataRequest(topics=(topic(name="a"),)) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != kwire.messages.MetadataRequest(topics=(topic(name="b"),))
    assert one != kwire.messages.MetadataRequest(topics=(topic(name="a"),), unknown_tags=b"\x05\x00")
    of_another_class: Any = kwire.messages.LeaderAndIsrResponse(error_code=3)
    assert kwire.messages.UpdateMetadataResponse(error_code=3) != of_another_class
    assert repr(topic(name="a")) == f"MetadataRequestTopic(topic_id={bytes(16)!r}, name='a', unknown_tags=None)"


PARTITION: Any = kwire.messages.MetadataResponse.MetadataResponsePartition
TOPIC: Any = kwire.messages.MetadataResponse.MetadataResponseTopic


@pytest.mark.parametrize("sequence", [list, tuple, deque])
def test_a_message_made_of_any_sequences_equals_the_decoded_one_and_never_changes(sequence: Any) -> None:
    partition = PARTITION(leader_id=1, replica_nodes=sequence([1, 2]), isr_nodes=sequence([1]))
    topic = TOPIC(0, "orders", UUID(int=7), partitions=sequence([partition]))
    message = kwire.messages.MetadataResponse(topics=sequence([topic]))
    codec = kwire.codec("MetadataResponse", 12)
    decoded = codec.decode(codec.encode(message))
    for made, read in ((message, decoded), (topic, decoded.topics[0]), (partition, decoded.topics[0].partitions[0])):
        assert made == read
        assert hash(made) == hash(read)
        assert repr(made) == repr(read)
    assert topic.topic_id == UUID(int=7).bytes
    assert pickle.loads(pickle.dumps(message)) == copy.copy(message) == message


def test_arrays_of_uuids_take_them_and_bytes_by_position_too() -> None:
    cls = kwire.messages.ConsumerGroupDescribeRequest
    assert cls(["a"]).group_ids == ("a",)
    spec = spec_of(field("Ids", "[]uuid"), field("Id", "uuid"), field("Numbers", "[]int32"))
    thing = made(spec)([UUID(int=1), bytes(16)], UUID(int=2), range(3))
    assert msgspec.structs.astuple(thing)[:3] == ((UUID(int=1).bytes, bytes(16)), UUID(int=2).bytes, (0, 1, 2))
    data = grow_tree(spec, 0).build(thing)
    assert grow_tree(spec, 0).parse(data) == thing


def test_what_is_no_sequence_is_left_to_the_encoder() -> None:
    for odd in ("ab", b"ab", {1, 2}, 7, iter([1])):
        message = PARTITION(replica_nodes=odd)
        assert message.replica_nodes is odd
        response = kwire.messages.MetadataResponse(topics=[TOPIC(partitions=[message])])
        with pytest.raises(kwire.EncodeError, match=r"replica_nodes: .*array is needed"):
            kwire.codec("MetadataResponse", 1).encode(response)
    with pytest.raises(kwire.EncodeError, match="name: string is needed, not list"):
        kwire.codec("MetadataResponse", 1).encode(kwire.messages.MetadataResponse(topics=[TOPIC(name=["a"])]))


def test_a_constructor_names_unexpected_arguments() -> None:
    with pytest.raises(TypeError, match="Extra positional arguments"):
        TOPIC(0, "a", bytes(16), False, [], 0, None, 8)
    with pytest.raises(TypeError, match="nam"):
        TOPIC(nam="a")
    assert list(inspect.signature(TOPIC).parameters)[:2] == ["error_code", "name"]


def test_decoders_make_messages_without_converting_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = kwire.codec("MetadataResponse", 12)
    data = codec.encode(kwire.messages.MetadataResponse(topics=[TOPIC(partitions=[PARTITION(isr_nodes=[1])])]))
    decode = compile_decoder(codec.schema, "plain")
    monkeypatch.setattr(MessageMeta, "__call__", lambda *_: pytest.fail("a constructor was called"))
    message, stop = decode(data, 0)
    assert (message.topics[0].partitions[0].isr_nodes, stop) == ((1,), len(data))


def test_a_message_has_no_methods_of_its_own() -> None:
    plain = msgspec.defstruct("Plain", ["x"], frozen=True, gc=False)
    cls = kwire.messages.ControlledShutdownRequest
    assert {name for name in dir(cls) if not name.startswith("__")} == {"broker_id", "broker_epoch", "unknown_tags"}
    assert set(dir(cls)) - {"broker_id", "broker_epoch", "unknown_tags"} == set(dir(plain)) - {"x"}


def test_a_message_has_one_class_for_all_versions_and_every_way_to_it() -> None:
    classes: set[type[Any]] = {kwire.codec("MetadataRequest", version).message_class for version in range(14)}
    classes |= {kwire.messages.MetadataRequest, message_class(catalog_for().spec("MetadataRequest"))}
    classes |= {kwire.codec("MetadataRequest", 4, profile="KIP-112").message_class}
    classes |= {kwire.codec("MetadataRequest", 4, release="3.9").message_class}
    assert len(classes) == 1
    assert issubclass(classes.pop(), msgspec.Struct)


INNER = kwire.messages.UpdateMetadataRequest.UpdateMetadataBroker
DRAFT = getattr(kwire.messages, "KIP-112").MetadataResponse
EARLY = kwire.messages.kafka_3_6.ConsumerGroupHeartbeatRequest
PICKLED = [
    (kwire.messages.MetadataRequest(topics=None), "MetadataRequest"),
    (INNER(id=3, rack="dc1"), "UpdateMetadataRequest.UpdateMetadataBroker"),
    (INNER(id=4, unknown_tags=b"\x05\x00"), "UpdateMetadataRequest.UpdateMetadataBroker"),
    (kwire.messages.UpdateMetadataRequest(live_brokers=(INNER(id=3),)), "UpdateMetadataRequest"),
    (
        kwire.messages.UpdateMetadataRequest.UpdateMetadataEndpoint(port=9092),
        "UpdateMetadataRequest.UpdateMetadataEndpoint",
    ),
    (DRAFT(controller_id=7), "KIP-112.MetadataResponse"),
    (DRAFT.MetadataResponseTopic(name="a"), "KIP-112.MetadataResponse.MetadataResponseTopic"),
    (getattr(kwire.messages, "KIP-112").ApiVersionsRequest(), "ApiVersionsRequest"),
]


@pytest.mark.parametrize(("message", "name"), PICKLED, ids=[name for _, name in PICKLED])
def test_a_message_is_pickled_and_copied_by_its_name(message: Any, name: str) -> None:
    assert (type(message).__module__, type(message).__qualname__) == ("kwire.messages", name)
    for protocol in (4, 5):
        again = pickle.loads(pickle.dumps(message, protocol))
        assert (again, type(again)) == (message, type(message))
    assert pickle.loads(pickle.dumps(type(message))) is type(message)
    assert copy.deepcopy(message) == message


def test_layouts_of_early_access_have_classes_of_their_own() -> None:
    assert EARLY.__qualname__ == "kafka_3_6.ConsumerGroupHeartbeatRequest"
    assert EARLY is kwire.codec("ConsumerGroupHeartbeatRequest", 0, release="3.6").message_class
    assert EARLY is not kwire.messages.ConsumerGroupHeartbeatRequest
    message = EARLY(group_id="g")
    assert pickle.loads(pickle.dumps(message)) == message


@pytest.mark.parametrize("word", ["self", "cls", "class", "mro", "None", "type", "init", "dict", "x" * 127])
def test_words_of_python_are_only_attributes(word: str) -> None:
    spec = spec_of(field(word, "int8", default="7"), field("It", word.capitalize(), fields=[field(word, "int8")]))
    tree = grow_tree(spec, 0)
    assert tree.build(made(spec)()) == b"\x07\x00"
    assert msgspec.structs.astuple(tree.parse(b"\x08\x09"))[0] == 8


def test_inner_classes_are_attributes_of_the_message_only() -> None:
    assert INNER.__name__ == "UpdateMetadataBroker"
    assert not hasattr(INNER, "UpdateMetadataEndpoint")
    assert not hasattr(kwire.messages, "UpdateMetadataBroker")


def test_annotations_have_the_types_of_attributes() -> None:
    inner = field("Many", "[]Inner", nullableVersions="1+", fields=[field("Y")])
    one = field("One", "Both")
    texts = [field("A", "string"), field("B", "string", nullableVersions="2+"), field("C", "records")]
    rest = [field("D", "uuid"), field("E", "float64"), field("F", "[]bool"), field("G", "int64"), field("H", "bytes")]
    thing = made(spec_of(inner, one, *texts, *rest, commonStructs=[struct("Both", field("Y"))]))
    array: Any = tuple.__class_getitem__((thing.Inner, ...))
    assert [info.type for info in msgspec.structs.fields(thing)] == [
        *(array | None, thing.Both, str, str | None, bytes | None),
        *(bytes, float, tuple[bool, ...], int, bytes, bytes | None),
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Nonsense", "message 'Nonsense'"),
        ("MetadataRespons", "message 'MetadataRespons'"),
        ("__wrapped__", "message '__wrapped__'"),
        ("kafka_99_9", "release '99.9'"),
        ("KIP-37", "message 'KIP-37'"),
    ],
)
def test_what_is_no_message_is_no_attribute(name: str, kind: str) -> None:
    assert not hasattr(kwire.messages, name)
    with pytest.raises(AttributeError, match=f"there is no {kind}"):
        getattr(kwire.messages, name)


def test_what_is_no_message_of_a_profile_is_no_attribute() -> None:
    drafts = getattr(kwire.messages, "KIP-36")
    assert drafts.Broker().id == 0
    with pytest.raises(AttributeError, match=r"there is no message 'Brokerr'; did you mean Broker\?"):
        _ = drafts.Brokerr
    assert not hasattr(drafts, "_private")
    assert not hasattr(drafts, "__wrapped__")


def test_a_class_documents_the_message_and_its_fields() -> None:
    text = inspect.getdoc(kwire.messages.MetadataRequest) or ""
    assert text.startswith("Sent by clients to any broker")
    assert "\n\nRequest of api key 3, versions 0-13.\n\nAttributes:\n    topics: Topics to be described" in text
    assert "None in 1+." in text
    assert kwire.messages.MetadataRequest().__doc__ == text
    error = inspect.getdoc(kwire.messages.MetadataResponse.MetadataResponseTopic) or ""
    assert error.startswith("In `topics`: ")
    assert "Versions 0+, see `kwire.values.ErrorCode`." in " ".join(error.split())
    assert "\n\nResponse of api key 3, versions 3 of KIP-112.\n\n" in (inspect.getdoc(DRAFT) or "")


def test_help_shows_the_documentation_of_a_class() -> None:
    shown = pydoc.plain(pydoc.render_doc(kwire.messages.MetadataRequest))
    assert "     allow_auto_topic_creation: Whether an unknown topic" in shown


def test_a_licence_above_a_spec_is_not_its_description() -> None:
    spec = replace(spec_of(field("Y")), text="// Licensed under the Apache License\n{}")
    assert struct_doc(spec, spec.struct) == "Data, versions 0-3."


def test_all_messages_are_listed_and_imported_at_once() -> None:
    assert dir(kwire.messages) == catalog_for().names()
    assert "ErrorCode" in dir(kwire.values)
    program = "from kwire.messages import *; from kwire.values import *; print(MetadataRequest, ErrorCode(6))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True, text=True)
    assert done.stdout == "<class 'kwire.messages.MetadataRequest'> NOT_LEADER_OR_FOLLOWER\n"


def test_a_class_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers name classes in loops over partitions: a second access is a plain attribute of the module."""
    message = kwire.messages.HeartbeatRequest
    monkeypatch.delattr(kwire.messages, "__getattr__")
    assert kwire.messages.HeartbeatRequest is message
