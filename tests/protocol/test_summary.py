"""Topics, errors and software are found wherever a message has them."""

from __future__ import annotations

import kwire
from kwire.protocol.summary import Facts, MessageSummary, is_topic_field, software_of
from tests.messages_of import released_pairs
from tests.random_values import draw
from tests.seeds import seeded

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
    gist = MessageSummary()
    codec = kwire.codec("FetchRequest", 13)
    fetch = M.FetchRequest(topics=(M.FetchRequest.FetchTopic(topic_id=ID),))
    assert gist.facts(codec, fetch).topics == ("?00000000",)
    topic = M.MetadataResponse.MetadataResponseTopic(name="orders", topic_id=ID)
    gist.facts(kwire.codec("MetadataResponse", 12), M.MetadataResponse(topics=(topic,)))
    assert gist.facts(codec, fetch).topics == ("orders",)


def test_an_id_of_zeros_is_no_topic() -> None:
    topic = M.MetadataRequest.MetadataRequestTopic(name="orders")
    codec = kwire.codec("MetadataRequest", 12)
    assert MessageSummary().facts(codec, M.MetadataRequest(topics=(topic,))) == Facts(("orders",), ())


def test_names_in_lists_and_null_arrays() -> None:
    codec = kwire.codec("DeleteTopicsRequest", 1)
    assert MessageSummary().facts(codec, M.DeleteTopicsRequest(topic_names=("a", "b"))).topics == ("a", "b")
    assert MessageSummary().facts(kwire.codec("MetadataRequest", 1), M.MetadataRequest(topics=None)) == Facts()


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
    gist = MessageSummary()
    for pair in released_pairs():
        codec, rng = kwire.codec(*pair), seeded(f"gist {pair}")
        for _ in range(3):
            assert all(isinstance(topic, str) for topic in gist.facts(codec, draw(codec.schema, rng)).topics), pair
