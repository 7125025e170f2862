"""The codec as its users see it."""

from __future__ import annotations

import pickle
from typing import Any, cast

import pytest

import kwire
from kwire.errors import (
    BadText,
    DefaultTag,
    NullNotAllowed,
    OverlongVarint,
    TagOrder,
    TagTwice,
    TrailingBytes,
    UnknownTagOrder,
)

METADATA_REQUEST = bytes.fromhex("00000001 0006 6f7264657273 01")  # v4: one topic "orders", auto creation on


def test_decode_gives_a_message_and_encode_gives_the_bytes_back() -> None:
    codec = kwire.codec("MetadataRequest", 4)
    message = codec.decode(METADATA_REQUEST)
    topic = kwire.messages.MetadataRequest.MetadataRequestTopic(name="orders")
    assert message == kwire.messages.MetadataRequest(topics=(topic,), allow_auto_topic_creation=True)
    assert codec.encode(message) == METADATA_REQUEST


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_like_object_is_decoded(kind: type) -> None:
    topics = kwire.codec("MetadataRequest", 4).decode(kind(METADATA_REQUEST)).topics
    assert topics is not None and [topic.name for topic in topics] == ["orders"]


def test_any_sequence_is_encoded_as_an_array() -> None:
    topic = kwire.messages.MetadataRequest.MetadataRequestTopic(name="orders")
    assert kwire.codec("MetadataRequest", 4).encode(kwire.messages.MetadataRequest(topics=[topic])) == METADATA_REQUEST


def test_an_error_has_its_place_and_the_partial_value() -> None:
    with pytest.raises(kwire.DecodeError) as caught:
        kwire.codec("MetadataRequest", 4).decode(METADATA_REQUEST[:9])
    error = caught.value
    assert str(error) == "MetadataRequest v4: topics[0].name: length 6 needs 6 bytes, 3 left (offset 4)"
    assert (error.message, error.version, error.offset, error.path) == ("MetadataRequest", 4, 4, "topics[0].name")
    assert (error.need, error.have) == (6, 3)
    assert error.partial == {"topics": [{}]}
    assert error.rest == METADATA_REQUEST[4:9]


def test_what_was_decoded_before_an_error_is_kept() -> None:
    codec = kwire.codec("MetadataResponse", 1)
    broker = bytes.fromhex("00000007 000a 62312e6578616d706c65 00002384 ffff")
    with pytest.raises(kwire.DecodeError) as caught:
        codec.decode(bytes.fromhex("00000002") + broker + broker[:18])
    whole, cut = caught.value.partial["brokers"]
    assert (whole.node_id, whole.host, whole.port, whole.rack) == (7, "b1.example", 9092, None)
    assert cut == {"node_id": 7, "host": "b1.example"}
    assert caught.value.path == "brokers[1].port"


def test_strict_refuses_what_salvage_notes() -> None:
    codec = kwire.codec("MetadataRequest", 4)
    data = METADATA_REQUEST.replace(b"orders", b"ord\xffrs") + b"\x00\x01"
    with pytest.raises(BadText):
        codec.decode(data)
    message, faults, rest = codec.decode(data, salvage=True)
    assert [topic.name for topic in message.topics or ()] == ["ord\ufffdrs"]
    assert [(type(fault), fault.offset, fault.path, fault.raw) for fault in faults] == [
        (BadText, 9, "topics[0].name", b"ord\xffrs"),
        (TrailingBytes, 13, "", b"\x00\x01"),
    ]
    assert rest == b"\x00\x01"


def test_salvage_also_refuses_what_kafka_refuses() -> None:
    overlong = bytes.fromhex("8200 09 ffff")  # a topic count of two bytes, then a name that claims more than is left
    for salvage in (False, True):
        with pytest.raises(kwire.DecodeError) as caught:
            kwire.codec("MetadataRequest", 9).decode(overlong, salvage=salvage)
        assert isinstance(caught.value, OverlongVarint) is not salvage
    assert [type(fault) for fault in caught.value.faults] == [OverlongVarint]
    with pytest.raises(NullNotAllowed):
        kwire.codec("MetadataRequest", 0).decode(bytes.fromhex("fffffffe"), salvage=True)


