"""CreateReplicaAssignment (KIP-879): returns where replicas would be placed; nothing is created."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...cluster.replica_assignors import answer_create_replica_assignment, assignor_for
from ..cluster import RequestContext


def create_replica_assignment(request: RequestContext) -> Any:
    """Answer CreateReplicaAssignment; a refused request gets an empty array."""
    cluster = request.cluster
    assignor = partial(cluster.controller.run, assignor_for(cluster.settings.replica_assignor))
    return answer_create_replica_assignment(request.message, cluster.controller.brokers(), cluster.rng, assignor)
