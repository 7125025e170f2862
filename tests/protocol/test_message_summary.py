"""Topics, errors and software are found wherever a message has them."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.codecs.native import ENGINE
from kwire.protocol.frame_kinds import decode_clean
from kwire.protocol.message_summary import MessageFacts, MessageSummary, is_topic_field, make_body_facts, software_of
from tests.messages.message_lists import released_pairs
from tests.messages.random_values import damaged, draw
from tests.seeds import TRIES, named, seeded

M = kwire.messages
ID = bytes(15) + b"\x07"


def test_topics_come_once_and_in_their_order_and_errors_as_often_as_they_are_there() -> None:
    topic = M.MetadataResponse.MetadataResponseTopic
    partition = M.MetadataResponse.MetadataResponsePartition
    message = M.MetadataResponse(
        topics=(
            topic(name="b", error_code=3),
            topic(name="a", partitions=(partition(error_code=5), partition(error_code=5), partition())),
            topic(name="b"),
        )
    )
    facts = MessageSummary().facts(kwire.codec("MetadataResponse", 5), message)
    assert facts.topics == ("b", "a")
    assert [str(error) for error in facts.errors] == [
        "UNKNOWN_TOPIC_OR_PARTITION",
        "LEADER_NOT_AVAILABLE",
        "LEADER_NOT_AVAILABLE",
    ]


def test_an_id_has_the_name_that_an_earlier_message_gave_it() -> None:
    summarizer = MessageSummary()
    codec = kwire.codec("FetchRequest", 13)
    fetch = M.FetchRequest(topics=(M.FetchRequest.FetchTopic(topic_id=ID),))
    assert summarizer.facts(codec, fetch).topics == ("?00000000",)
    topic = M.MetadataResponse.MetadataResponseTopic(name="orders", topic_id=ID)
    summarizer.facts(kwire.codec("MetadataResponse", 12), M.MetadataResponse(topics=(topic,)))
    assert summarizer.facts(codec, fetch).topics == ("orders",)


def test_an_id_of_zeros_is_no_topic() -> None:
    topic = M.MetadataRequest.MetadataRequestTopic(name="orders")
    codec = kwire.codec("MetadataRequest", 12)
    assert MessageSummary().facts(codec, M.MetadataRequest(topics=(topic,))) == MessageFacts(("orders",), ())


def test_names_in_lists_and_null_arrays() -> None:
    codec = kwire.codec("DeleteTopicsRequest", 1)
    assert MessageSummary().facts(codec, M.DeleteTopicsRequest(topic_names=("a", "b"))).topics == ("a", "b")
    assert MessageSummary().facts(kwire.codec("MetadataRequest", 1), M.MetadataRequest(topics=None)) == MessageFacts()


def test_names_of_configs_and_listeners_are_no_topics() -> None:
    assert not is_topic_field("CreatableTopicConfigs", "name")
    assert not is_topic_field("Listener", "name")
    assert is_topic_field("StopReplicaTopicV1", "name")
    assert is_topic_field("TopicInfo", "name")
    assert not is_topic_field("TopologyDescriptionNode", "name")


def test_only_api_versions_has_software() -> None:
    assert software_of(M.MetadataRequest()) == ""
    assert software_of(M.ApiVersionsRequest(client_software_name="sarama")) == "sarama"


def test_topics_of_every_message_are_text() -> None:
    """Such as of StreamsGroupHeartbeatRequest, whose source topics are indexes of others."""
    summarizer = MessageSummary()
    for pair in released_pairs():
        codec, rng = kwire.codec(*pair), seeded(f"summarizer {pair}")
        for _ in range(3):
            assert all(isinstance(topic, str) for topic in summarizer.facts(codec, draw(codec.schema, rng)).topics), (
                pair
            )


@pytest.mark.skipif(ENGINE != "native", reason="the other engines have no walk of their own for topics and errors")
def test_bodies_have_natively_the_topics_and_errors_of_their_messages() -> None:
    """Whole and damaged ones, of all messages at all versions: `BodyFacts` against `MessageSummary`."""
    seen = {True: 0, False: 0}  # bodies with topics or errors, and others
    not_natively = set()
    for pair in released_pairs():
        codec, rng = kwire.codec(*pair), seeded(f"facts {pair}")
        natively = make_body_facts(codec)
        if natively is None:
            not_natively.add(pair)
            continue
        for number in range(8 * TRIES):
            body = codec.encode(draw(codec.schema, rng))
            body = damaged(body, rng) if number % 2 else body
            with named((pair, body.hex())):
                found, message = natively.of(body), decode_clean(codec, body)
                assert (found is None) == (message is None)
                if found is not None:
                    seen[bool(found[0] or found[1])] += 1
                    check_facts(codec, message, *found)
    assert not_natively == {("OffsetCommitValue", 4)}  # has an id beside other names
    assert min(seen.values()) > 100


def check_facts(
    codec: kwire.Codec[Any], message: Any, errors: list[int], topics: list[tuple[bytes | None, str | None]]
) -> None:
    """Compare what was found in a body with the summary of its message."""
    wanted = MessageSummary().facts(codec, message)
    assert errors == list(wanted.errors)
    assert MessageSummary().names(topics) == wanted.topics
    ids_and_names = {one for pair in topics for one in pair if one is not None}
    guarded = make_body_facts(codec, frozenset(ids_and_names))
    assert guarded is not None
    assert (guarded.of(codec.encode(message)) is None) == bool(ids_and_names)  # none if all names are empty
