"""Which replicas went, when, why, who led then, and when they came back."""

from __future__ import annotations

from kwire import messages
from kwire.cluster import Observation, history_of
from kwire.cluster.history.partition_timeline import LAG
from kwire.cluster.history.rows import OfflineReplica
from tests.cluster.observations import Update, brokers, leader_and_isr, refusal, update, view

LIVE = {1: "r", 2: "s"}


def offline(*observations: Observation) -> list[OfflineReplica]:
    return list(history_of(observations).offline_replicas)


def row(
    since: float | None, until: float | None = None, ended: str | None = None, cause: str | None = "log directory"
) -> OfflineReplica:
    return OfflineReplica("t", 0, 2, cause, 2, 1, since, until, ended, "UpdateMetadataRequest")


def test_a_replica_goes_offline_and_returns_as_messages_report() -> None:
    gone = update(2.0, offline=(2,), isr=(1,), epochs=(1, 1), live=LIVE)
    found = offline(update(1.0, leader=2, live=LIVE), gone, update(3.0, isr=(1,), epochs=(1, 1), live=LIVE))
    assert found == [row(2.0, 3.0, "online")]


def test_it_may_end_otherwise_or_not_at_all() -> None:
    first, gone = update(1.0, leader=2, live=LIVE), update(2.0, offline=(2,), epochs=(1, 1), live=LIVE)
    assert offline(first, gone) == [row(2.0)]
    assert offline(first, gone, update(3.0, leader=-2, live=LIVE)) == [row(2.0, 3.0, "online")]
    assert offline(first, gone, update(3.0, leader=-2, offline=(2,), live=LIVE)) == [row(2.0)]
    moved = update(3.0, replicas=(1, 3), epochs=(1, 2), live=LIVE)
    assert offline(first, gone, moved) == [row(2.0, 3.0, "removed")]


def test_a_broker_that_is_away_is_the_cause() -> None:
    first = update(1.0, leader=2, live=LIVE)
    reported = update(2.0, offline=(2,), epochs=(1, 1), live=LIVE)  # it is told to shut down and lives a little longer
    assert offline(first, reported, brokers(2.5, {1: "r"})) == [row(2.0, cause="broker")]
    assert offline(first, reported, update(3.0, epochs=(1, 2), live=LIVE), brokers(9.0, {1: "r"})) == [
        row(2.0, 3.0, "online")
    ]


def test_a_failed_directory_is_the_cause_if_the_broker_answers_so() -> None:
    first = update(1.0, leader=2, live=LIVE, topic_id=bytes([7] * 16))
    reported = update(2.0, offline=(2,), epochs=(1, 1), live=LIVE)
    asked, failed = leader_and_isr(1.5, to=2, leader=2, number=8), refusal(1.6, 2, 0, 56, 8)
    assert offline(first, asked, failed, reported, brokers(2.5, {1: "r"})) == [row(2.0)]
    of_another = refusal(1.6, 1, 0, 56, 8)
    assert offline(first, asked, of_another, reported, brokers(2.5, {1: "r"})) == [row(2.0, cause="broker")]
    late = update(2.0 + LAG, offline=(2,), epochs=(1, 1), live=LIVE)
    assert offline(first, asked, failed, late, brokers(99.0, {1: "r"})) == [row(2.0 + LAG, cause="broker")]


def test_without_lists_of_brokers_there_is_no_cause() -> None:
    assert offline(update(1.0, leader=2), update(2.0, offline=(2,), epochs=(1, 1))) == [row(2.0, cause=None)]


def test_before_kafka_1_it_follows_from_the_brokers() -> None:
    observations = [
        update(1.0, live=LIVE, version=3),
        brokers(2.0, {1: "r"}),
        brokers(3.0, LIVE),
        brokers(4.0, {2: "s"}),
    ]
    expected = [
        OfflineReplica("t", 0, 2, "broker", 1, 1, 2.0, 3.0, "online", "brokers"),
        OfflineReplica("t", 0, 1, "broker", 1, 1, 4.0, None, None, "brokers"),
    ]
    assert offline(*observations) == expected


def test_an_election_close_by_belongs_to_the_broker_that_is_gone() -> None:
    first = update(1.0, leader=2, live=LIVE, version=3)
    for elected, leaders in ((1.99, (2, 1)), (2.01, (2, 1)), (1.2, (1, 1)), (2.8, (2, 2))):
        elects = leader_and_isr(elected, to=1, leader=1, epochs=(1, 1))
        (found,) = offline(*sorted([first, brokers(2.0, {1: "r"}), elects], key=lambda one: one.time or 0))
        assert (found.leader_before, found.leader_after, found.offline_from) == (*leaders, 2.0)


