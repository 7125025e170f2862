"""The state of a cluster as text: brokers by rack, partitions and their problems, log directories, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from ...cluster import Broker, ClusterState, Partition, Tables
from ...cluster.placement.rack_rule import KIP_36, KIP_879, RackRule
from ...cluster.state import DeletedTopic
from ..colours import PLAIN, Style
from ..escaping import escape
from ..table import table
from ..value_text import count_text


def cluster_lines(state: ClusterState, style: Style = PLAIN, tables: Tables | None = None) -> Iterator[str]:
    """Yield the lines of a state: a summary, brokers by rack, partitions with their problems, and settings.

    Args:
        state: the state of the cluster.
        style: the colours.
        tables: the history of the cluster, for contradictions between sources.
    """
    partitions = state.partitions()
    rule = RackRule(state.brokers or {})
    known = "" if state.brokers is None else f"{count_text(len(state.brokers), 'broker')}, "
    topics = len({partition.topic for partition in partitions})
    counts = f"{known}{count_text(topics, 'topic')}, {count_text(len(partitions), 'partition')}"
    controller = f"controller {state.controller_id}, " if state.controller_id >= 0 else ""
    yield style.paint("title", escape(f"cluster {state.cluster_id or '(no id)'}: {controller}{counts}"))
    for rack, brokers in state.by_rack().items():
        yield escape("no rack" if rack is None else f"rack {rack}")
        for broker in brokers:
            yield escape(f"  broker {broker.node_id}  {_address(broker)}{_health(state, broker)}")
    if partitions:
        yield ""
        yield from _partition_table(state, partitions, rule, style)
    yield ""
    yield from _findings(state, partitions, rule, style)
    if state.deleted_topics:
        topics_text = ", ".join(f"{topic}{deleted_text(end)}" for topic, end in sorted(state.deleted_topics.items()))
        yield escape(f"deleted: {topics_text}")
    yield from _log_dir_lines(state, style)
    yield from _quorum_lines(state, style)
    yield from _setting_lines(state, style)
    if tables is not None and tables.conflicts:
        yield ""
        yield style.paint("warning", f"contradictions: {len(tables.conflicts)}")
        for conflict in tables.conflicts:
            values = f"leader {conflict.leader}, isr {_nodes(conflict.isr)} at epoch {conflict.leader_epoch}"
            name = f"{conflict.topic}-{conflict.partition}"
            yield escape(f"  {name}: {conflict.source} has {values}; {conflict.believed} is accepted")


def _health(state: ClusterState, broker: Broker) -> str:
    offline = state.offline_dirs.get(broker.node_id, 0)
    dirs = f"  {offline} log director{'y' if offline == 1 else 'ies'} offline" if offline else ""
    return f"{'  fenced' if broker.fenced else ''}{dirs}"


def _partition_table(state: ClusterState, partitions: list[Partition], rule: RackRule, style: Style) -> Iterator[str]:
    head = ["topic", "partition", "leader", "replicas", "isr", "offline", "state"]
    rows = [_row(state, partition, rule) for partition in partitions]
    if any(partition.elr or partition.last_known_elr for partition in partitions):
        head.insert(5, "elr")
        for partition, row in zip(partitions, rows, strict=True):
            row.insert(5, _nodes(partition.elr or partition.last_known_elr or ()))
    yield from table(head, rows, style)


def _log_dir_lines(state: ClusterState, style: Style) -> Iterator[str]:
    if not state.log_dirs:
        return
    yield ""
    head = ["broker", "replicas", "bytes", "volume", "usable", "log directory"]
    rows = []
    for node, log_dirs in sorted(state.log_dirs.items()):
        for log_dir in log_dirs.values():
            volume = [str(size) if size >= 0 else "?" for size in (log_dir.total, log_dir.usable)]
            path = f"{log_dir.path}  OFFLINE" if log_dir.error_code else log_dir.path
            rows.append([str(node), str(len(log_dir.sizes)), str(sum(log_dir.sizes.values())), *volume, path])
    yield from table(head, rows, style)


def _quorum_lines(state: ClusterState, style: Style) -> Iterator[str]:
    if state.quorum is None:
        return
    quorum = state.quorum
    yield ""
    yield style.paint("title", f"quorum: leader {quorum.leader}, epoch {quorum.leader_epoch}")
    rows = []
    for replica in quorum.replicas:
        lag = quorum.lag(replica)
        role = "voter" if replica.is_voter else "observer"
        rows.append([str(replica.node_id), role, str(replica.log_end_offset), "?" if lag is None else str(lag)])
    yield from table(["replica", "role", "end offset", "lag"], rows, style)


def _setting_lines(state: ClusterState, style: Style) -> Iterator[str]:
    for title, settings in settings_as_text(state).items():
        if settings:
            yield ""
            yield style.paint("title", title)
            yield from (escape(f"  {name}: {value}") for name, value in sorted(settings.items()))


def settings_as_text(state: ClusterState) -> dict[str, dict[str, str]]:
    """Return the settings by kind and name, as text."""
    settings = state.settings
    configs = {f"{kind} {name or '(default)'}": values for (kind, name), values in settings.configs.items()}
    quotas = {
        ", ".join(f"{kind} {name or '(default)'}" for kind, name in entity): values
        for entity, values in settings.quotas.items()
    }
    acls: dict[str, list[str]] = {}
    for kind, name, pattern, principal, host, operation, permission in settings.acls.values():
        acls.setdefault(f"{kind} {pattern} {name}", []).append(f"{permission} {operation} {principal} from {host}")
    return {
        "features": {name: str(level) for name, level in settings.features.items()},
        "configs": {name: _pairs(values) for name, values in configs.items()},
        "quotas": {name: _pairs(values) for name, values in quotas.items()},
        "acls": {name: "; ".join(sorted(rules)) for name, rules in acls.items()},
        "scram": {name: ", ".join(mechanisms) for name, mechanisms in settings.scram.items()},
        "tokens": dict(settings.tokens),
        "voters": {str(node): endpoint for node, endpoint in settings.voters.items()},
    }


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(values.items()))


def _nodes(nodes: Sequence[int]) -> str:
    return ",".join(map(str, nodes)) or "-"


def metric_lines(tables: Tables, style: Style = PLAIN) -> Iterator[str]:
    """Yield a line for each value of KIP-112's metrics: the broker, the metric, the value, from when to when."""
    rows = [
        [str(metric.broker), metric.metric, str(metric.value), _moment(metric.valid_from), _moment(metric.valid_to)]
        for metric in tables.metrics
    ]
    yield from table(["broker", "metric", "value", "from", "to"], rows, style)
    if not rows:
        yield "no message lists the brokers"


