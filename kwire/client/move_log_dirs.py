"""Replicas moved to other log directories of their brokers, on a live cluster (KIP-113): a few at a time, throttled,
monitored and cancelled.

Brokers copy a replica to its new directory as a future replica, and swap both when it has caught up. The caller waits
between the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..cluster import ClusterState
from ..cluster.plan.directory_plan import Replica
from ..errors import CallError
from ..values import ErrorCode
from .apply_plan import MOST_IDLE
from .cluster_client import ClusterClient, RequestRefused, check_row, group_by_topic, live_brokers
from .replication_throttle import BROKER, alter_configs

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
Targets = Mapping[Replica, str]  # the path of each replica's new directory


@dataclass(slots=True)
class DirectoryProgress:
    """The progress of moves between directories.

    Attributes:
        done: the replicas in their new directories.
        moving: the replicas that are being copied.
        waiting: all others on brokers that respond.
        unreachable: the replicas of brokers that are down.
    """

    done: list[Replica] = field(default_factory=list)
    moving: list[Replica] = field(default_factory=list)
    waiting: list[Replica] = field(default_factory=list)
    unreachable: list[Replica] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be done on brokers that respond."""
        return not self.moving and not self.waiting


def directory_progress(state: ClusterState, targets: Targets) -> DirectoryProgress:
    """Compare the directories of replicas with those that they should have."""
    progress = DirectoryProgress()
    live = live_brokers(state)
    for replica, path in targets.items():
        broker, *key = replica
        directories = state.log_dirs.get(broker, {})
        target = directories.get(path)
        if broker not in live or not directories:
            progress.unreachable.append(replica)
        elif target is not None and tuple(key) in target.future:
            progress.moving.append(replica)
        elif target is not None and tuple(key) in target.sizes:
            progress.done.append(replica)
        else:
            progress.waiting.append(replica)
    return progress


def move_log_dirs(
    cluster: ClusterClient,
    targets: Targets,
    wait: Callable[[DirectoryProgress], None],
    *,
    batch: int = 100,
    batch_bytes: int | None = None,
    throttle: int | None = None,
    notify: Callable[[str], None] = lambda line: None,
) -> DirectoryProgress:
    """Move replicas to other directories of their brokers; an interrupted run can be repeated.

    Args:
        cluster: the cluster to change.
        targets: the new directory of each replica.
        wait: called repeatedly while replicas are copied; returns when progress should be checked again.
        batch: how many replicas are copied at a time.
        batch_bytes: how many bytes are copied at a time; a larger replica is copied alone.
        throttle: bytes per second that each broker copies between its directories; removed at the end.
        notify: takes a line about what is not as it should be.

    Raises:
        CallError: a broker refuses a move, or does not respond, or accepts moves and copies nothing. The throttle is
            removed.
    """
    state = cluster.state()
    progress = directory_progress(state, targets)
    if progress.unreachable:
        ids = ", ".join(map(str, sorted({broker for broker, *_ in progress.unreachable})))
        count = len(progress.unreachable)
        notify(f"{count} replica{' is' if count == 1 else 's are'} on brokers that are down ({ids}): left as they are")
    brokers = sorted({broker for broker, *_ in (*progress.moving, *progress.waiting)})
    idle = 0
    try:
        for broker in brokers if throttle is not None else ():
            alter_configs(cluster, BROKER, str(broker), {RATE: str(throttle)}, broker)
        while not progress.is_complete:
            chosen = list(_next_batch(state, progress, batch, batch_bytes))
            request_log_dirs(cluster, {replica: targets[replica] for replica in chosen})
            wait(progress)
            before = len(progress.done)
            state = cluster.state()
            progress = directory_progress(state, targets)
            idle = idle + 1 if not progress.moving and len(progress.done) == before else 0
            if idle == MOST_IDLE:
                raise CallError("a broker", "it accepts the moves and copies nothing", "see its log")
    finally:
        if throttle is not None:
            remove_directory_throttle(cluster, brokers, notify)
    return progress


def _next_batch(
    state: ClusterState, progress: DirectoryProgress, batch: int, batch_bytes: int | None
) -> Iterator[Replica]:
    """Yield the replicas that are copied next, beside those that are being copied."""
    count = len(progress.moving)
    used = sum(_size(state, replica) for replica in progress.moving)
    for replica in progress.waiting:
        size = _size(state, replica)
        is_too_much = batch_bytes is not None and count > 0 and used + size > batch_bytes
        if count >= batch or is_too_much:
            return
        count += 1
        used += size
        yield replica


def _size(state: ClusterState, replica: Replica) -> int:
    broker, topic, index = replica
    sizes = (log_dir.sizes.get((topic, index), 0) for log_dir in state.log_dirs.get(broker, {}).values())
    return max(sizes, default=0)


def request_log_dirs(cluster: ClusterClient, targets: Targets, *, is_new: bool = False) -> None:
    """Ask each broker to move replicas to directories.

    Args:
        cluster: the cluster to change.
        targets: the directory of each replica.
        is_new: whether replicas may not exist yet: the broker then creates them there (KIP-113).

    Raises:
        RequestRefused: a broker refuses a move.
    """
    # Kafka: ReassignPartitionsCommand.alterReplicaLogDirs, which ignores ReplicaNotAvailableException
    for broker in sorted({node_id for node_id, *_ in targets}):
        own = {replica: path for replica, path in targets.items() if replica[0] == broker}
        message = cluster.ask("AlterReplicaLogDirsRequest", {"dirs": _dirs_json(own)}, broker)
        for topic in message.results:
            for partition in topic.partitions:
                if not (is_new and partition.error_code == ErrorCode.REPLICA_NOT_AVAILABLE):
                    check_row(partition, f"replica {topic.topic_name}-{partition.partition_index} of broker {broker}")


def _dirs_json(targets: Targets) -> list[dict[str, object]]:
    dirs: list[dict[str, object]] = []
    for path in sorted(set(targets.values())):
        keys = [(topic, index) for (_, topic, index), target in targets.items() if target == path]
        topics = [{"name": topic, "partitions": rows} for topic, rows in group_by_topic(keys)]
        dirs.append({"path": path, "topics": topics})
    return dirs


def cancel_log_dirs(cluster: ClusterClient, targets: Targets) -> list[Replica]:
    """Cancel moves that are in progress, and return the replicas; they stay in their previous directories.

    Raises:
        CallError: a broker refuses this, or does not respond.
    """
    state = cluster.state()
    moving = directory_progress(state, targets).moving
    # Kafka: a move to the present directory removes the future replica (ReplicaManager.alterReplicaLogDirs)
    request_log_dirs(cluster, {replica: _present(state, replica) for replica in moving})
    return moving


def _present(state: ClusterState, replica: Replica) -> str:
    broker, *key = replica
    directories = state.log_dirs.get(broker, {})
    return next((path for path, log_dir in directories.items() if tuple(key) in log_dir.sizes), "")


def remove_directory_throttle(
    cluster: ClusterClient, brokers: Iterable[int], notify: Callable[[str], None]
) -> Sequence[int]:
    """Remove the throttle of moves between directories; name brokers that keep it, and return them."""
    kept = []
    for broker in brokers:
        try:
            alter_configs(cluster, BROKER, str(broker), {RATE: None}, broker)
        except RequestRefused as error:
            kept.append(broker)
            notify(f"broker {broker} keeps its throttle: {error}")
        except CallError:
            kept.append(broker)
            notify(f"broker {broker} is down and keeps its throttle; --verify removes it when it is back")
    return kept
