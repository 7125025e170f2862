"""Partitions added and topics moved, against AdminZkClient, AdminUtils and ReassignPartitionsCommand."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from kwire.cluster.java.hash_order import STRINGS, hash_order_of
from kwire.cluster.java.random import Random
from kwire.cluster.placement.rack_aware import (
    RackAwareMode,
    add_partitions,
    broker_metadatas,
)
from kwire.cluster.plan.generate_assignment import generate_assignment
from kwire.cluster.plan.reassignment_json import reassignment_json
from kwire.errors.refused import AdminOperation
from tests.cluster.vectors import Case, answer_of, brokers_of, by_number, by_release, by_text, cases, check

OLD = dict.fromkeys(
    (
        "AdminOperation",
        "BrokerNotAvailable",
        "InvalidPartitions",
        "InvalidReplicaAssignment",
        "InvalidReplicationFactor",
    ),
    "kafka.admin.AdminOperationException",
)


def given(case: Case) -> dict[int, list[int]] | None:
    """The replicas given for the new partitions; Kafka 0.10 takes them as text that begins with the old partitions."""
    if "manual_str" in case:
        lists = [[int(text) for text in part.split(":")] for part in case["manual_str"].split(",")]
        return {index: replicas for index, replicas in enumerate(lists) if index >= len(case["existing"])}
    return by_number(case["manual"]) if "manual" in case else None


def added(case: Case, release: str) -> dict[str, list[int]]:
    brokers = brokers_of(case)
    try:
        brokers = broker_metadatas(brokers, RackAwareMode(case["mode"]))
    except AdminOperation:
        if release != "0.10.0.1":  # which looked at the racks last
            raise
    return by_text(add_partitions(by_number(case["existing"]), brokers, case["num_partitions"], given(case)))


def answer(release: str, case: Case) -> Any:
    return answer_of(lambda: added(case, release), **(OLD if release == "0.10.0.1" else {}))


def test_vectors_of_added_partitions() -> None:
    for release, found in by_release(cases("add_partitions")).items():
        check(found, partial(answer, release), release)


def generated(case: Case) -> dict[str, Any]:
    topics = {topic: dict(enumerate(lists)) for topic, lists in case["topics"].items()}
    rng = Random(case["rand_seed"])
    found = generate_assignment(
        topics, case["topics_to_move"], brokers_of(case), case["broker_list"], rng, case["rack_aware"]
    )
    return {
        "proposed": {topic: by_text(assignment) for topic, assignment in found.proposed.items()},
        "current": {topic: by_text(assignment) for topic, assignment in found.current.items()},
        "topic_order": list(hash_order_of(found.current, STRINGS)),
    }


@pytest.mark.parametrize("file", ["reassign_generate", "reassign_generate_mixed"])
def test_vectors_of_generated_reassignments(file: str) -> None:
    check(cases(file), lambda case: answer_of(lambda: generated(case)))


def test_json_as_kafkas_tool_reads_it() -> None:
    written = json.dumps(reassignment_json({"b": {1: [2, 1], 0: (1, 2)}, "a": {0: [3]}}))
    assert json.loads(written) == {
        "version": 1,
        "partitions": [
            {"topic": "b", "partition": 0, "replicas": [1, 2]},
            {"topic": "b", "partition": 1, "replicas": [2, 1]},
            {"topic": "a", "partition": 0, "replicas": [3]},
        ],
    }