def _moment(time: float | None) -> str:
    return "-" if time is None else datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")[:-6]


def troubles(partition: Partition) -> list[str]:
    """Return the problems of a partition, except for its offline replicas."""
    problems = [] if partition.has_leader else ["no leader"]
    if partition.is_under_replicated:
        problems.append("under-replicated")
    if partition.has_leader and partition.leader != partition.preferred:
        problems.append("leader not preferred")
    if partition.is_reassigned:
        adding, removing = (map(str, nodes or ()) for nodes in (partition.adding, partition.removing))
        problems.append(
            f"reassigning {' '.join([*(f'+{node}' for node in adding), *(f'-{node}' for node in removing)])}"
        )
    return problems


def deletion_text(partition: Partition, offline: Sequence[int]) -> str:
    """Describe the deletion of a partition, which waits for its offline replicas."""
    waits_for = partition.deleting or ()
    down = [node_id for node_id in waits_for if node_id in offline]
    if down:
        return f"being deleted: waits for replica {_nodes(down)}, offline"
    return f"being deleted: waits for replica {_nodes(waits_for)}" if waits_for else "being deleted"


def deleted_text(deleted: DeletedTopic) -> str:
    """Describe when a topic was deleted, after its name; empty if that is unknown.

    >>> deleted_text(DeletedTopic(1795243661.5, True)), deleted_text(DeletedTopic(1795243661.5, False))
    (' at 2026-11-21T06:47:41.500', ' by 2026-11-21T06:47:41.500')
    """
    if deleted.time is None:
        return ""
    return f" {'at' if deleted.is_exact else 'by'} {_moment(deleted.time)}"


def _row(state: ClusterState, partition: Partition, rule: RackRule) -> list[str]:
    leader = str(partition.leader) if partition.has_leader else "none"
    nodes = (partition.replicas, partition.isr, state.offline(partition))
    lists = [",".join(map(str, node_ids)) or "-" for node_ids in nodes]
    problems = troubles(partition)
    if stuck := [node_id for node_id in partition.adding or () if node_id in state.offline(partition)]:
        problems.append(f"waits for replica {_nodes(stuck)}, offline")
    if partition.deleting is not None:
        problems.append(deletion_text(partition, state.offline(partition)))
    if broken := rule.broken_by(partition.replicas):
        what = "racks" if broken == KIP_36 else "rack levels"
        problems.append(f"{what} {' '.join(rule.racks.get(node_id, '?') for node_id in partition.replicas)}")
    return [partition.topic, str(partition.index), leader, *lists, ", ".join(problems) or "ok"]


def _findings(state: ClusterState, partitions: list[Partition], rule: RackRule, style: Style) -> Iterator[str]:
    kinds = [
        ("without leader", [partition for partition in partitions if not partition.has_leader]),
        ("with offline replicas", [partition for partition in partitions if state.offline(partition)]),
        ("under-replicated", [partition for partition in partitions if partition.is_under_replicated]),
    ]
    deleting = [partition for partition in partitions if partition.deleting is not None]
    if deleting:
        kinds.append(("being deleted", deleting))
    if any("min.insync.replicas" in configs for configs in state.settings.configs.values()):
        kinds.append(("below min.insync.replicas", state.under_min_isr()))
    if rule.racks:
        broken_rules = [rule.broken_by(partition.replicas) for partition in partitions]
        violating = [partition for partition, key in zip(partitions, broken_rules, strict=True) if key == KIP_36]
        uneven = [partition for partition, key in zip(partitions, broken_rules, strict=True) if key == KIP_879]
        kinds.append(("with rack violations", violating))
        if uneven:
            kinds.append(("uneven over rack levels (KIP-879, not a rule of Kafka)", uneven))
    for what, concerned in kinds:
        names = ", ".join(f"{partition.topic}-{partition.index}" for partition in concerned)
        text = escape(f"{what}: {len(concerned)}" + (f": {names}" if concerned else ""))
        yield style.paint("warning", text) if concerned else text
    if partitions:
        yield "Replicas are in the order of the wire: the first is the preferred leader."


def _address(broker: Broker) -> str:
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    return f"{host}:{broker.port}"
