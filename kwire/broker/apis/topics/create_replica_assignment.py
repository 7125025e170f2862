"""CreateReplicaAssignment of the draft KIP-879: where the cluster would place replicas."""

from __future__ import annotations

from functools import partial
from typing import Any

from ....cluster.placement.create_replica_assignment import answer_create_replica_assignment
from ....cluster.placement.replica_assignors import assignor_for
from ...api import ServedApi
from ...request_context import RequestContext


def create_replica_assignment(request: RequestContext[Any]) -> Any:
    """Handle CreateReplicaAssignment; a refused request gets an empty array."""
    cluster = request.cluster
    assignor = partial(cluster.controller.run, assignor_for(cluster.settings.replica_assignor))
    return answer_create_replica_assignment(request.message, cluster.controller.brokers(), cluster.rng, assignor)


DRAFT_APIS = {
    "CreateReplicaAssignment": ServedApi(0, 0, create_replica_assignment),
}  # of a draft, served with its profile
