"""Each message says what it says in each of its versions."""

from __future__ import annotations

from kwire import messages
from kwire.cluster.events.draft_names import body_of
from kwire.cluster.events.event import DELETED, DELETION_BEGUN, Event, ReportedState
from kwire.cluster.events.from_brokers import events_of_view
from kwire.cluster.events.from_controllers import events_of_controller
from kwire.cluster.events.listed_brokers import Listed, listed_by_controller, listed_by_view
from kwire.cluster.events.observation import observed
from tests.cluster.observations import Update, leader_and_isr, update, view
from tests.protocol.nested.test_envelope import ROWS, conversation


def test_an_update_lists_offline_replicas_from_version_4() -> None:
    for version in range(9):
        update_metadata = update(1.0, offline=(2, 1), epochs=(3, 5), version=version)
        offline = (1, 2) if version >= 4 else None
        found = list(events_of_controller(update_metadata.body))
        assert found == [Event("t", 0, ReportedState(1, 3, 5, (1, 2), (1, 2), offline, is_deleting=False))]


def test_leader_and_isr_never_does_and_gives_the_topic_id() -> None:
    (found,) = events_of_controller(leader_and_isr(1.0, epochs=(3, 5)).body)
    assert found == Event("t", 0, ReportedState(1, 3, 5, (1, 2), (1, 2), None, bytes([7] * 16), (), ()))


def test_deletions_are_told_by_the_leader_and_by_stop_replica() -> None:
    begun = DELETION_BEGUN._replace(replicas=(1, 2), offline=(2,))
    assert list(events_of_controller(update(1.0, leader=-2, isr=(), offline=(2,)).body)) == [Event("t", 0, begun)]
    kind = messages.StopReplicaRequest
    rows = tuple(kind.StopReplicaPartitionState(index, epoch) for index, epoch in ((0, -2), (1, 4)))
    stop = kind(topic_states=(kind.StopReplicaTopicState(topic_name="t", partition_states=rows),))
    assert list(events_of_controller(body_of(stop, 4))) == [Event("t", 0, DELETION_BEGUN)]


def test_a_view_has_the_state_of_its_broker() -> None:
    assert list(events_of_view(view(1.0, epoch=4).body)) == [
        Event("t", 0, ReportedState(1, 4, None, (1, 2), (1, 2), ()))
    ]
    without = ReportedState(-1, None, None, (1, 2), (1, 2))
    assert list(events_of_view(view(1.0, error=5, version=1).body)) == [Event("t", 0, without)]
    assert list(events_of_view(view(1.0, error=5, version=0).body)) == [Event("t", 0, ReportedState(-1))]
    unreached = ReportedState(None, 0, None, (1, 2), (1, 2), ())  # on this listener; others may reach the leader
    assert list(events_of_view(view(1.0, error=72).body)) == [Event("t", 0, unreached)]
    assert list(events_of_view(view(1.0, topic_error=3).body)) == [Event("t", None, DELETED)]
    assert list(events_of_view(view(1.0, topic_error=29).body)) == []


def test_live_brokers_have_endpoints_and_racks() -> None:
    old = Update.UpdateMetadataBroker(id=1, v0_host="h", v0_port=9)
    assert listed_by_controller(body_of(Update(live_brokers=(old,)), 0)) == (Listed(1, None, ("h:9",)),)
    where = Update.UpdateMetadataEndpoint(host="::1", port=9, listener="L")
    new = Update.UpdateMetadataBroker(id=1, endpoints=(where,), rack="")
    assert listed_by_controller(body_of(Update(live_brokers=(new,)), 8)) == (Listed(1, None, ("L://[::1]:9",)),)
    assert listed_by_view(view(1.0, live=(3,)).body) == (Listed(3, None, ("b3:9",)),)


def test_what_an_envelope_forwards_is_seen() -> None:
    """Envelopes of Kafka 4.4's brokers; reassignments come to controllers in no other way."""
    seen = {one.name: (one, outer) for row in ROWS for outer in conversation(row) if (one := observed(outer))}
    asked = "AlterPartitionReassignmentsRequest"
    assert seen.keys() == {
        asked,
        "AlterPartitionReassignmentsResponse",
        "ListPartitionReassignmentsResponse",
        "DescribeQuorumResponse",
    }
    for one, outer in seen.values():
        assert (one.message, one.correlation_id) == (outer.inside.message, outer.correlation_id)