def test_salvage_accepts_tags_that_kafka_does_not_write_in_a_value_that_the_same_tag_replaces() -> None:
    codec = kwire.codec("ApiVersionsResponse", 3)
    features = "00 0c 02 02 61 0001 0002 02 05 00 04 00"  # tag 0, supportedFeatures; unknown tags 5 and 4 in it
    data = bytes.fromhex(f"0000 01 00000000 02 {features} 00 08 02 02 62 0001 0002 00")
    message, faults, rest = codec.decode(data, salvage=True)
    assert ([feature.name for feature in message.supported_features], rest) == (["b"], b"")
    assert [(type(fault), fault.offset) for fault in faults] == [(TagOrder, 20), (TagTwice, 22)]
    spans = codec.trace(data, salvage=True)
    assert b"".join(data[span.start : span.stop] for span in spans) == data
    assert [type(fault) for span in spans for fault in span.faults] == [TagOrder, TagTwice]
    for body in (f"01 {features}", f"02 {features} {features}", f"02 {features} 02 08 02 02 62 0001 0002 00"):
        with pytest.raises(UnknownTagOrder) as caught:
            codec.decode(bytes.fromhex(f"0000 01 00000000 {body}"), salvage=True)
        assert (caught.value.offset, caught.value.path) == (20, "supported_features[0].unknown_tags")


def test_a_tag_that_holds_its_default_is_accepted_noted_and_left_out() -> None:
    codec = kwire.codec("ApiVersionsResponse", 3)
    data = bytes.fromhex("0000 01 00000000 01 03 01 00")  # tag 3, zkMigrationReady, false
    message, faults, _ = codec.decode(data, salvage=True)
    assert codec.decode(data) == message
    assert [type(fault) for fault in faults] == [DefaultTag]
    assert codec.encode(message).hex() == "0000010000000000"


def test_a_field_that_the_version_lacks_is_refused_unless_it_may_be_ignored() -> None:
    request = kwire.messages.MetadataRequest(include_topic_authorized_operations=True)
    with pytest.raises(kwire.EncodeError, match="the first version that has it is 8"):
        kwire.codec("MetadataRequest", 7).encode(request)
    response = kwire.messages.MetadataResponse(throttle_time_ms=5)  # ignorable
    assert kwire.codec("MetadataResponse", 0).encode(response) == bytes(8)


def test_is_new_replica_is_the_attribute_in_every_profile_and_json_keeps_each_ones_name() -> None:
    for profile, name in ((None, "isNew"), ("KIP-112", "isNewReplica")):
        codec = kwire.codec("LeaderAndIsrRequest", 1, profile=profile)
        state = getattr(codec.message_class, "LeaderAndIsrPartitionState")(is_new_replica=True)  # noqa: B009
        members = codec.to_json(codec.message_class(ungrouped_partition_states=(state,)))
        assert members["ungroupedPartitionStates"][0][name] is True
        assert codec.from_json(members).ungrouped_partition_states[0].is_new_replica is True


def test_profiles_have_their_own_shapes_and_the_released_ones_for_the_rest() -> None:
    assert kwire.codec("TopicMetadataResponse", 1, profile="KIP-36").spec.profile == "KIP-36"
    assert kwire.codec("UpdateMetadataRequest", 2, profile="KIP-36").spec.profile == ""
    assert kwire.codec("ConsumerGroupHeartbeatRequest", 0).spec.api_key == 68
    assert kwire.codec("CreateReplicaAssignmentRequest", 0, profile="KIP-879").spec.api_key == 68


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"name": "MetadataRespons", "version": 1}, kwire.UnknownMessage, "did you mean MetadataResponse?"),
        ({"name": "MetadataResponse", "version": 99}, kwire.UnsupportedVersion, "versions: 0-13"),
        ({"name": "MetadataResponse", "version": -1}, kwire.UnsupportedVersion, "versions: 0-13"),
        ({"name": "CreateReplicaAssignmentRequest", "version": 0}, kwire.UnknownMessage, "there is no message"),
        ({"name": "MetadataResponse", "version": 1, "profile": "KIP-1"}, kwire.UnknownMessage, "there is no profile"),
        ({"name": "MetadataResponse", "version": 13, "release": "3.9"}, kwire.UnsupportedVersion, "Kafka 3.9.2"),
        ({"name": "MetadataResponse", "version": 1, "release": "0.7"}, kwire.UnknownMessage, "there is no release"),
    ],
)
def test_what_does_not_exist_is_named(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text.replace("?", r"\?")):
        kwire.codec(**arguments)


def test_a_release_limits_the_versions() -> None:
    assert kwire.codec("MetadataResponse", 12, release="3.9").version == 12
    assert kwire.codec("LeaderAndIsrRequest", 0, release="0.8.2").version == 0


