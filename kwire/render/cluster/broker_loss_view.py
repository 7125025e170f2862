"""What becomes of a cluster without some of its brokers, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...cluster import ClusterState
from ...cluster.broker_loss import BrokerLoss, Key
from ..colours import PLAIN, Style
from ..escaping import escape
from ..value_text import count_text


def broker_loss_lines(
    state: ClusterState, loss: BrokerLoss, groups: Mapping[str, Sequence[Key]], style: Style = PLAIN
) -> Iterator[str]:
    """Yield the effects of losing brokers: a verdict, and what each kind of effect hits.

    Args:
        state: the state before.
        loss: the effects, see `effects_of_loss`.
        groups: the consumer groups that notice, each with its partitions; see `groups_that_notice`.
        style: the colours.
    """
    title = f"without {_broker_names(loss.brokers)}: "
    if loss.is_safe:
        yield style.paint("title", f"{title}every partition stays available and writable")
    else:
        yield style.paint("warning", f"{title}{', '.join(_verdicts(loss))}")
    kinds = {
        "without leader": loss.leaderless,
        "below min.insync.replicas": loss.under_min_isr,
        "without any replica": loss.without_replicas,
    }
    for name, keys in kinds.items():
        if keys:
            yield escape(f"  {name}: {_partition_names(keys)}")
    if loss.leaders:
        yield escape(f"  other leaders: {', '.join(_leader_texts(state, loss))}")
    if loss.is_quorum_lost is not None:
        yield f"  quorum of controllers: {'lost' if loss.is_quorum_lost else 'kept'}"
    for group, partitions in groups.items():
        yield escape(f"  group {group} notices: {_partition_names(partitions)}")


def _verdicts(loss: BrokerLoss) -> Iterator[str]:
    if loss.is_quorum_lost:
        yield "the controllers lose their quorum"
    if loss.leaderless:
        yield f"{count_text(len(loss.leaderless), 'partition')} unavailable"
    if loss.under_min_isr:
        yield f"{count_text(len(loss.under_min_isr), 'partition')} not writable with acks=all"


def _leader_texts(state: ClusterState, loss: BrokerLoss) -> Iterator[str]:
    for (topic, index), leader in loss.leaders.items():
        yield f"{topic}-{index} {state.topics[topic][index].leader} -> {leader}"


def _partition_names(keys: Iterable[Key]) -> str:
    return ", ".join(f"{topic}-{index}" for topic, index in keys)


def _broker_names(brokers: Sequence[int]) -> str:
    return f"broker{'s' if len(brokers) != 1 else ''} {', '.join(map(str, brokers))}"


def broker_loss_json(state: ClusterState, loss: BrokerLoss, groups: Mapping[str, Sequence[Key]]) -> dict[str, Any]:
    """Return the effects of losing brokers as plain values for JSON; arguments as for `broker_loss_lines`."""
    leaders = [
        {"topic": topic, "partition": index, "before": state.topics[topic][index].leader, "after": leader}
        for (topic, index), leader in loss.leaders.items()
    ]
    return {
        "brokers": list(loss.brokers),
        "safe": loss.is_safe,
        "leaders": leaders,
        "leaderless": _partitions_json(loss.leaderless),
        "underMinIsr": _partitions_json(loss.under_min_isr),
        "withoutReplicas": _partitions_json(loss.without_replicas),
        "quorumLost": loss.is_quorum_lost,
        "groups": {group: _partitions_json(keys) for group, keys in groups.items()},
    }


def _partitions_json(keys: Iterable[Key]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": index} for topic, index in keys]
