"""The sources of a model, and what their notes say."""

from __future__ import annotations

import kwire
from kwire import messages
from kwire.cluster import Observation, model_of


def stop(epoch: int, time: float, file: str) -> Observation:
    return Observation(messages.StopReplicaRequest(controller_epoch=epoch), 3, time=time, file=file)


def notes(*observations: Observation) -> list[str]:
    return [row.note for row in model_of(observations).tables().sources if row.note]


def test_requests_of_another_cluster_without_cluster_ids_are_noted() -> None:
    """Brokers refuse earlier controllers (STALE_CONTROLLER_EPOCH), so a request that was taken is of other brokers."""
    assert notes(stop(7, 0.0, "a"), stop(1, 100.0, "b"), stop(2, 200.0, "b")) == [
        "b has requests of earlier controllers that brokers took: of another cluster, and ignored"
    ]
    assert notes(stop(7, 0.0, "a"), stop(6, 5.0, "b")) == []  # on its way when the next controller began
    assert notes(stop(6, 0.0, "a"), stop(7, 100.0, "b"), stop(7, 200.0, "a")) == []


def test_a_request_that_could_not_be_decoded_is_counted_alone() -> None:
    undecodable = Observation(None, kwire.codec("UpdateMetadataRequest", 5), time=150.0, file="b")
    assert notes(stop(7, 0.0, "a"), undecodable) == [
        "1 could not be decoded and are missing (drafts need the option profile)"
    ]