def test_codecs_are_created_once_and_have_a_repr() -> None:
    assert kwire.codec("MetadataRequest", 4) is kwire.codec("MetadataRequest", 4)
    assert repr(kwire.codec("MetadataRequest", 4)) == "<kwire codec MetadataRequest v4>"
    draft = kwire.codec("TopicMetadataRequest", 1, profile="KIP-36")
    assert repr(draft) == "<kwire codec TopicMetadataRequest v1 of KIP-36>"


def test_a_trace_in_salvage_covers_what_was_not_understood() -> None:
    codec = kwire.codec("MetadataRequest", 4)
    spans = codec.trace(METADATA_REQUEST[:9], salvage=True)
    assert [(span.start, span.stop, span.type) for span in spans] == [
        (0, 4, "nullable array"),
        (4, 9, "not understood"),
    ]
    assert spans[-1].faults[0].path == "topics[0].name"
    tail = codec.trace(METADATA_REQUEST + b"xy", salvage=True)[-1]
    assert (tail.type, tail.value, type(tail.faults[0])) == ("left over", b"xy", TrailingBytes)
    with pytest.raises(kwire.DecodeError):
        codec.trace(METADATA_REQUEST + b"xy")


def test_json_of_a_value_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(kwire.EncodeError, match="broker_id"):
        kwire.codec("ControlledShutdownRequest", 1).to_json(
            kwire.messages.ControlledShutdownRequest(broker_id=cast(Any, "3"))
        )