def test_a_broker_that_was_never_there_is_away_from_the_beginning() -> None:
    (found,) = offline(update(1.0, live={1: "r"}, version=3), brokers(2.0, {1: "r"}))
    assert (found.broker, found.offline_from, found.offline_to, found.leader_before) == (2, 1.0, None, None)


def test_without_times_rows_keep_their_order() -> None:
    observations = [update(None, leader=2, live=LIVE), update(None, offline=(2,), epochs=(1, 1), live=LIVE)]
    assert offline(*observations) == [row(None)]
    assert offline(Observation(Update(controller_epoch=1), 8)) == []


TOPIC = bytes([7] * 16)


def failover(*after: Observation) -> list[OfflineReplica]:
    """A directory of broker 2 fails; a new controller knows nothing of it at first."""
    observations = [
        update(1.0, leader=2, live=LIVE, topic_id=TOPIC),
        leader_and_isr(1.5, to=2, leader=2, number=8),
        refusal(1.6, 2, 0, 56, 8),
        update(2.0, offline=(2,), isr=(1,), epochs=(1, 1), live=LIVE),
        update(60.0, offline=(), isr=(1,), epochs=(1, 1), live=LIVE, term=2),
        leader_and_isr(60.1, to=2, isr=(1,), epochs=(1, 1), number=9, term=2),
    ]
    return offline(*observations, *after)


def test_a_controller_that_was_just_elected_ends_no_outage() -> None:
    again = update(60.5, offline=(2,), isr=(1,), epochs=(1, 1), live=LIVE, term=2)
    assert failover(refusal(60.3, 2, 0, 56, 9), again) == [row(2.0)]
    assert failover(again) == [row(2.0)]
    assert failover(refusal(60.3, 2, 0, 56, 9)) == [row(2.0)]  # the capture ends before it is taken back


def test_a_replica_is_back_when_its_broker_answers_for_it() -> None:
    for code in (0, 11):
        assert failover(refusal(60.3, 2, 0, code, 9)) == [row(2.0, 60.3, "online")]
    again = update(90.0, offline=(2,), isr=(1,), epochs=(1, 2), live=LIVE, term=2)
    found = failover(refusal(60.3, 2, 0, 0, 9), again)
    assert [(one.offline_from, one.offline_to) for one in found] == [(2.0, 60.3), (90.0, None)]


def test_a_replica_is_back_when_it_is_in_the_isr_again() -> None:
    joined = update(61.0, offline=(), isr=(1, 2), epochs=(1, 2), live=LIVE, term=2)
    assert failover(joined) == [row(2.0, 61.0, "online")]


def test_an_answer_about_stop_replica_brings_nothing_back() -> None:
    kind = messages.StopReplicaResponse
    rows = (kind.StopReplicaPartitionError(topic_name="t", partition_index=0, error_code=0),)
    stopped = Observation(kind(partition_errors=rows), 3, 60.3, "c:1", "b2:9", 9)
    assert failover(stopped) == [row(2.0)]


def test_what_is_removed_or_deleted_before_it_is_back_ends_so() -> None:
    moved = update(61.0, replicas=(1, 3), isr=(1,), epochs=(1, 2), live=LIVE, term=2)
    assert failover(moved) == [row(2.0, 61.0, "removed")]
    begun = update(61.0, leader=-2, isr=(), offline=(2,), live=LIVE, term=2)
    assert failover(begun) == [row(2.0)]  # its log is still in the failed directory (KIP-112)
    other = Observation(Update(controller_epoch=2, type=2), 8, 62.0, "c:1", "b1:9")
    assert failover(other) == [row(2.0, 62.0, "deleted")]
    assert failover(begun, other) == [row(2.0, 62.0, "deleted")]


def test_a_state_without_replicas_removes_them() -> None:
    first, reported = update(1.0, leader=2, live=LIVE), update(2.0, offline=(2,), epochs=(1, 1), live=LIVE)
    assert offline(first, reported, update(3.0, replicas=(), isr=(), epochs=(1, 2), live=LIVE)) == [
        row(2.0, 3.0, "removed")
    ]
    # A story may begin without lists: Metadata v0 of a partition without leader leaves them out.
    unknown = view(1.0, error=5, version=0)
    assert offline(unknown, view(2.0, topic_error=3)) == []
