"""`kwire cluster`: shows brokers, racks, partitions and settings from messages, a metadata log, znodes, or a live
broker.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from typing import Any

from ..client.address import address
from ..client.connection import BrokerConnection
from ..client.deadline import Deadline
from ..client.read_cluster import ask_model
from ..cluster import Broker, ClusterModel, ClusterState, LogDir, Partition, Tables
from ..cluster.consumer_groups.group import CapturedGroup
from ..cluster.consumer_groups.rows import MemberRow, PartitionRow
from ..cluster.consumer_groups.tracker import GroupTracker
from ..cluster.placement.rack_rule import KIP_36, KIP_879, RackRule
from ..cluster.sources import SEPARATOR
from ..cluster.state import Settings
from ..codecs.json import uuid_text
from ..errors import DumpError, UnknownMessage
from ..protocol import Result
from ..render.record_text import safe
from ..render.style import PLAIN, Style, escape, json_text, table
from ..render.value_text import count_text
from .cluster_input import found_in, in_order_of_time, is_address, limit_of, model_from, model_of
from .filters import Span
from .inputs_and_output import part_read, results, title_of
from .options import UsageError, add_colour, add_command, add_inputs, add_security, add_timeout, security_of
from .terminal import remark, style_for, with_progress


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser], about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "cluster",
        about,
        "  kwire cluster localhost:9092          the state that a live broker reports\n"
        "  kwire cluster dump.pcap               the state at its end\n"
        "  kwire cluster dump.bin --at 120       the state after frame 120\n"
        "  kwire cluster dump.pcap --from 06:27:00 --to 06:29:00   what changed\n"
        "  kwire cluster dump.pcap --metrics     offline replicas over time\n"
        "  kwire cluster __cluster_metadata-0/00000000000000000000.log --offline\n"
        "  kwire cluster znodes.json zookeeper.pcap   a ZooKeeper-era cluster\n",
        cluster,
    )
    add_inputs(parser)
    add_timeout(parser, 30, "for all requests to all brokers together")
    parser.add_argument("--topic", metavar="T", help="only this topic")
    parser.add_argument("--at", metavar="WHEN", help="the state at a time, or after a frame or offset")
    parser.add_argument("--from", dest="since", metavar="TIME", help="with --to: shows what changed from then")
    parser.add_argument("--to", dest="until", metavar="TIME", help="the end of --from")
    for name, (about_it, _) in FILTERS.items():
        parser.add_argument(f"--{name}", action="store_true", help=about_it)
    parser.add_argument(
        "--metrics",
        action="store_true",
        help="only KIP-112's metrics of brokers: offline replicas and directories",
    )
    parser.add_argument(
        "--groups", action="store_true", help="consumer groups: members, racks, lag, reads across racks"
    )
    parser.add_argument("--group", metavar="ID", help="only this consumer group")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_colour(parser)
    add_security(parser)


# option -> its help, and which partitions are shown
FILTERS: dict[str, tuple[str, Callable[[ClusterState, Partition], bool]]] = {
    "unavailable": ("partitions without a live leader", lambda state, one: _is_unavailable(state, one)),
    "under-replicated": ("partitions with replicas out of sync", lambda _, one: one.is_under_replicated),
    "offline": ("partitions with offline replicas", lambda state, one: bool(state.offline(one))),
    "under-min-isr": (
        "partitions below min.insync.replicas",
        ClusterState.is_under_min_isr,
    ),
}


def _is_unavailable(state: ClusterState, one: Partition) -> bool:
    return not one.has_leader or one.leader in state.offline(one)


def cluster(options: argparse.Namespace) -> int:
    """Print the state at the end, or at --at; or the differences between two states, or metrics. Returns 0."""
    if options.at is not None and options.at.isdigit() and len(options.files) > 1:
        raise UsageError("--at takes one dump, where it is a frame or an offset; give a time for several")
    if (options.since is None) != (options.until is None):
        raise UsageError("--from and --to must be given together")
    _check_together(options)
    security_of(options, is_live=any(map(is_address, options.files)))
    if options.groups or options.group is not None:
        return _groups(options)
    for line in _differences(options) if options.since is not None else _lines(options):
        print(line)
    return 0


def _check_together(options: argparse.Namespace) -> None:
    """Raise UsageError if one of the options would be ignored."""
    groups = options.groups or options.group is not None
    given = {
        "--groups": groups,
        "--metrics": options.metrics,
        "--from": options.since is not None,
        **{f"--{name}": getattr(options, name.replace("-", "_")) for name in FILTERS},
    }
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1 and (groups or options.metrics):
        raise UsageError(f"{names[0]} and {names[1]} cannot be combined")
    if options.since is not None and options.at is not None:
        raise UsageError("--at cannot be combined with --from and --to")
    live = next((name for name in options.files if is_address(name)), None)
    if live is not None and (groups or options.since is not None):
        raise UsageError(f"{live} is a live broker: --groups, --from and --to read captures, logs and znodes")


def _differences(options: argparse.Namespace) -> Iterable[str]:
    found = list(in_order_of_time(found_in(options)))
    moments = options.since, options.until
    is_before, is_until = map(limit_of, moments)
    if any(is_before(one) and not is_until(one) for one in found):
        raise UsageError(f"--from {options.since} is later than --to {options.until}")
    before, after = (_of_topic(model_from(found, at, title_of(options)).state(), options) for at in moments)
    if options.json:
        return [json_text(difference_json(before, after))]
    return difference_lines(before, after, style_for(sys.stdout, options.color))


def _lines(options: argparse.Namespace) -> Iterable[str]:
    model = _model(options)
    state, tables = _of_topic(model.state(), options), model.tables()
    if not any(map(is_address, options.files)):
        for note in sorted({note for one in tables.sources for note in (one.note or "").split(SEPARATOR) if note}):
            remark(note)
    if options.json:
        return [json_text(cluster_json(state, tables))]
    style = style_for(sys.stdout, options.color)
    return metric_lines(tables, style) if options.metrics else cluster_lines(state, style, tables)


def _groups(options: argparse.Namespace) -> int:
    """Print the consumer groups that the frames contain."""
    groups, read = GroupTracker(), with_progress(results(options), partial(part_read, options))
    for result in takewhile(_limit_of_frames(options.at), read):
        groups.apply(result)
    known = sorted(name for name, group in groups.groups.items() if group.is_known)
    if not known:
        hint = (
            "it takes JoinGroup, SyncGroup, ConsumerGroupHeartbeat, OffsetCommit, OffsetFetch or what describes groups"
        )
        raise DumpError("no message describes a consumer group", file=title_of(options), hint=hint)
    if options.group is not None and options.group not in known:
        raise UnknownMessage("consumer group", options.group, known)
    if options.json:
        print(json_text(group_json(groups, options.group)))
        return 0
    for line in group_lines(groups, options.group, style_for(sys.stdout, options.color)):
        print(line)
    return 0


def _limit_of_frames(at: str | None) -> Callable[[Result], bool]:
    """Return a function that tells whether a frame is from a given moment or earlier."""
    if at is not None and at.isdigit():
        last = int(at)
        return lambda item: item.frame.source.frame is None or item.frame.source.frame <= last
    return Span(None, at)


def _of_topic(state: ClusterState, options: argparse.Namespace) -> ClusterState:
    """Reduce a state to the partitions that --topic and the filters select."""
    if options.topic is not None and options.topic not in state.topics:
        raise UnknownMessage("topic", options.topic, sorted(state.topics))
    tests = [test for name, (_, test) in FILTERS.items() if getattr(options, name.replace("-", "_"))]
    for one in state.partitions():
        if options.topic not in (None, one.topic) or not all(test(state, one) for test in tests):
            state.drop(one.topic, one.index)
    if options.topic is not None or tests:  # --topic selects only the topic's own data
        configs = {key: found for key, found in state.settings.configs.items() if key == ("topic", options.topic)}
        state.settings, state.log_dirs = Settings(configs), {}
    return state


def _model(options: argparse.Namespace) -> ClusterModel:
    where = [name for name in options.files if is_address(name)]
    if not where:
        return model_of(options, options.at)
    of_dumps = (options.at, options.named, options.hex, options.log_of)
    if len(options.files) > 1 or options.body or any(option is not None for option in of_dumps):
        raise UsageError(f"{where[0]} is a live broker: give only one, without files and options for files")
    deadline = Deadline(options.timeout)
    with BrokerConnection(address(where[0]), security=security_of(options), deadline=deadline) as broker:
        return ask_model(broker)


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
    yield from _log_dir_lines(state, style)
    yield from _setting_lines(state, style)
    if tables is not None and tables.conflicts:
        yield ""
        yield style.paint("warning", f"contradictions: {len(tables.conflicts)}")
        for one in tables.conflicts:
            values = f"leader {one.leader}, isr {_nodes(one.isr)} at epoch {one.leader_epoch}"
            yield escape(f"  {one.topic}-{one.partition}: {one.source} has {values}; {one.believed} is accepted")


def _health(state: ClusterState, broker: Broker) -> str:
    offline = state.offline_dirs.get(broker.node_id, 0)
    dirs = f"  {offline} log director{'y' if offline == 1 else 'ies'} offline" if offline else ""
    return f"{'  fenced' if broker.fenced else ''}{dirs}"


def _partition_table(state: ClusterState, partitions: list[Partition], rule: RackRule, style: Style) -> Iterator[str]:
    head = ["topic", "partition", "leader", "replicas", "isr", "offline", "state"]
    rows = [_row(state, partition, rule) for partition in partitions]
    if any(one.elr or one.last_known_elr for one in partitions):
        head.insert(5, "elr")
        for one, row in zip(partitions, rows, strict=True):
            row.insert(5, _nodes(one.elr or one.last_known_elr or ()))
    yield from table(head, rows, style)


def _log_dir_lines(state: ClusterState, style: Style) -> Iterator[str]:
    if not state.log_dirs:
        return
    yield ""
    head = ["broker", "replicas", "bytes", "volume", "usable", "log directory"]
    rows = []
    for node, found in sorted(state.log_dirs.items()):
        for one in found.values():
            volume = [str(size) if size >= 0 else "?" for size in (one.total, one.usable)]
            path = f"{one.path}  OFFLINE" if one.error_code else one.path
            rows.append([str(node), str(len(one.sizes)), str(sum(one.sizes.values())), *volume, path])
    yield from table(head, rows, style)


def _setting_lines(state: ClusterState, style: Style) -> Iterator[str]:
    for title, found in _settings(state).items():
        if found:
            yield ""
            yield style.paint("title", title)
            yield from (escape(f"  {name}: {value}") for name, value in sorted(found.items()))


def _settings(state: ClusterState) -> dict[str, dict[str, str]]:
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
        [str(one.broker), one.metric, str(one.value), _moment(one.valid_from), _moment(one.valid_to)]
        for one in tables.metrics
    ]
    yield from table(["broker", "metric", "value", "from", "to"], rows, style)
    if not rows:
        yield "no message lists the brokers"


def _moment(time: float | None) -> str:
    return "-" if time is None else datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")[:-6]


def difference_lines(before: ClusterState, after: ClusterState, style: Style = PLAIN) -> Iterator[str]:
    """Yield a line for each broker, partition and setting that differs between two states."""
    found = difference_json(before, after)
    for kind, changes in found.items():
        if not isinstance(changes, dict):
            continue
        for name, change in changes.items():
            yield escape(f"{kind} {name}: {_change_text(change)}")
    if not any(found[kind] for kind in found if kind != "kwire"):
        yield "nothing differs"


def _change_text(change: dict[str, Any]) -> str:
    if change.get("before") is None:
        return "new"
    if change.get("after") is None:
        return "gone"
    old, new = change["before"], change["after"]
    if not isinstance(old, dict):
        return f"{old} -> {new}"
    texts = {name: (_value_text(old.get(name)), _value_text(new.get(name))) for name in dict.fromkeys((*old, *new))}
    return ", ".join(f"{name} {was} -> {now}" for name, (was, now) in texts.items() if was != now)


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def difference_json(before: ClusterState, after: ClusterState) -> dict[str, Any]:
    """Return the differences between two states: by kind and name, the values before and after; null for a missing
    value.
    """
    old, new = _by_name(before), _by_name(after)
    found: dict[str, Any] = {"kwire": 1}
    for kind in new:
        names = sorted({*old[kind], *new[kind]})
        pairs = {name: {"before": old[kind].get(name), "after": new[kind].get(name)} for name in names}
        found[kind] = {name: pair for name, pair in pairs.items() if pair["before"] != pair["after"]}
    return found


def _by_name(state: ClusterState) -> dict[str, dict[str, Any]]:
    whole = cluster_json(state)
    for one in whole["partitions"]:  # which follow from the racks of brokers
        for name in ("racks", "rackViolation", "rackRule"):
            del one[name]
    return {
        "cluster": {"controller": state.controller_id},
        "broker": {str(one["nodeId"]): one for one in whole["brokers"]},
        "partition": {f"{one['topic']}-{one['partition']}": one for one in whole["partitions"]},
        **_settings(state),
    }


def cluster_json(state: ClusterState, tables: Tables | None = None) -> dict[str, Any]:
    """Return the state as plain values for JSON. `rackViolation` is null if no racks are known; `rackRule` is null if
    no rule is broken (see `RackRule`). With `tables`, includes metrics and contradictions.
    """
    rule = RackRule(state.brokers or {})
    found: dict[str, Any] = {
        "kwire": 1,
        "clusterId": state.cluster_id,
        "controllerId": state.controller_id,
        "brokers": [_broker_json(state, one) for one in (state.brokers or {}).values()],
        "partitions": [_partition_json(state, one, rule) for one in state.partitions()],
        "settings": _settings(state),
        "logDirs": [_log_dir_json(node, one) for node, dirs in state.log_dirs.items() for one in dirs.values()],
    }
    if tables is not None:
        found["metrics"] = [asdict(one) for one in tables.metrics]
        found["contradictions"] = [asdict(one) for one in tables.conflicts]
    return found


def _broker_json(state: ClusterState, one: Broker) -> dict[str, Any]:
    return {
        "nodeId": one.node_id,
        "host": one.host,
        "port": one.port,
        "rack": one.rack,
        "fenced": one.fenced,
        "offlineLogDirs": state.offline_dirs.get(one.node_id),
        **({"logDirs": [uuid_text(dir_id) for dir_id in one.log_dirs]} if one.log_dirs else {}),
    }


def _partition_json(state: ClusterState, one: Partition, rule: RackRule) -> dict[str, Any]:
    known = {
        "elr": one.elr,
        "lastKnownElr": one.last_known_elr,
        "addingReplicas": one.adding,
        "removingReplicas": one.removing,
        "directories": None if one.directories is None else [uuid_text(dir_id) for dir_id in one.directories],
        "topicId": None if one.topic_id is None else uuid_text(one.topic_id),
        "bytes": state.size(one.topic, one.index),
    }
    return {
        "topic": one.topic,
        "partition": one.index,
        "leader": one.leader,
        "leaderEpoch": one.leader_epoch,
        "partitionEpoch": one.partition_epoch,
        "replicas": one.replicas,
        "isr": one.isr,
        "offlineReplicas": state.offline(one),
        **{name: value for name, value in known.items() if value is not None},
        "underReplicated": one.is_under_replicated,
        "underMinIsr": state.is_under_min_isr(one),
        "racks": [rule.racks.get(node_id) for node_id in one.replicas],
        "rackViolation": rule.is_violated(one.replicas),
        "rackRule": rule.broken_by(one.replicas),
    }


def _log_dir_json(node: int, one: LogDir) -> dict[str, Any]:
    sizes = [{"topic": topic, "partition": index, "bytes": size} for (topic, index), size in sorted(one.sizes.items())]
    return {
        "broker": node,
        "path": one.path,
        "errorCode": one.error_code,
        "totalBytes": one.total,
        "usableBytes": one.usable,
        "replicas": sizes,
    }


def troubles(partition: Partition) -> list[str]:
    """Return the problems of a partition, except for its offline replicas."""
    found = [] if partition.has_leader else ["no leader"]
    if partition.is_under_replicated:
        found.append("under-replicated")
    if partition.has_leader and partition.leader != partition.preferred:
        found.append("leader not preferred")
    if partition.is_reassigned:
        adding, removing = (map(str, nodes or ()) for nodes in (partition.adding, partition.removing))
        found.append(f"reassigning {' '.join([*(f'+{node}' for node in adding), *(f'-{node}' for node in removing)])}")
    return found


def _row(state: ClusterState, partition: Partition, rule: RackRule) -> list[str]:
    leader = str(partition.leader) if partition.has_leader else "none"
    nodes = (partition.replicas, partition.isr, state.offline(partition))
    lists = [",".join(map(str, one)) or "-" for one in nodes]
    found = troubles(partition)
    if broken := rule.broken_by(partition.replicas):
        what = "racks" if broken == KIP_36 else "rack levels"
        found.append(f"{what} {' '.join(rule.racks.get(node_id, '?') for node_id in partition.replicas)}")
    return [partition.topic, str(partition.index), leader, *lists, ", ".join(found) or "ok"]


def _findings(state: ClusterState, partitions: list[Partition], rule: RackRule, style: Style) -> Iterator[str]:
    kinds = [
        ("without leader", [one for one in partitions if not one.has_leader]),
        ("with offline replicas", [one for one in partitions if state.offline(one)]),
        ("under-replicated", [one for one in partitions if one.is_under_replicated]),
    ]
    if any("min.insync.replicas" in configs for configs in state.settings.configs.values()):
        kinds.append(("below min.insync.replicas", state.under_min_isr()))
    if rule.racks:
        broken = {key: [one for one in partitions if rule.broken_by(one.replicas) == key] for key in (KIP_36, KIP_879)}
        kinds.append(("with rack violations", broken[KIP_36]))
        if broken[KIP_879]:
            kinds.append(("uneven over rack levels (KIP-879, not a rule of Kafka)", broken[KIP_879]))
    for what, found in kinds:
        names = ", ".join(f"{one.topic}-{one.index}" for one in found)
        text = escape(f"{what}: {len(found)}" + (f": {names}" if found else ""))
        yield style.paint("warning", text) if found else text
    if partitions:
        yield "Replicas are in the order of the wire: the first is the preferred leader."


def _address(broker: Broker) -> str:
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    return f"{host}:{broker.port}"


_HELD = ("member", "rack", "from", "until", "has", "near", "lag")
_READ = ("member", "from", "read", "across", "bytes", "bytes across")


def group_lines(groups: GroupTracker, wanted: str | None = None, style: Style = PLAIN) -> Iterator[str]:
    """Yield the lines of all groups with known content, or of the wanted one."""
    shown = [group for name, group in sorted(groups.groups.items()) if group.is_known and wanted in (None, name)]
    for index, group in enumerate(shown):
        if index:
            yield ""
        yield style.paint("title", safe(_group_title(group)))
        history = groups.history(group.group_id)
        if history:
            yield from table(_HELD, [_member_row(row) for row in history], style, right=3)
            if reading := [_reading_row(row) for row in history if row.read_partitions]:
                yield from table(_READ, reading, style, right=4)
            yield from _lists(history)
        partitions = [row for row in groups.partitions(group.group_id) if row.committed is not None or row.read_from]
        if partitions:
            head = ("partition", "committed", "end", "lag", "leader", "read from", "racks of replicas")
            yield from table(head, [_lag_row(row) for row in partitions], style)
    if groups.ambiguous:
        count = count_text(groups.ambiguous, "Fetch response")
        yield f"{count} of partitions that members of several groups with one client id have: not counted"
    if groups.unreadable:
        yield f"{count_text(groups.unreadable, 'subscription')} or assignments did not decode"


def _group_title(group: CapturedGroup) -> str:
    words = {
        "consumer": "consumer group (KIP-848)",
        "share": "share group (KIP-932)",
    }
    parts = [f"{group.group_id}: {words.get(group.protocol, 'classic group')}"]
    if group.generation is not None:
        parts.append(f"{'generation' if group.protocol == 'classic' else 'epoch'} {group.generation}")
    parts += [text for text in (group.assignor, group.state) if text]
    return ", ".join([*parts, count_text(len(group.members), "member")])


def _member_row(row: MemberRow) -> Sequence[str]:
    return (
        row.instance_id or _short_id(row.member_id, row.client_id),
        row.rack or "-",
        _seconds_text(row.since),
        _seconds_text(row.until),
        _number_text(None if row.partitions is None else len(row.partitions)),
        _number_text(row.local_partitions),
        _number_text(row.lag),
    )


def _reading_row(row: MemberRow) -> Sequence[str]:
    return (
        row.instance_id or _short_id(row.member_id, row.client_id),
        _seconds_text(row.since),
        str(row.read_partitions),
        _number_text(row.read_across),
        str(row.bytes_read),
        _number_text(row.bytes_across),
    )


def _short_id(member_id: str, client_id: str | None) -> str:
    """Return the distinctive part of a member id: most ids are a client id and a UUID."""
    if client_id and member_id.startswith(f"{client_id}-"):
        return f"{client_id}-{member_id[len(client_id) + 1 :][:8]}"
    return member_id


def _lists(history: Iterable[MemberRow]) -> Iterator[str]:
    """Yield the current assignment of partitions to members."""
    for row in history:
        if row.until is None and row.partitions:
            yield f"  {safe(_short_id(row.member_id, row.client_id))} has {safe(' '.join(row.partitions))}"


def _lag_row(row: PartitionRow) -> Sequence[str]:
    racks = "-" if row.replica_racks is None else " ".join(rack or "-" for rack in row.replica_racks)
    return (
        f"{row.topic}-{row.partition}",
        _number_text(row.committed),
        _number_text(row.end),
        _number_text(row.lag),
        _number_text(row.leader),
        " ".join(map(str, row.read_from)) or "-",
        racks,
    )


def _number_text(value: int | None) -> str:
    return "-" if value is None else str(value)


def _seconds_text(seconds: float | None) -> str:
    return "-" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S.%f}"[:-3]


def group_json(groups: GroupTracker, wanted: str | None = None) -> dict[str, Any]:
    """Return groups, the periods of their members, and their partitions as JSON."""
    shown = [group for name, group in sorted(groups.groups.items()) if group.is_known and wanted in (None, name)]
    names = {group.group_id for group in shown}
    return {
        "groups": [
            {
                "group": group.group_id,
                "protocol": group.protocol,
                "state": group.state,
                "generation": group.generation,
                "assignor": group.assignor,
                "members": len(group.members),
            }
            for group in shown
        ],
        "members": [row._asdict() for row in groups.history() if row.group in names],
        "partitions": [row._asdict() for row in groups.partitions() if row.group in names],
    }
