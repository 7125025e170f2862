"""`kwire cluster --if-lost`, `--may-restart` and `--drain`: what becomes of a cluster without some of its brokers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ...cluster import ClusterState
from ...cluster.broker_loss import BrokerLoss, Key, drain_order, effects_of_loss
from ...cluster.consumer_groups.captured_groups import CapturedGroups
from ...cluster.state import MIN_ISR
from ...render.cluster.broker_loss_view import broker_loss_json, broker_loss_lines
from ...render.escaping import json_text
from ...render.value_text import count_text
from ..options.joined_words import JoinWords
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for
from .broker_arguments import brokers_named


def add_broker_loss(parser: argparse.ArgumentParser) -> None:
    """Add the options that ask what becomes of the cluster without some brokers."""
    parser.add_argument(
        "--if-lost", action=JoinWords, metavar="BROKERS", help="what a loss of these brokers or racks costs"
    )
    parser.add_argument(
        "--may-restart",
        action=JoinWords,
        metavar="BROKERS",
        help="exit code 1 unless each can be stopped alone",
    )
    parser.add_argument(
        "--drain",
        action=JoinWords,
        metavar="BROKERS",
        help="in which order these can be stopped, if they can",
    )


def show_broker_loss(options: argparse.Namespace, state: ClusterState, groups: CapturedGroups) -> int:
    """Print what becomes of the cluster, with all brokers of --if-lost lost, or each of --may-restart alone.

    Args:
        options: the options of the command.
        state: the cluster.
        groups: its consumer groups, as far as the input has them.

    Returns:
        1 if partitions become unavailable or refuse writes, or the controllers lose their quorum; 0 otherwise.
    """
    known = list((state.brokers or {}).values())
    if options.drain is not None:
        return _show_drain(options, state, brokers_named(options.drain, known, "--drain"))
    if options.if_lost is not None:
        losses = [effects_of_loss(state, brokers_named(options.if_lost, known, "--if-lost"))]
    else:
        brokers = brokers_named(options.may_restart, known, "--may-restart")
        losses = [effects_of_loss(state, [node_id]) for node_id in brokers]
    _note_assumptions(state)
    noticing = [groups_that_notice(groups, loss) for loss in losses]
    if options.json:
        rows = [broker_loss_json(state, loss, noticed) for loss, noticed in zip(losses, noticing, strict=True)]
        print(json_text({"kwire": 1, "safe": all(loss.is_safe for loss in losses), "losses": rows}))
    else:
        style = style_for(sys.stdout, options.color)
        for loss, noticed in zip(losses, noticing, strict=True):
            for line in broker_loss_lines(state, loss, noticed, style):
                print(line)
    return 0 if all(loss.is_safe for loss in losses) else 1


def _note_assumptions(state: ClusterState) -> None:
    if state.topics and not any(MIN_ISR in configs for configs in state.settings.configs.values()):
        remark(f"nothing in the input has {MIN_ISR}: 1 is assumed for all topics")


def _show_drain(options: argparse.Namespace, state: ClusterState, brokers: list[int]) -> int:
    """Print in which order brokers can be stopped. Returns 1 if not all of them can."""
    _note_assumptions(state)
    order, remaining = drain_order(state, brokers)
    blocked = [(node_id, effects_of_loss(state, [*order, node_id])) for node_id in remaining]
    if options.json:
        losses = [broker_loss_json(state, loss, {}) for _, loss in blocked]
        print(json_text({"kwire": 1, "order": order, "blocked": remaining, "losses": losses}))
        return 1 if remaining else 0
    for number, node_id in enumerate(order, 1):
        led = [partition for partition in state.partitions() if partition.leader == node_id]
        print(f"{number}. stop broker {node_id}, which leads {count_text(len(led), 'partition')}")
    style = style_for(sys.stdout, options.color)
    where = ", in addition to those above" if order else ""
    for node_id, loss in blocked:
        print(style.paint("warning", f"broker {node_id} must not be stopped{where}:"))
        for line in broker_loss_lines(state, loss, {}, style):
            print(f"  {line}")
    return 1 if remaining else 0


def groups_that_notice(groups: CapturedGroups, loss: BrokerLoss) -> dict[str, Sequence[Key]]:
    """Return the groups whose members read partitions that change their leader or lose it, with those partitions."""
    changed = [*loss.leaderless, *loss.leaders]
    noticing: dict[str, Sequence[Key]] = {}
    for name, group in sorted(groups.groups.items()):
        assigned = {key for member in group.members.values() for key in member.partitions or ()}
        keys = [key for key in changed if key in assigned]
        if keys:
            noticing[name] = keys
    return noticing
