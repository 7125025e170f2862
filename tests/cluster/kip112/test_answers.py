"""The brokers' answers, made and read in every version."""

from __future__ import annotations

import pytest

from kwire.cluster.events.partition_states import partition_errors
from kwire.cluster.kip112.requests import leader_and_isr_response, stop_replica_response
from kwire.codecs.message_codec import codec

ERRORS = {("a", 0): 0, ("b", 1): 56, ("a", 2): 11}
IDS = {"a": bytes(15) + b"\1", "b": bytes(15) + b"\2"}


@pytest.mark.parametrize("version", range(8))
def test_leader_and_isr_has_an_error_per_partition(version: int) -> None:
    found = codec("LeaderAndIsrResponse", version)
    read = found.decode(found.encode(leader_and_isr_response(version, 0, ERRORS, IDS)))
    assert partition_errors(read, {topic_id: name for name, topic_id in IDS.items()}) == ERRORS


@pytest.mark.parametrize("version", range(5))
def test_stop_replica_has_an_error_per_partition(version: int) -> None:
    found = codec("StopReplicaResponse", version)
    read = found.decode(found.encode(stop_replica_response(0, ERRORS)))
    assert partition_errors(read, {}) == ERRORS


@pytest.mark.parametrize("version", [0, 7])
def test_an_error_for_all_has_none_for_one(version: int) -> None:
    answer = leader_and_isr_response(version, 11, {}, {})
    assert (answer.error_code, partition_errors(answer, {})) == (11, {})
