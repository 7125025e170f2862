"""Elections of leaders. Ports PartitionLeaderElectionAlgorithms and Election."""

from __future__ import annotations

from ..values import LeaderAndIsr, TopicPartition
from .controller_context import ControllerContext

Election = tuple[LeaderAndIsr, tuple[int, ...]]  # the state to write, and the replicas to notify


def elect_for_offline(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose a leader for a partition without one: the first live in-sync replica.

    Args:
        context: the controller's state, with the online replicas.
        partition: the partition without a leader.
        state: its current state.
        unclean: whether a live out-of-sync replica may become the leader if there is no other.

    Returns:
        The next state and the replicas to notify; None if no replica can lead.
    """
    live = context.live_replicas(partition)
    leader = next((replica for replica in live if replica in state.isr), None)
    if leader is not None:
        isr = tuple(replica for replica in state.isr if context.is_online(replica, partition))
        return state.next(leader, isr), live
    if unclean and live:
        return state.next(live[0], live[:1]), live
    return None


def elect_unclean(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose a leader even if no live replica is in sync; see `elect_for_offline`."""
    return elect_for_offline(context, partition, state, True)


def elect_preferred(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose the preferred replica, the first assigned one, if it is live and in sync; see `elect_for_offline`."""
    replicas = context.assignments[partition].replicas
    if context.is_online(replicas[0], partition) and replicas[0] in state.isr:
        return state.next(replicas[0], state.isr), replicas
    return None


def elect_reassigned(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose the first live in-sync target replica of a reassignment; see `elect_for_offline`."""
    target = context.assignments[partition].target
    live = (replica for replica in target if context.is_online(replica, partition))
    leader = next((replica for replica in live if replica in state.isr), None)
    return None if leader is None else (state.next(leader, state.isr), target)


def elect_for_shutdown(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose a replica whose broker is not shutting down and remove the others from the ISR; see
    `elect_for_offline`.
    """
    replicas = [
        replica
        for replica in context.assignments[partition].replicas
        if context.is_online(replica, partition, even_shutting_down=True)
    ]
    staying = [replica for replica in replicas if replica in state.isr and replica not in context.shutting_down]
    if not staying:
        return None
    isr = tuple(replica for replica in state.isr if replica not in context.shutting_down)
    return state.next(staying[0], isr), tuple(replicas)


def elect_and_leave_out(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose like `elect_for_shutdown`, but notify only the replicas that stay, as Kafka 1.x does."""
    election = elect_for_shutdown(context, partition, state, unclean)
    if election is None:
        return None
    elected, replicas = election
    return elected, tuple(replica for replica in replicas if replica not in context.shutting_down)
