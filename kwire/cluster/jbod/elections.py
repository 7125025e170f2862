"""Who leads next: one pure function for each occasion. All choose among live replicas, in the order of assignment.

Knows a partition's state and which replicas are online; knows no machine.
"""

from __future__ import annotations

from .controller_context import ControllerContext
from .values import LeaderAndIsr, TopicPartition

Election = tuple[LeaderAndIsr, tuple[int, ...]]  # what to write, and whom to tell


def elect_for_offline(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose a leader for a partition that has none: the first live replica in sync.

    Args:
        context: tells which replicas are online.
        partition: the one without a leader.
        state: its state now.
        unclean: whether a live replica that is not in sync may lead, if there is no other.

    Returns:
        The next state and the replicas to tell; None if nobody can lead.
    """
    live = context.live_replicas(partition)
    leader = next((one for one in live if one in state.isr), None)
    if leader is not None:
        return state.next(leader, tuple(one for one in state.isr if context.is_online(one, partition))), live
    if unclean and live:
        return state.next(live[0], live[:1]), live
    return None


def elect_unclean(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose a leader even if no live replica is in sync. As `elect_for_offline`."""
    return elect_for_offline(context, partition, state, True)


def elect_preferred(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose the preferred replica, the first assigned, if it is live and in sync. As `elect_for_offline`."""
    replicas = context.assignments[partition].replicas
    if context.is_online(replicas[0], partition) and replicas[0] in state.isr:
        return state.next(replicas[0], state.isr), replicas
    return None


def elect_reassigned(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose the first target replica of a reassignment that is live and in sync. As `elect_for_offline`."""
    target = context.assignments[partition].target
    leader = next((one for one in target if context.is_online(one, partition) and one in state.isr), None)
    return None if leader is None else (state.next(leader, state.isr), target)


def elect_for_shutdown(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """Choose a replica whose broker does not shut down, and take those that do from the ISR. As `elect_for_offline`."""
    replicas = [
        one
        for one in context.assignments[partition].replicas
        if context.is_online(one, partition, even_shutting_down=True)
    ]
    staying = [one for one in replicas if one in state.isr and one not in context.shutting_down]
    if not staying:
        return None
    isr = tuple(one for one in state.isr if one not in context.shutting_down)
    return state.next(staying[0], isr), tuple(replicas)


def elect_and_leave_out(
    context: ControllerContext, partition: TopicPartition, state: LeaderAndIsr, unclean: bool
) -> Election | None:
    """As `elect_for_shutdown`, but tell only the replicas that stay, as Kafka 1.x does."""
    elected = elect_for_shutdown(context, partition, state, unclean)
    return elected and (elected[0], tuple(one for one in elected[1] if one not in context.shutting_down))
