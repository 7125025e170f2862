"""The replica nearest to a consumer, against RackAwareReplicaSelector of Kafka 4.4.0 and 3.9.2."""

from __future__ import annotations

from kwire.broker.apis.records.replica_selector import ReplicaView, select_replica
from tests.cluster.vectors import Case, cases, check


def selected(case: Case) -> Case:
    columns = ("id", "rack", "log_end_offset", "ms_since_caught_up")
    replicas = [ReplicaView(*(one[column] for column in columns)) for one in case["replicas"]]
    leader = next(one for one in replicas if one.node_id == case["leader"])
    return {"result": {"selected": select_replica(leader, replicas, case["client_rack"]).node_id}}


def test_vectors_of_the_replica_selector() -> None:
    check(cases("replica_selector"), selected)
