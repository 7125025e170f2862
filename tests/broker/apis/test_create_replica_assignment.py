"""CreateReplicaAssignment, served where the profile is on."""

from __future__ import annotations

from kwire.broker import Settings
from kwire.broker.connection import ServedRequest, read_request
from kwire.cluster.replica_assignors import create_replica_assignment
from kwire.protocol import Frame, encode_request
from tests.broker.served import cluster_of


def test_it_is_served_with_the_profile_alone() -> None:
    cluster = cluster_of(3, Settings(profile="KIP-879"))
    call = create_replica_assignment(4, 2)
    frame = Frame(encode_request(call.request, 0, correlation_id=1, catalog=cluster.catalog))
    said = read_request(frame, cluster.catalog, cluster.apis)
    assert isinstance(said, ServedRequest)
    found = call.assignment(cluster.answer(1, said.message, said.version, now=0.0))
    assert [len(set(ids)) for ids in found.values()] == [2, 2, 2, 2]
    plain = cluster_of(3)
    assert not isinstance(read_request(frame, plain.catalog, plain.apis), ServedRequest)
