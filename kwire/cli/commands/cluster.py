"""`kwire cluster`: shows brokers, racks, partitions and settings from messages, a metadata log, znodes, or a live
broker.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import takewhile

from ...client.address import address
from ...client.connection import BrokerConnection
from ...client.deadline import Deadline
from ...client.live_cluster import LiveCluster
from ...client.read_cluster import ask_model
from ...client.read_groups import ask_groups
from ...cluster import ClusterModel, ClusterState, Partition
from ...cluster.consumer_groups.tracker import GroupTracker
from ...cluster.source_counts import SEPARATOR
from ...cluster.state import MIN_ISR, Names, Settings
from ...errors import DumpError, KwireError, UnknownMessage
from ...protocol import Result
from ...render.cluster.cluster_differences import cluster_difference_json, cluster_difference_lines
from ...render.cluster.cluster_json import cluster_json
from ...render.cluster.cluster_text import cluster_lines, metric_lines
from ...render.cluster.consumer_groups import group_json, group_lines
from ..cluster.broker_loss import add_broker_loss, show_broker_loss
from ..cluster.follow_cluster import add_follow, follow_cluster
from ..cluster.observations import found_in, in_order_of_time, is_address, limit_of, model_from, model_of
from ..cluster.partition_causes import explain, refuse_deleted
from ..filters.time_span import TimeSpan
from ..input.dump_decoder import results
from ..input.fraction_read import part_read
from ..options.inputs import add_inputs, title_of
from ..options.output import add_colour
from ..options.security import add_security, security_of
from ..options.timeout import add_timeout
from ..options.usage_error import UsageError
from ..output.json_answer import add_json, print_json
from ..terminal.progress import with_progress
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for

EXAMPLES = """\
  kwire cluster localhost:9092          the state that a live broker reports
  kwire cluster dump.pcap               the state at its end
  kwire cluster dump.bin --at 120       the state after frame 120
  kwire cluster dump.pcap --from 06:27:00 --to 06:29:00   what changed
  kwire cluster dump.pcap --metrics     offline replicas over time
  kwire cluster localhost:9092 --if-lost /DC1      what a lost rack costs
  kwire cluster localhost:9092 --may-restart 3 && ssh b3 restart-kafka
  kwire cluster localhost:9092 --drain /DC1/R1    in which order to stop a rack
  kwire cluster controller.pcap --why orders-3    what led to its state
  kwire cluster localhost:9092 --groups           members, offsets and lag
  kwire cluster localhost:9092 --follow --listen 9101  changes, and metrics
  kwire cluster __cluster_metadata-0/00000000000000000000.log --offline
  kwire cluster znodes.json zookeeper.pcap   a ZooKeeper-era cluster
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
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
        help="only KIP-112's metrics: offline replicas, directories",
    )
    parser.add_argument("--groups", action="store_true", help="groups: members, racks, lag, reads across racks")
    parser.add_argument("--group", metavar="ID", help="only this consumer group")
    parser.add_argument("--why", metavar="T-N", help="what led to the state of a partition, such as orders-3")
    add_broker_loss(parser)
    add_follow(parser)
    add_json(parser)
    add_colour(parser)
    add_security(parser)


# option -> its help, and which partitions are shown
FILTERS: dict[str, tuple[str, Callable[[ClusterState, Partition], bool]]] = {
    "unavailable": ("partitions without a live leader", lambda state, partition: _is_unavailable(state, partition)),
    "under-replicated": ("partitions with replicas out of sync", lambda _, partition: partition.is_under_replicated),
    "offline": ("partitions with offline replicas", lambda state, partition: bool(state.offline(partition))),
    "under-min-isr": (
        "partitions below min.insync.replicas",
        ClusterState.is_under_min_isr,
    ),
}


def _is_unavailable(state: ClusterState, partition: Partition) -> bool:
    return not partition.has_leader or partition.leader in state.offline(partition)


