"""A model holds one cluster: a second cluster id is refused."""

from __future__ import annotations

import pytest

from kwire import messages
from kwire.cluster import ClusterModel, Observation, history_of
from kwire.cluster.cluster_identity import MixedClusters


def metadata(cluster_id: str | None, file: str) -> Observation:
    response = messages.MetadataResponse
    broker = response.MetadataResponseBroker(node_id=1, host="h", port=9)
    return Observation(response(cluster_id=cluster_id, brokers=(broker,)), 4, 1.0, "c:1", "h:9", file=file)


def test_two_ids_are_refused_with_their_files() -> None:
    model = ClusterModel()
    model.take(metadata("one", "a.pcap"))
    model.take(metadata(None, "b.pcap"))
    assert model.state().cluster_id == "one"
    model.take(metadata("two", "c.pcap"))
    with pytest.raises(MixedClusters, match=r"name 2 cluster ids: one \(a\.pcap\), two \(c\.pcap\); give the files of"):
        model.state()
    with pytest.raises(MixedClusters):
        history_of([metadata("one", "a.pcap"), metadata("two", "a.pcap")])


def test_a_refused_request_of_another_cluster_is_not_a_second_cluster() -> None:
    model = ClusterModel()
    model.take(metadata("one", "a.pcap"))
    registration = messages.BrokerRegistrationRequest(broker_id=4, cluster_id="two")
    model.take(Observation(registration, 3, 2.0, "c:1", "h:9", file="a.pcap"), is_refused=True)
    assert model.state().cluster_id == "one"
