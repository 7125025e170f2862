"""Each message that tells of a cluster is understood at each of its versions."""

from __future__ import annotations

import kwire
from kwire import messages
from kwire.cluster import Broker, ClusterState, Partition, learn

Update, Metadata, Leader = messages.UpdateMetadataRequest, messages.MetadataResponse, messages.LeaderAndIsrRequest


def update(version: int, leader: int = 1) -> ClusterState:
    states = (
        Update.UpdateMetadataPartitionState(
            topic_name="t" if version < 5 else "",
            partition_index=0,
            leader=leader,
            leader_epoch=4,
            isr=(1,),
            replicas=(2, 1),
            offline_replicas=(2,) if version >= 4 else (),
        ),
    )
    endpoints = (Update.UpdateMetadataEndpoint(host="h", port=9),)
    broker = Update.UpdateMetadataBroker(
        id=1,
        v0_host="h" if version == 0 else "",
        v0_port=9 if version == 0 else 0,
        endpoints=endpoints if version else (),
        rack="r" if version >= 2 else "",
    )
    message = Update(
        controller_id=3,
        live_brokers=(broker,),
        ungrouped_partition_states=states if version < 5 else (),
        topic_states=(Update.UpdateMetadataTopicState(topic_name="t", partition_states=states),)
        if version >= 5
        else (),
    )
    codec = kwire.codec("UpdateMetadataRequest", version)
    state = ClusterState()
    assert learn(state, codec.decode(codec.encode(message)), version)
    return state


def test_update_metadata_at_every_version() -> None:
    for version in range(9):
        state = update(version)
        assert state.controller_id == 3
        assert state.brokers == {1: Broker(1, "h", 9, "r" if version >= 2 else None)}
        offline = (2,) if version >= 4 else None
        assert state.partitions() == [Partition("t", 0, 1, (2, 1), (1,), offline, 4, partition_epoch=0)]
        assert state.offline(state.partitions()[0]) == (2,)


def test_a_partition_that_is_being_deleted_goes() -> None:
    assert update(8, leader=-2).topics == {}


def test_metadata_replaces_brokers_and_drops_topics_that_are_unknown() -> None:
    state = update(8)
    topic = Metadata.MetadataResponseTopic(name="t", error_code=3)
    brokers = (Metadata.MetadataResponseBroker(node_id=5, host="k", port=1),)
    assert learn(state, Metadata(brokers=brokers, controller_id=5, cluster_id="c", topics=(topic,)), 12)
    assert (state.cluster_id, state.controller_id) == ("c", 5)
    assert state.brokers == {5: Broker(5, "k", 1)}
    assert state.topics == {}


def test_the_last_word_goes() -> None:
    state = update(8)
    one = Leader.LeaderAndIsrPartitionState(partition_index=0, leader=2, leader_epoch=5, isr=(2, 1), replicas=(2, 1))
    topic = Leader.LeaderAndIsrTopicState(topic_name="t", partition_states=(one,))
    assert learn(state, Leader(controller_id=3, topic_states=(topic,)), 5)
    assert state.partitions() == [Partition("t", 0, 2, (2, 1), (2, 1), None, 5, None, 0, adding=(), removing=())]


def test_described_topics_and_clusters() -> None:
    state = ClusterState()
    Topics, Cluster = messages.DescribeTopicPartitionsResponse, messages.DescribeClusterResponse  # noqa: N806
    one = Topics.DescribeTopicPartitionsResponsePartition(
        partition_index=3, leader_id=1, leader_epoch=2, replica_nodes=(1, 2), isr_nodes=(1,), offline_replicas=(2,)
    )
    learn(state, Topics(topics=(Topics.DescribeTopicPartitionsResponseTopic(name="t", partitions=(one,)),)), 0)
    assert state.partitions() == [Partition("t", 3, 1, (1, 2), (1,), (2,), 2)]
    brokers = (Cluster.DescribeClusterBroker(broker_id=1, host="h", port=2, rack="r", is_fenced=True),)
    learn(state, Cluster(cluster_id="c", controller_id=1, brokers=brokers), 2)
    assert state.brokers == {1: Broker(1, "h", 2, "r", True)}
    learn(state, Cluster(cluster_id="c", controller_id=9, endpoint_type=2, brokers=()), 2)
    assert (state.controller_id, state.brokers) == (9, {1: Broker(1, "h", 2, "r", True)})


def test_other_messages_and_failures_teach_nothing() -> None:
    state = ClusterState()
    assert not learn(state, messages.FetchRequest(), 4)
    assert not learn(state, messages.DescribeClusterResponse(error_code=31), 0)
    assert state == ClusterState()