def run(options: argparse.Namespace) -> int:
    """Print the state at the end, or at --at; or the differences between two states, or metrics. Returns 0."""
    if options.at is not None and options.at.isdigit() and len(options.files) > 1:
        raise UsageError("--at takes one dump, where it is a frame or an offset; give a time for several")
    if (options.since is None) != (options.until is None):
        raise UsageError("--from and --to must be given together")
    _check_together(options)
    security_of(options, is_live=_live_broker(options) is not None)
    if options.groups or options.group is not None:
        return _groups(options)
    if options.if_lost is not None or options.may_restart is not None or options.drain is not None:
        return _loss(options)
    if options.follow:
        return follow_cluster(options, options.files[0])
    if options.why is not None:
        return explain(options, _model(options))
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
        "--if-lost": options.if_lost is not None,
        "--may-restart": options.may_restart is not None,
        "--drain": options.drain is not None,
        "--why": options.why is not None,
        "--follow": options.follow,
        **{f"--{name}": getattr(options, name.replace("-", "_")) for name in FILTERS},
    }
    names = [name for name, is_given in given.items() if is_given]
    views = "--if-lost", "--may-restart", "--drain", "--why", "--follow"
    is_other_view = groups or options.metrics or any(given[view] for view in views)
    if len(names) > 1 and is_other_view:
        raise UsageError(f"{names[0]} and {names[1]} cannot be combined")
    if options.since is not None and options.at is not None:
        raise UsageError("--at cannot be combined with --from and --to")
    live = _live_broker(options)
    if options.follow and (len(options.files) != 1 or options.at or options.topic):
        raise UsageError("--follow takes one live broker, HOST:PORT, or one file that grows, without --at and --topic")
    if not options.follow and (options.every is not None or options.listen is not None):
        raise UsageError("--every and --listen are for --follow")
    if live is not None and options.since is not None:
        raise UsageError(f"{live} is a live broker: --from and --to read captures, logs and znodes")


def _differences(options: argparse.Namespace) -> Iterable[str]:
    observations = list(in_order_of_time(found_in(options)))
    moments = options.since, options.until
    is_before, is_until = map(limit_of, moments)
    if any(is_before(observation) and not is_until(observation) for observation in observations):
        raise UsageError(f"--from {options.since} is later than --to {options.until}")
    before, after = (_of_topic(model_from(observations, at, title_of(options)).state(), options) for at in moments)
    if print_json(options, lambda: cluster_difference_json(before, after)):
        return ()
    return cluster_difference_lines(before, after, style_for(sys.stdout, options.color))


def _lines(options: argparse.Namespace) -> Iterable[str]:
    model = _model(options)
    state, tables = _of_topic(model.state(), options), model.tables()
    if _live_broker(options) is None:
        notes = {note for source in tables.sources for note in (source.note or "").split(SEPARATOR)}
        for note in sorted(notes - {""}):
            remark(note)
    if print_json(options, lambda: cluster_json(state, tables)):
        return ()
    style = style_for(sys.stdout, options.color)
    return metric_lines(tables, style) if options.metrics else cluster_lines(state, style, tables)


def _loss(options: argparse.Namespace) -> int:
    """Print what becomes of the cluster without some brokers, and which of the captured consumer groups notice."""
    groups = GroupTracker()
    if _live_broker(options) is not None:
        _ask_groups(options, groups)
        state = groups.cluster
    else:
        is_before = _limit_of_frames(options.at)
        state = _model(options, lambda result: is_before(result) and groups.apply(result)).state()
    return show_broker_loss(options, _select_partitions(state, options), groups)


def _groups(options: argparse.Namespace) -> int:
    """Print the groups that the frames contain, or that a live cluster has."""
    groups = GroupTracker()
    live = _live_broker(options)
    is_complete = True
    if live is not None:
        is_complete = _ask_groups(options, groups)
    else:
        read = with_progress(results(options), partial(part_read, options))
        for result in takewhile(_limit_of_frames(options.at), read):
            groups.apply(result)
        groups.identity.check()
    known = sorted(name for name, group in groups.groups.items() if group.is_known)
    if not known and options.group is None and live is not None:
        raise DumpError("the cluster has no group, or none that may be seen", file=live)
    if not known and live is None:
        hint = (
            "it takes JoinGroup, SyncGroup, ConsumerGroupHeartbeat, OffsetCommit, OffsetFetch or what describes groups"
        )
        raise DumpError("no message describes a consumer group", file=title_of(options), hint=hint)
    if options.group is not None and options.group not in known:
        raise _unknown_group(options, known, is_complete)
    if print_json(options, lambda: group_json(groups, options.group)):
        return 0
    for line in group_lines(groups, options.group, style_for(sys.stdout, options.color)):
        print(line)
    return 0