def test_a_codec_goes_by_name_class_or_api_key() -> None:
    codec = kwire.codec("MetadataRequest", 4)
    assert codec is kwire.codec(kwire.messages.MetadataRequest, 4) is kwire.codec(3, 4)
    draft = getattr(kwire.messages, "KIP-112").MetadataResponse
    assert kwire.codec(draft, 3).message_class is draft
    assert kwire.codec(kwire.messages.kafka_3_6.ConsumerGroupHeartbeatRequest, 0).spec.release == "3.6"
    assert kwire.codec(68, 0, profile="KIP-879").name == "CreateReplicaAssignmentRequest"
    assert kwire.codec(74, 0, release="3.9").name == "ListClientMetricsResourcesRequest"
    with pytest.raises(kwire.UnsupportedVersion, match="versions: 0-13"):
        kwire.codec(kwire.messages.MetadataRequest, 14)
    with pytest.raises(kwire.UnsupportedVersion, match="versions: 0-13"):
        kwire.codec(3, 14)
    with pytest.raises(kwire.UnknownMessage, match="there is no api key '999'"):
        kwire.codec(999, 0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("MetadataRequest", "4"), "a version is an integer, not str '4'"),
        (("MetadataRequest", True), "a version is an integer, not bool True"),
        (("MetadataRequest", 4.0), "a version is an integer, not float"),
        ((True, 4), "a message's name, its class or an api key is needed, not bool"),
        ((int, 4), "not the class int"),
        ((None, 4), "not NoneType"),
        ((kwire.messages.MetadataRequest(), 4), "not MetadataRequest"),
        ((kwire.messages.MetadataRequest.MetadataRequestTopic, 4), "not the class MetadataRequestTopic"),
    ],
)
def test_arguments_of_another_type_are_named(arguments: tuple[Any, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        kwire.codec(*arguments)


@pytest.mark.parametrize("more", [{"profile": "KIP-36"}, {"release": "3.9"}])
def test_a_catalog_goes_without_profile_and_release(more: dict[str, str]) -> None:
    with pytest.raises(TypeError, match="catalog= goes without profile= and release="):
        kwire.codec("MetadataRequest", 4, catalog=kwire.Catalog.of(), **more)


def test_a_class_of_other_specs_than_the_catalogs_is_refused() -> None:
    with pytest.raises(TypeError, match="of other specs than this catalog's"):
        kwire.codec(kwire.messages.MetadataResponse, 3, profile="KIP-112")


@pytest.mark.parametrize("odd", ["00", 5, [1], None])
def test_what_is_no_bytes_is_a_type_error(odd: Any) -> None:
    codec = kwire.codec("MetadataRequest", 4)
    for read in (codec.decode, codec.trace):
        with pytest.raises(TypeError, match=f"bytes are needed, not {type(odd).__name__}"):
            read(odd)


def test_the_last_version_is_named_where_a_field_is_gone_and_the_first_where_it_comes() -> None:
    gone = kwire.messages.FindCoordinatorRequest(key="g")
    for version in (4, 6):
        with pytest.raises(kwire.EncodeError, match=r"; the last version that has it is 3$"):
            kwire.codec("FindCoordinatorRequest", version).encode(gone)
    with pytest.raises(kwire.EncodeError, match=r"; the first version that has it is 4$"):
        kwire.codec("FindCoordinatorRequest", 3).encode(kwire.messages.FindCoordinatorRequest(coordinator_keys=["g"]))
    template = kwire.codec("MetadataRequest", 11).to_json(kwire.messages.MetadataRequest())
    gone_too = "includeClusterAuthorizedOperations", "the last version that has it is 10"
    for name, text in (gone_too, ("topicz", "topics")):
        with pytest.raises(kwire.EncodeError, match=text):
            kwire.codec("MetadataRequest", 11).from_json({**template, name: True})


def test_an_error_says_the_same_by_repr_and_by_its_arguments() -> None:
    with pytest.raises(kwire.DecodeError) as caught:
        kwire.codec("MetadataRequest", 4).decode(METADATA_REQUEST[:9])
    error = caught.value
    assert repr(error) == f"BadLength({str(error)!r})"
    assert error.args == (str(error),)
    copied = pickle.loads(pickle.dumps(error))
    assert (repr(copied), copied.rest, copied.args) == (repr(error), error.rest, error.args)
    assert str(error) in repr(ExceptionGroup("several", [error]))


class Array:
    """Compares as numpy's arrays do."""

    def __eq__(self, other: object) -> Any:
        return self

    def __ne__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("odd", [Array(), [Array()]])
@pytest.mark.parametrize(
    ("name", "version", "field"),
    [
        ("FetchRequest", 12, "cluster_id"),
        ("FetchRequest", 12, "unknown_tags"),
        ("FetchRequest", 4, "unknown_tags"),
        ("MetadataRequest", 4, "include_topic_authorized_operations"),
        ("FindCoordinatorRequest", 3, "coordinator_keys"),
        ("MetadataRequest", 4, "topics"),
        ("MetadataRequest", 4, "allow_auto_topic_creation"),
    ],
)
def test_a_value_that_cannot_be_compared_is_refused(odd: Any, name: str, version: int, field: str) -> None:
    message = getattr(kwire.messages, name)(**{field: odd})
    with pytest.raises(kwire.EncodeError):
        kwire.codec(name, version).encode(message)


class Odd(str):
    """Text whose own `encode` says something else."""

    __slots__ = ()

    def encode(self, *_: Any) -> bytes:
        return b"EVIL"


@pytest.mark.parametrize("count", [1, 2000])
@pytest.mark.parametrize("version", [4, 9])
def test_text_is_written_as_it_is_whatever_its_class(version: int, count: int) -> None:
    topic = kwire.messages.MetadataRequest.MetadataRequestTopic
    codec = kwire.codec("MetadataRequest", version)
    odd, plain = (kwire.messages.MetadataRequest(topics=[topic(name=kind("good"))] * count) for kind in (Odd, str))
    assert codec.encode(odd) == codec.encode(plain)


def test_overlong_varints_of_unknown_tags_are_salvaged_as_they_are_written() -> None:
    codec = kwire.codec("DescribeDelegationTokenResponse", 3)
    data = bytes.fromhex("2f7d01ffffffff03fffe0003814352ff7f00c0843d04909b9e5c")
    message, faults, _ = codec.decode(data, salvage=True)
    assert OverlongVarint in {type(fault) for fault in faults}
    assert codec.decode(codec.encode(message)) == message


@pytest.mark.parametrize("name", ["MetadataRequest", kwire.messages.MetadataRequest, 3])
def test_a_codec_is_found_again_and_wrong_arguments_are_refused_again(name: Any) -> None:
    codec = kwire.codec(name, 1)
    assert kwire.codec(name, 1) is codec
    assert kwire.codec(name, 1, release="3.6") is codec
    for version in (True, 1.0, "1", [1]):
        with pytest.raises(TypeError, match="a version is an integer, not "):
            kwire.codec(name, cast(Any, version))
    with pytest.raises(kwire.UnknownMessage):
        kwire.codec(name, 1, profile="KIP-0")


@pytest.mark.parametrize("name", [["MetadataRequest"], 3.0, True, None])
def test_a_name_of_another_type_is_refused_again(name: Any) -> None:
    kwire.codec(3, 1)
    for _ in range(2):
        with pytest.raises(TypeError, match="a message's name, its class or an api key is needed"):
            kwire.codec(name, 1)
