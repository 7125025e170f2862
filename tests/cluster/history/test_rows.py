"""Stories and lives as rows of tables."""

from __future__ import annotations

from kwire.cluster import Observation, history_of
from kwire.cluster.history.rows import BrokerLife, IsrShrink, PartitionStateRow, RackViolation, Tables
from tests.cluster.observations import brokers, update, view

LIVE = {1: "r", 2: "s"}


def test_states_have_a_beginning_and_an_end() -> None:
    tables = history_of([update(1.0), update(2.0, isr=(1,), epochs=(0, 1)), update(3.0, leader=-2, isr=())])
    source = "UpdateMetadataRequest"
    assert tables.partition_states == (
        PartitionStateRow("t", 0, 1, 0, 0, (1, 2), (1, 2), (), 1.0, 2.0, source),
        PartitionStateRow("t", 0, 1, 0, 1, (1,), (1, 2), (), 2.0, 3.0, source),
        PartitionStateRow("t", 0, 1, 0, 1, (1,), (1, 2), (), 3.0, None, source, being_deleted=True),
    )
    assert tables.isr_shrinks == (IsrShrink("t", 0, 2.0, 1, 0, (1, 2), (1,), (2,), source),)


def test_missing_information_is_shown() -> None:
    (row,) = history_of([view(1.0, version=4)]).partition_states
    assert (row.leader_epoch, row.partition_epoch, row.offline_replicas) == (-1, -1, None)


def test_an_isr_that_grows_or_a_topic_that_goes_shrinks_nothing() -> None:
    grown = [update(1.0, isr=(1,)), update(2.0, isr=(1, 2), epochs=(0, 1)), update(3.0, leader=-2)]
    assert history_of(grown).isr_shrinks == ()


def test_brokers_have_the_address_of_their_first_endpoint() -> None:
    source = "UpdateMetadataRequest"
    assert history_of([brokers(1.0, LIVE), brokers(2.0, {2: "s"})]).brokers == (
        BrokerLife(1, "b1", 9, "r", ("L://b1:9",), 1.0, 2.0, source),
        BrokerLife(2, "b2", 9, "s", ("L://b2:9",), 1.0, None, source),
    )


def violations(*observations: Observation) -> tuple[RackViolation, ...]:
    return history_of(observations).rack_violations


def test_racks_are_broken_from_when_another_rack_is_there() -> None:
    observations = [update(1.0, live={1: "r", 2: "r"}), brokers(2.0, {1: "r", 2: "r", 3: "s"})]
    assert violations(*observations) == (RackViolation("t", 0, (1, 2), ("r", "r"), "KIP-36", 2.0, None),)
    mended = update(3.0, replicas=(1, 3), epochs=(0, 1), live={1: "r", 2: "r", 3: "s"})
    assert violations(*observations, mended) == (RackViolation("t", 0, (1, 2), ("r", "r"), "KIP-36", 2.0, 3.0),)


def test_a_broker_that_restarts_stays_on_its_rack() -> None:
    observations = [update(1.0, live={1: "r", 2: "r", 3: "s"}), brokers(2.0, {1: "r", 2: "r"}), brokers(3.0, {2: "r"})]
    assert violations(*observations) == (RackViolation("t", 0, (1, 2), ("r", "r"), "KIP-36", 1.0, None),)


def test_other_replicas_that_break_the_rule_are_another_row() -> None:
    live = {1: "r", 2: "r", 3: "s", 4: "r"}
    moved = update(2.0, replicas=(1, 4), epochs=(0, 1), live=live)
    rows = violations(update(1.0, live=live), moved, update(3.0, leader=-2, live=live))
    assert [(row.replicas, row.valid_from, row.valid_to) for row in rows] == [((1, 2), 1.0, 2.0), ((1, 4), 2.0, 3.0)]


def test_where_no_racks_are_known_none_is_broken() -> None:
    assert violations(update(1.0, live={1: "", 2: ""})) == ()
    assert history_of([]) == Tables()
