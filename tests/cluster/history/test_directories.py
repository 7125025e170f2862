"""Log directories that brokers of KRaft report, and the replicas in them."""

from __future__ import annotations

from typing import Any

from kwire import messages
from kwire.cluster import Observation, history_of
from kwire.cluster.history.lost_directories import Directories
from kwire.cluster.history.partition_timeline import Moment
from kwire.cluster.history.rows import OfflineReplica
from kwire.cluster.state import LOST, MIGRATING, UNASSIGNED
from tests.cluster.observations import view

A, B, TOPIC = b"a" * 16, b"b" * 16, b"t" * 16


def losses(*reports: tuple[str, Any]) -> list[tuple[int, int | None]]:
    directories = Directories()
    for order, (what, value) in enumerate(reports):
        now = Moment(order, float(order))
        if what == "assign":
            directories.assign(3, value, [(TOPIC, 0)], now, what)
        else:
            getattr(directories, what)(3, value, now, what)
    return [(one.since.order, one.until and one.until.order) for one in directories.losses]


def test_a_replica_is_lost_with_its_directory_and_found_in_another() -> None:
    assert losses(("assign", A), ("fail", []), ("fail", [A]), ("fail", [A])) == [(2, None)]
    assert losses(("assign", A), ("fail", [A]), ("assign", B)) == [(1, 2)]
    assert losses(("assign", A), ("fail", [B])) == []
    assert losses(("fail", [A]), ("assign", A), ("fail", [])) == [(1, 2)]


def test_a_directory_that_a_broker_does_not_start_with_is_offline() -> None:
    assert losses(("start", [A, B]), ("assign", A), ("start", [B])) == [(2, None)]
    assert losses(("assign", A), ("fail", [A]), ("start", [B]), ("fail", []), ("start", [A, B])) == [(1, 4)]
    assert losses(("assign", A), ("start", [])) == []


def test_ids_that_name_no_directory() -> None:
    for directory, lost in ((LOST, [(1, None)]), (UNASSIGNED, []), (MIGRATING, [])):
        assert losses(("start", [A]), ("assign", directory)) == lost


def heartbeat(time: float, *failed: bytes, broker: int = 2) -> Observation:
    return Observation(messages.BrokerHeartbeatRequest(broker_id=broker, offline_log_dirs=failed), 1, time)


def assigned(time: float, directory: bytes = A) -> Observation:
    kind = messages.AssignReplicasToDirsRequest
    topic = kind.DirectoryData.TopicData if hasattr(kind.DirectoryData, "TopicData") else kind.TopicData
    partition = kind.PartitionData(partition_index=0)
    data = kind.DirectoryData(id=directory, topics=(topic(topic_id=TOPIC, partitions=(partition,)),))
    return Observation(kind(broker_id=2, directories=(data,)), 0, time)


def offline(*observations: Observation) -> list[OfflineReplica]:
    return list(history_of(observations).offline_replicas)


def test_a_report_is_a_row_with_the_leaders_that_clients_were_told() -> None:
    observations = [view(1.0, leader=2, topic_id=TOPIC), assigned(1.5), heartbeat(2.0, A), view(9.0, leader=1, epoch=1)]
    (row,) = offline(*observations)
    expected = OfflineReplica("t", 0, 2, "log directory", 2, 1, 2.0, None, None, "BrokerHeartbeatRequest")
    assert row == expected
    ended = offline(*observations, heartbeat(10.0))
    assert [(one.offline_from, one.offline_to, one.ended_by) for one in ended] == [(2.0, 10.0, "online")]


def test_what_clients_were_told_and_what_the_broker_reports_are_one_outage() -> None:
    observations = [view(1.0, leader=2, topic_id=TOPIC), assigned(1.5), heartbeat(2.0, A)]
    reported = view(9.0, leader=1, epoch=1, isr=(1,), offline=(2,))
    (row,) = offline(*observations, reported)
    assert (row.offline_from, row.offline_to, row.source) == (2.0, None, "BrokerHeartbeatRequest")
    back = view(20.0, leader=1, epoch=1, isr=(1, 2))
    (row,) = offline(*observations, reported, heartbeat(12.0), back)
    assert (row.offline_from, row.offline_to, row.ended_by, row.cause) == (2.0, 20.0, "online", "log directory")


def test_a_topic_without_a_name_has_its_id_and_one_that_goes_ends_the_row() -> None:
    (row,) = offline(assigned(1.0), heartbeat(2.0, A))
    assert (row.topic, row.leader_before, row.leader_after) == (TOPIC.hex(), None, None)
    (row,) = offline(view(1.0, topic_id=TOPIC), assigned(1.5), heartbeat(2.0, A), view(3.0, topic_error=3))
    assert (row.topic, row.offline_to, row.ended_by) == ("t", 3.0, "deleted")


def test_sources_note_what_is_unknown() -> None:
    sources = {one.source: one for one in history_of([heartbeat(2.0, A), heartbeat(1.0)]).sources}
    found = sources["BrokerHeartbeatRequest"]
    assert (found.messages, found.undecodable, found.first, found.last) == (2, 0, 1.0, 2.0)
    assert found.note is not None
    assert found.note.startswith("no controller was captured")
    assert "(1 of broker 2) was not captured" in found.note
    known = {one.source: one.note for one in history_of([assigned(1.0), heartbeat(2.0, A)]).sources}
    assert "broker 2" not in (known["BrokerHeartbeatRequest"] or "")
