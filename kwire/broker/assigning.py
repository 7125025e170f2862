"""CreateReplicaAssignment (KIP-879): where replicas would be placed; nothing is created."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..cluster.replica_assignors import assignor_for
from ..cluster.replica_requests import answer_create_replica_assignment
from .asks import Ask


def create_replica_assignment(ask: Ask) -> Any:
    """Answer CreateReplicaAssignment; what is refused is an empty array."""
    cluster = ask.cluster
    assignor = partial(cluster.controller.run, assignor_for(cluster.settings.replica_assignor))
    return answer_create_replica_assignment(ask.message, cluster.controller.brokers(), cluster.rng, assignor)