def _unknown_group(options: argparse.Namespace, known: list[str], is_complete: bool) -> KwireError:
    """Return the error for a group that is not there, or may be where nobody could be asked."""
    if is_complete:
        return UnknownMessage("consumer group", options.group, known)
    problem = f"whether there is a consumer group {options.group!r} is unknown, see above"
    return DumpError(problem, file=_live_broker(options) or "")


def _ask_groups(options: argparse.Namespace, groups: GroupTracker) -> bool:
    """Ask a live cluster for its groups; print what could not be read. Return whether everything could."""
    where = address(_only_broker(options))
    with LiveCluster(where, options.timeout, security_of(options)) as cluster:
        notices = ask_groups(cluster, groups, options.group)
    for notice in notices:
        remark(notice)
    return not notices


def _limit_of_frames(at: str | None) -> Callable[[Result], bool]:
    """Return a function that tells whether a frame is from a given moment or earlier."""
    if at is not None and at.isdigit():
        last = int(at)
        return lambda item: item.frame.source.frame is None or item.frame.source.frame <= last
    return TimeSpan(None, at)


def _of_topic(state: ClusterState, options: argparse.Namespace) -> ClusterState:
    """Reduce a state to the partitions that --topic and the filters select, and to the data that concerns them."""
    if options.topic is not None:
        state.deleted_topics = {topic: end for topic, end in state.deleted_topics.items() if topic == options.topic}
    _select_partitions(state, options)
    if options.topic is not None or _filters(options):
        shown = {key: values for key, values in state.settings.configs.items() if key == ("topic", options.topic)}
        state.settings, state.log_dirs = Settings({**_min_isr_configs(state), **shown}), {}
    return state


def _select_partitions(state: ClusterState, options: argparse.Namespace) -> ClusterState:
    """Drop the partitions that --topic and the filters leave out; all else stays."""
    if options.topic is not None:
        if options.since is None:  # differences show that it is gone
            refuse_deleted(state, options.topic)
        if options.topic not in {*state.topics, *state.deleted_topics}:
            raise UnknownMessage("topic", options.topic, sorted(state.topics))
    tests = _filters(options)
    for partition in state.partitions():
        if options.topic not in (None, partition.topic) or not all(test(state, partition) for test in tests):
            state.drop(partition.topic, partition.index)
    return state


def _filters(options: argparse.Namespace) -> list[Callable[[ClusterState, Partition], bool]]:
    return [test for name, (_, test) in FILTERS.items() if getattr(options, name.replace("-", "_"))]


def _min_isr_configs(state: ClusterState) -> dict[Names, dict[str, str]]:
    """Return the configs by which `ClusterState.min_isr` knows whether the remaining partitions take writes."""
    keys: list[Names] = [("broker", ""), *(("topic", topic) for topic in state.topics)]
    configs = state.settings.configs
    return {key: {MIN_ISR: configs[key][MIN_ISR]} for key in keys if MIN_ISR in configs.get(key, {})}


def _model(options: argparse.Namespace, on_result: Callable[[Result], object] | None = None) -> ClusterModel:
    if _live_broker(options) is None:
        return model_of(options, options.at, on_result)
    where, deadline = address(_only_broker(options)), Deadline(options.timeout)
    with BrokerConnection(where, security=security_of(options), deadline=deadline) as broker:
        return ask_model(broker)


def _live_broker(options: argparse.Namespace) -> str | None:
    """Return the first input that is the address of a live broker; None if there is none."""
    return next((name for name in options.files if is_address(name)), None)


def _only_broker(options: argparse.Namespace) -> str:
    """Return the live broker; raise UsageError if files are given, too, or options for files."""
    live = _live_broker(options)
    assert live is not None
    of_dumps = (options.at, options.named, options.hex, options.log_of)
    if len(options.files) > 1 or options.body or any(option is not None for option in of_dumps):
        raise UsageError(f"{live} is a live broker: give only one, without files and options for files")
    return live
