"""Drafts and early access come out under the released names, with the fields that their version carries."""

from __future__ import annotations

import pytest

import kwire
from kwire import messages
from kwire.cluster.events.draft_names import RELEASED, RENAMED, body_of
from kwire.codecs.message_codec import codec_in
from kwire.schema.catalog import catalog_for, profiles
from kwire.schema.message_spec import MessageSpec

DRAFTS = [(profile, name) for profile in profiles() for name in catalog_for(profile).layers[0].files]


def test_kip_112_metadata_carries_offline_replicas_at_version_3() -> None:
    codec = kwire.codec("MetadataResponse", 3, profile="KIP-112")
    kind = codec.message_class
    one = kind.MetadataResponsePartition(partition_index=4, leader_id=1, replica_nodes=(1, 2), offline_replicas=(2,))
    topic = kind.MetadataResponseTopic(name="t", partitions=(one,))
    body = body_of(kind(topics=(topic,), cluster_id="c"), codec)
    assert type(body.message) is messages.MetadataResponse
    assert body.message.topics[0].partitions[0].offline_replicas == (2,)
    assert body.message.topics[0].partitions[0].leader_epoch == -1
    assert "topics.partitions.offline_replicas" in body.fields
    assert "topics.partitions.leader_epoch" not in body.fields


def test_kip_36_metadata_has_released_names() -> None:
    codec = kwire.codec("TopicMetadataResponse", 1, profile="KIP-36")
    kind = codec.message_class
    body = body_of(kind(broker_end_points=(kind.BrokerEndPoint(broker_id=7, host="h", port=9, rack="r"),)), codec)
    broker = messages.MetadataResponse.MetadataResponseBroker(node_id=7, host="h", port=9, rack="r")
    assert body.message == messages.MetadataResponse(brokers=(broker,))
    assert {"brokers.rack", "topics.partitions.isr_nodes"} <= body.fields
    assert "controller_id" not in body.fields


def test_a_released_message_is_itself() -> None:
    message = messages.MetadataResponse(controller_id=3)
    assert body_of(message, 4).message is message
    assert "topics.partitions.offline_replicas" not in body_of(message, 4).fields
    assert "topics.partitions.offline_replicas" in body_of(message, 5).fields
    assert body_of(message, 5) == body_of(message, kwire.codec("MetadataResponse", 5))


@pytest.mark.parametrize(("profile", "name"), DRAFTS)
def test_every_field_of_a_draft_has_a_released_counterpart_or_is_known_to_have_none(profile: str, name: str) -> None:
    spec: MessageSpec = catalog_for(profile).spec(name)
    released = RELEASED.get(name, name)
    version = next(iter(spec.versions))
    codec = codec_in(catalog_for(profile), name, version)
    body = body_of(codec.message_class(), codec)
    assert type(body.message).__name__ == released
    if released in catalog_for():
        known = {path for one in catalog_for().spec(released).versions for path in _fields(released, one)}
        assert {path.rpartition(".")[2] for path in body.fields - known} <= {"correlation_id"}


def _fields(name: str, version: int) -> frozenset[str]:
    return body_of(getattr(messages, name)(), version).fields


def test_names_of_drafts_are_those_of_their_specs() -> None:
    structs = {struct.name: struct for profile, name in DRAFTS for struct in catalog_for(profile).spec(name).structs()}
    for struct, attribute in RENAMED:
        assert attribute in {field.attribute for field in structs[struct].fields}
