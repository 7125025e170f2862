"""`kwire place --disks` and `--leave-disk`: plans for the log directories within brokers, and carrying them out."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Collection, Iterator, Mapping

from ...client.live_cluster import LiveCluster
from ...client.move_log_dirs import (
    DirectoryProgress,
    cancel_log_dirs,
    directory_progress,
    move_log_dirs,
    remove_directory_throttle,
    request_log_dirs,
)
from ...cluster import ClusterState, LogDir
from ...cluster.plan.directory_plan import (
    DIRECTORY_OFFLINE,
    Directory,
    DirectoryPlan,
    Replica,
    plan_directories,
)
from ...cluster.plan.reassignment_json import ANY_DIRECTORY, REASSIGNMENT_FORM, read_log_dirs
from ...errors import UnknownMessage
from ...render.cluster.directory_plan_text import directory_plan_lines
from ...render.value_text import count_text
from ..options.security import security_of
from ..options.usage_error import UsageError
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for
from .placement_files import read_json
from .placement_input import PlacementInput

PAUSE = 1.0  # seconds between two readings of directories


def plan_disks(options: argparse.Namespace, situation: PlacementInput) -> int:
    """Show a plan for the directories of each broker, and carry it out with --apply.

    Returns:
        1 if replicas cannot leave a directory; 0 otherwise.
    """
    if not situation.log_dirs:
        raise UsageError("--disks and --leave-disk: nothing in the input lists log directories (DescribeLogDirs)")
    leave = _directories_in(options.leave_disk, situation.log_dirs)
    plan = plan_directories(
        situation.log_dirs,
        leave,
        balance=options.disks,
        may_move=lambda replica: options.topic in (None, replica[1]),
        replicas=[(node_id, *key) for key, node_ids in situation.partitions.items() for node_id in node_ids],
    )
    if options.json:
        for line in _reassignment_lines(plan, situation):
            print(line)
        remark(f"{count_text(len(plan.moves()), 'replica')} of {len(plan.before)} move, {plan.moved_bytes()} bytes")
    else:
        for line in directory_plan_lines(plan, situation.log_dirs, leave, style_for(sys.stdout, options.color)):
            print(line)
    for (broker, topic, index), reason in sorted(plan.stuck.items()):
        remark(f"{topic}-{index} stays on broker {broker}: {reason}")
    if rebuilt := sorted({broker for (broker, *_), reason in plan.stuck.items() if reason == DIRECTORY_OFFLINE}):
        remark(f"to rebuild on other brokers what an offline directory holds: --remove {','.join(map(str, rebuilt))}")
    is_complete = not plan.stuck
    if options.apply and plan.moves():
        assert situation.address is not None
        with LiveCluster(situation.address, options.timeout, security_of(options)) as cluster:
            is_complete &= apply_log_dirs(options, cluster, plan.moves())
    return 0 if is_complete else 1


def _directories_in(text: str | None, log_dirs: Mapping[int, Mapping[str, LogDir]]) -> list[Directory]:
    """Parse --leave-disk; raises UsageError, and UnknownMessage for a directory that no broker has."""
    directories: list[Directory] = []
    for word in text.split(",") if text is not None else ():
        node_id, _, path = word.strip().partition("=")
        if not node_id.isdecimal() or not path:
            raise UsageError(f"--leave-disk {text}: write BROKER=PATH, such as 3=/data/a, separated by commas")
        if path not in log_dirs.get(int(node_id), {}):
            known = [f"{broker}={known_path}" for broker, paths in sorted(log_dirs.items()) for known_path in paths]
            raise UnknownMessage("log directory", f"{node_id}={path}", known)
        directories.append((int(node_id), path))
    return directories


def _reassignment_lines(plan: DirectoryPlan, situation: PlacementInput) -> Iterator[str]:
    """Yield the JSON of kafka-reassign-partitions with the new directories, one line for each partition."""
    import json

    moves = plan.moves()
    rows = []
    for topic, index in sorted({(topic, index) for _, topic, index in moves}):
        replicas = situation.partitions.get((topic, index)) or [
            broker for broker, *key in plan.before if key == [topic, index]
        ]
        log_dirs = [moves.get((broker, topic, index), ANY_DIRECTORY) for broker in replicas]
        rows.append({"topic": topic, "partition": index, "replicas": replicas, "log_dirs": log_dirs})
    yield '{"version": 1, "partitions": ['
    yield ",\n".join(f"  {json.dumps(row)}" for row in rows)
    yield "]}"


def log_dirs_in_plan(file: str) -> dict[Replica, str]:
    """Return the directories that a plan names; empty if it names none."""
    return read_log_dirs(read_json(file, REASSIGNMENT_FORM), file)


def prefer_log_dirs(cluster: LiveCluster, targets: Mapping[Replica, str]) -> None:
    """Tell brokers in which directories to create replicas that a plan gives them."""
    present = _present_replicas(cluster.state())
    new = {replica: path for replica, path in targets.items() if replica not in present}
    request_log_dirs(cluster, new, is_new=True)


def _present_replicas(state: ClusterState) -> Collection[Replica]:
    return {
        (node_id, partition.topic, partition.index)
        for partition in state.partitions()
        for node_id in partition.replicas
    }


def apply_log_dirs(options: argparse.Namespace, cluster: LiveCluster, targets: Mapping[Replica, str]) -> bool:
    """Move replicas between directories, and print the progress. Return whether none is on a broker that is down."""
    done = move_log_dirs(
        cluster,
        targets,
        _wait,
        batch=options.batch,
        batch_bytes=options.batch_bytes,
        throttle=options.throttle,
        notify=remark,
    )
    remark(f"carried out: {_progress_text(done)}")
    return not done.unreachable


def _wait(progress: DirectoryProgress) -> None:
    remark(_progress_text(progress))
    time.sleep(PAUSE)


def _progress_text(progress: DirectoryProgress) -> str:
    counts = f"{len(progress.done)} done, {len(progress.moving)} under way, {len(progress.waiting)} to come"
    unreachable = f", {len(progress.unreachable)} on brokers that are down" if progress.unreachable else ""
    return f"log directories: {counts}{unreachable}"


def follow_log_dirs(options: argparse.Namespace, cluster: LiveCluster, targets: Mapping[Replica, str]) -> bool:
    """Print the progress of the moves of a plan, or cancel them; at the end the throttle is removed.

    Returns:
        Whether all replicas are in their directories, or the moves are cancelled.
    """
    brokers = sorted({broker for broker, *_ in targets})
    if options.cancel:
        print(f"cancelled: {count_text(len(cancel_log_dirs(cluster, targets)), 'move')} between log directories")
        remove_directory_throttle(cluster, brokers, remark)
        return True
    progress = directory_progress(cluster.state(), targets)
    for (broker, topic, index), path in targets.items():
        if (broker, topic, index) not in progress.done:
            print(f"{topic}-{index} of broker {broker}  not in {path} yet")
    print(_progress_text(progress))
    if progress.is_complete:
        remove_directory_throttle(cluster, brokers, remark)
    return progress.is_complete and not progress.unreachable
